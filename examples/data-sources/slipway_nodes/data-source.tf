locals {
  nodes = {
    web1 = { name = "web1", address = "192.0.2.11", tags = ["web"], rack = "r1" }
    web2 = { name = "web2", address = "192.0.2.12", tags = ["web"], rack = "r2" }
    db1  = { name = "db1", address = "192.0.2.21", tags = ["db"], rack = "r1" }
  }
}

data "slipway_nodes" "web_in_r1" {
  nodes     = local.nodes
  selectors = [{ node_tags = ["web"], rack_names = ["r1"] }]
}

output "web_in_r1" {
  value = data.slipway_nodes.web_in_r1.names # ["web1"]
}

# What the nodes are, asked in each plan.
data "slipway_nodes" "all" {
  nodes        = local.nodes
  selectors    = []
  gather_facts = true
}

output "debian" {
  value = [for name, facts in data.slipway_nodes.all.facts : name if try(facts.os.family == "Debian", false)]
}
