# An Airship document gives the groups of a deployment as it is.
data "slipway_deployment_strategy" "site" {
  documents = [file("${path.module}/strategy.yaml")]
}

resource "slipway_deployment" "lon1" {
  site = "lon1"
  nodes = [
    { name = "ntp01", address = "192.0.2.10" },
    { name = "ctl1", address = "192.0.2.11", tags = ["control"] },
  ]
  groups = data.slipway_deployment_strategy.site.groups
}

output "order" {
  value = data.slipway_deployment_strategy.site.order # ["ntp-node", "control-nodes"]
}
