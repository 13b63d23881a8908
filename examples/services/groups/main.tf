# One service on the nodes of two groups. The groups decide when a node has its turn: control nodes first, and compute nodes only when all of them
# succeeded. The service is one all the same: it has one state and one version, and is up when it is on all of its nodes. The nodes are sandboxes:
#
#   mkdir -p nodes/{ctl1,ctl2,cmp1,cmp2,db1}/etc
#   terraform init && terraform apply

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

provider "slipway" {}

variable "release" {
  type    = string
  default = "v1.0"
}

data "slipway_catalog" "site" {
  documents = [file("${path.module}/catalog.yaml")]
}

resource "slipway_node" "this" {
  for_each = { ctl1 = "control", ctl2 = "control", cmp1 = "compute", cmp2 = "compute", db1 = "database" }
  name     = each.key
  tags     = [each.value]
  connect  = { transport = "local", root = abspath("${path.root}/nodes/${each.key}") }
}

resource "slipway_group" "control" {
  name             = "control"
  critical         = true
  selectors        = [{ node_tags = ["control"] }]
  success_criteria = { percent_successful_nodes = 100 }
}

resource "slipway_group" "compute" {
  name              = "compute"
  critical          = false
  depends_on_groups = [slipway_group.control.name]
  selectors         = [{ node_tags = ["compute"] }]
  success_criteria  = { percent_successful_nodes = 50 }
}

resource "slipway_group" "database" {
  name             = "database"
  critical         = true
  selectors        = [{ node_tags = ["database"] }]
  success_criteria = { percent_successful_nodes = 100 }
}

resource "slipway_service" "cluster" {
  name       = "cluster"
  selectors  = [{ node_tags = ["control", "compute"] }] # of both groups; not on db1
  entity     = data.slipway_catalog.site.entities["cluster"]
  attributes = { release = var.release, server = "ctl1" }
}

resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = slipway_node.this
  groups   = [slipway_group.control, slipway_group.compute, slipway_group.database]
  services = { cluster = slipway_service.cluster }
}

output "steps" {
  value = slipway_deployment.lon1.steps
}

output "cluster" {
  value = slipway_deployment.lon1.service_status["cluster"]
}
