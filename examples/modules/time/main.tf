# A module that brings a whole site with a time service: the catalog that says what that is, the service, and the deployment. ../../two-sites uses it.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

variable "site" {
  description = "Name of the site."
  type        = string
}

variable "nodes" {
  description = "The nodes by name: machines with an address, or sandbox folders."
  type = map(object({
    address = optional(string)
    connect = optional(object({ transport = optional(string), root = optional(string) }))
  }))
}

variable "servers" {
  description = "Addresses of the site's time servers."
  type        = list(string)
}

variable "poll" {
  description = "Longest time between two questions to a server in seconds; null is the catalog's default."
  type        = number
  default     = null
}

data "slipway_catalog" "this" {
  documents = [file("${path.module}/catalog.yaml")]
}

resource "slipway_node" "this" {
  for_each = var.nodes
  name     = each.key
  address  = each.value.address
  connect  = each.value.connect
}

resource "slipway_service" "time" {
  name       = "time"
  selectors  = [] # all nodes
  entity     = data.slipway_catalog.this.entities["time"]
  attributes = { name = "time", servers = var.servers, poll = var.poll }
}

resource "slipway_deployment" "this" {
  site     = var.site
  nodes    = slipway_node.this
  services = { time = slipway_service.time }
}

output "state" {
  description = "State of the time service in its lifecycle; up when it is on all nodes."
  value       = slipway_deployment.this.service_status["time"].state
}
