# A service with embedded entities: the sites of a proxy, each with a file of its own. A site that is added, changed or taken away concerns its own
# file and no other. The nodes are sandboxes:
#
#   mkdir -p nodes/{proxy1,proxy2}/etc
#   terraform init && terraform apply

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

provider "slipway" {}

variable "sites" {
  description = "The sites: root directories by host name."
  type        = map(string)
  default     = { "www.example.org" = "/srv/www", "docs.example.org" = "/srv/docs" }
}

data "slipway_catalog" "site" {
  documents = [file("${path.module}/catalog.yaml")]
}

resource "slipway_node" "this" {
  for_each = toset(["proxy1", "proxy2"])
  name     = each.key
  connect  = { transport = "local", root = abspath("${path.root}/nodes/${each.key}") }
}

resource "slipway_service" "proxy" {
  name       = "proxy"
  selectors  = [] # all nodes
  entity     = data.slipway_catalog.site.entities["proxy"]
  attributes = { sites = [for host, root in var.sites : { host = host, root = root }] }
}

resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = slipway_node.this
  services = { proxy = slipway_service.proxy }
}

output "proxy" {
  value = slipway_deployment.lon1.service_status["proxy"]
}
