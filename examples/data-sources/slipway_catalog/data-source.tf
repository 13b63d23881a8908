data "slipway_catalog" "site" {
  documents = [file("${path.module}/catalog/ntp.yaml")]
}

resource "slipway_service" "ntp" {
  name       = "ntp"
  selectors  = [{ node_tags = ["control"] }]
  entity     = data.slipway_catalog.site.entities.ntp
  attributes = { servers = ["10.0.0.1", "10.0.0.2"] }
}

# What a service of the entity must be given.
output "required" {
  value = [for a in data.slipway_catalog.site.entities.ntp.attributes : a.name if a.required]
}
