# A service that goes back when its update fails: what was deployed before is deployed again, on all of its nodes, in the same apply. The apply
# fails all the same and names both versions, and the next plan shows the change again. The nodes are sandboxes:
#
#   mkdir -p nodes/{app1,app2}/etc
#   terraform init && terraform apply           # release 1
#   echo 2 >nodes/app2/broken
#   terraform apply -var release=2              # app2 fails its check: both nodes have release 1 again
#   rm nodes/app2/broken
#   terraform apply -var release=2

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

provider "slipway" {}

variable "release" {
  type    = number
  default = 1
}

data "slipway_catalog" "site" {
  documents = [file("${path.module}/catalog.yaml")]
}

resource "slipway_node" "this" {
  for_each = toset(["app1", "app2"])
  name     = each.key
  connect  = { transport = "local", root = abspath("${path.root}/nodes/${each.key}") }
}

resource "slipway_service" "app" {
  name                = "app"
  selectors           = [] # all nodes
  entity              = data.slipway_catalog.site.entities["app"]
  attributes          = { release = var.release, check = "${path.module}/check.sh" }
  rollback_on_failure = true
}

resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = slipway_node.this
  services = { app = slipway_service.app }
}

output "app" {
  value = slipway_deployment.lon1.service_status["app"]
}
