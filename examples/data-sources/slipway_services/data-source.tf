# Which services of the site are not as they should be?
data "slipway_services" "all" {
  site = "lon1"
}

locals {
  troubled = [for s in data.slipway_services.all.services : s if s.label == "warning" || s.label == "danger"]
}

output "troubled" {
  value = { for s in local.troubled : s.name => "${s.state} since ${s.updated}, version ${s.version}" }
}

# What is deployed, by name.
output "deployed" {
  value = { for s in data.slipway_services.all.services : s.name => jsondecode(s.active) if s.active != null }
}
