# A site whose services come from a catalog: the catalog says what an NTP service is, and the site how many servers it has.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

variable "time_key" {
  description = "Key that the time servers share with the nodes."
  type        = string
  default     = null
  sensitive   = true
}

data "slipway_catalog" "site" {
  documents = [file("${path.module}/catalog.yaml")]
}

resource "slipway_node" "this" {
  for_each = { control1 = "192.0.2.1", compute1 = "192.0.2.11", compute2 = "192.0.2.12" }
  name     = each.key
  address  = each.value
  tags     = [trimsuffix(trimsuffix(each.key, "1"), "2")]
}

resource "slipway_service" "time" {
  name      = "time"
  selectors = [] # all nodes
  entity    = data.slipway_catalog.site.entities.ntp
  attributes = {
    servers = [
      { address = "10.0.0.1", prefer = true },
      { address = "10.0.0.2", stratum = 2 },
    ]
    key = var.time_key
  }
}

resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = slipway_node.this
  services = { time = slipway_service.time }
}
