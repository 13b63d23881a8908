locals {
  nodes = {
    web1 = { name = "web1", tags = ["web"], rack = "rack01" }
    web2 = { name = "web2", tags = ["web"], rack = "rack02" }
    db1  = { name = "db1", tags = ["db"], rack = "rack01" }
  }
}

# ["db1", "web1"]
output "first_rack" {
  value = provider::slipway::select_nodes(local.nodes, [{ rack_names = ["rack01"] }])
}
