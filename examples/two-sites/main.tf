# Two sites from one module, each with inputs of its own. The nodes are sandboxes, folders below nodes/:
#
#   mkdir -p nodes/{lon-web1,lon-web2,par-web1}/etc/systemd
#   terraform init && terraform apply

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

provider "slipway" {}

locals {
  nodes = {
    lon1 = { for name in ["lon-web1", "lon-web2"] : name => { connect = { transport = "local", root = abspath("${path.root}/nodes/${name}") } } }
    par1 = { for name in ["par-web1"] : name => { connect = { transport = "local", root = abspath("${path.root}/nodes/${name}") } } }
  }
}

module "lon1" {
  source  = "../modules/time"
  site    = "lon1"
  nodes   = local.nodes.lon1
  servers = ["192.0.2.1", "192.0.2.2"]
}

module "par1" {
  source  = "../modules/time"
  site    = "par1"
  nodes   = local.nodes.par1
  servers = ["198.51.100.1"]
  poll    = 512
}

output "states" {
  value = { lon1 = module.lon1.state, par1 = module.par1.state }
}
