locals {
  nodes = {
    ctl1 = { address = "10.0.3.11", rack = "rack03", tags = ["control"] }
    ctl2 = { address = "10.0.3.12", rack = "rack03", tags = ["control"] }
    cmp1 = { address = "10.0.1.21", rack = "rack01", tags = ["compute"] }
  }
}

resource "slipway_node" "this" {
  for_each = local.nodes
  name     = each.key
  address  = each.value.address
  rack     = each.value.rack
  tags     = each.value.tags
  labels   = { site = "lon1" }
}

# A node that is reached in another way than the provider's connection says.
resource "slipway_node" "edge" {
  name    = "edge1"
  address = "192.0.2.7"
  tags    = ["edge"]
  connect = {
    user             = "deploy"
    private_key_file = "~/.ssh/edge"
    sudo             = true
    bastions         = [{ host = "jump.example.com", user = "jump" }]
  }
}
