# The five groups on sandbox nodes: each node is a folder below nodes/. Run it with `make demo`.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

provider "slipway" {}

locals {
  nodes = {
    ntp01 = { rack = "rack03", tags = ["infra"], roles = [] }
    ctl1  = { rack = "rack03", tags = ["control"], roles = [] }
    ctl2  = { rack = "rack03", tags = ["control"], roles = [] }
    ctl3  = { rack = "rack03", tags = ["control"], roles = [] }
    cmp11 = { rack = "rack01", tags = ["compute"], roles = ["compute"] }
    cmp12 = { rack = "rack01", tags = ["compute"], roles = ["compute"] }
    cmp21 = { rack = "rack02", tags = ["compute"], roles = ["compute"] }
    cmp22 = { rack = "rack02", tags = ["compute"], roles = ["compute"] }
    mon1  = { rack = "rack01", tags = ["monitoring"], roles = [] }
  }
}

module "site" {
  source = "../five-groups"
  site   = "demo"
  nodes = { for name, node in local.nodes : name => merge(node, {
    connect = { transport = "local", root = abspath("${path.root}/nodes/${name}") }
  }) }
}

output "status" {
  value = module.site.status
}
