# A site in two zones whose runs outlive Terraform, on nodes that are folders below nodes/. Run it with `make demo-cluster`, which starts
# PostgreSQL, Temporal and the workers that ./run shows.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

# The journal is in SLIPWAY_JOURNAL, and the key in SLIPWAY_KEY, as the workers have them.
provider "slipway" {
  engine = { temporal = { address = var.temporal } }
}

variable "temporal" {
  description = "HOST:PORT of the Temporal server."
  type        = string
  default     = "127.0.0.1:7233"
}

variable "release" {
  description = "What is rolled out."
  type        = string
  default     = "1.0"
}

# One node of each batch after the other, and five seconds before the next one begins.
resource "slipway_group" "web" {
  name      = "web"
  critical  = true
  selectors = [] # all nodes
  rolling   = { batches = ["25%", "50%", "75%", "100%"], soak = "5s" }
}

resource "slipway_deployment" "this" {
  site = "racks"
  nodes = { for name, zone in { web11 = "rack1", web12 = "rack1", web21 = "rack2", web22 = "rack2" } : name => {
    name    = name
    zone    = zone
    connect = { transport = "local", root = abspath("${path.root}/nodes/${name}") }
  } }
  groups = [slipway_group.web]
  services = { web = {
    name          = "web"
    selectors     = []
    configuration = { file = { "/etc/release" = { content = "${var.release}\n" } } }
  } }
}
