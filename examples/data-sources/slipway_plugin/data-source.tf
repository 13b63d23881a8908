# The folder holds metadata.yaml, tasks.yaml, deployment_tasks.yaml and deployment_scripts/.
data "slipway_plugin" "net" {
  path = "${path.module}/plugins/net"
}

resource "slipway_node" "ctl1" {
  name    = "ctl1"
  address = "192.0.2.11"
  roles   = ["controller"]
}

resource "slipway_deployment" "lon1" {
  site    = "lon1"
  nodes   = [slipway_node.ctl1]
  plugins = [data.slipway_plugin.net]
}
