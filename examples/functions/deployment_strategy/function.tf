locals {
  groups = [
    { name = "control", critical = true, selectors = [{ node_tags = ["control"] }], depends_on_groups = ["ntp"] },
    { name = "compute", critical = false, selectors = [{ node_tags = ["compute"] }], depends_on_groups = ["control"] },
    { name = "monitoring", critical = false, selectors = [{ node_tags = ["monitoring"] }] },
    { name = "ntp", critical = true, selectors = [{ node_names = ["ntp01"] }] },
  ]
}

# order  = ["monitoring", "ntp", "control", "compute"]
# levels = [["monitoring", "ntp"], ["control"], ["compute"]]
output "strategy" {
  value = provider::slipway::deployment_strategy(local.groups)
}
