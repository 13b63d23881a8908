# The five groups on machines behind SSH, with packages and services. Ready for the lab of this repository: start nine nodes with
#
#   test/lab/lab up 9
#
# and run Terraform where they can be reached: `test/lab/lab exec terraform apply`. For machines of your own, set the variables.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

variable "addresses" {
  type        = map(string)
  description = "Address of each node."
  default = {
    ntp01 = "10.231.1.1", ctl1 = "10.231.1.2", ctl2 = "10.231.1.3", ctl3 = "10.231.1.4", cmp11 = "10.231.1.5",
    cmp12 = "10.231.1.6", cmp21 = "10.231.1.7", cmp22 = "10.231.1.8", mon1 = "10.231.1.9"
  }
}

variable "private_key_file" {
  type        = string
  description = "Private key that opens the nodes."
  default     = "/var/tmp/slipway-lab/state/id_ed25519"
}

variable "known_hosts_file" {
  type        = string
  description = "Host keys of the nodes."
  default     = "/var/tmp/slipway-lab/state/known_hosts"
}

provider "slipway" {
  connection = {
    user             = "root"
    private_key_file = var.private_key_file
    known_hosts_file = var.known_hosts_file
  }
}

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
  source   = "../five-groups"
  site     = "lab"
  packages = true
  nodes    = { for name, node in local.nodes : name => merge(node, { address = var.addresses[name] }) }
}

output "status" {
  value = module.site.status
}

output "drift" {
  value = module.site.drift
}
