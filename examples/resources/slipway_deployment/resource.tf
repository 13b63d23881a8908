resource "slipway_node" "web" {
  for_each = { web1 = "192.0.2.11", web2 = "192.0.2.12" }
  name     = each.key
  address  = each.value
  tags     = ["web"]
}

resource "slipway_group" "web" {
  name             = "web"
  critical         = true
  selectors        = [{ node_tags = ["web"] }]
  success_criteria = { percent_successful_nodes = 50 }
  rolling          = { batches = ["1"], approve = ["1"] }
}

resource "slipway_service" "motd" {
  name          = "motd"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = "welcome\n", mode = "0644" } } }
}

resource "slipway_override" "web1" {
  name          = "web1"
  nodes         = ["web1"]
  configuration = { file = { "/etc/motd" = { content = "welcome to the first one\n" } } }
}

# Whole objects, as a map or a list. The apply ends as paused after web1, until approved_batches = { web = 1 }.
resource "slipway_deployment" "site" {
  site             = "lon1"
  nodes            = slipway_node.web
  groups           = [slipway_group.web]
  services         = { motd = slipway_service.motd }
  overrides        = { web1 = slipway_override.web1 }
  parallelism      = 20
  approval         = "end"
  approved_batches = { web = 0 }
  triggers         = { checked = "2026-01-31" }
  timeouts         = { read = "1m" }
}

output "steps" {
  value = slipway_deployment.site.steps
}
