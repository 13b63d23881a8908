# One node of two sites: /srv/www, and the entry of the hosts file, belong to both of them.
terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

locals {
  nodes = { web1 = { name = "web1", connect = { transport = "local", root = abspath("${path.root}/nodes/web1") } } }
  services = { for name, text in { shop = "Welcome to the shop", status = "All is well" } : name => {
    name      = name
    selectors = []
    configuration = {
      host = { db = { ip = "192.0.2.7" } }
      file = {
        "/etc/motd"                   = { content = "a machine of shop and status\n", mode = "0644" }
        "/srv/www"                    = { ensure = "directory", mode = "0755" }
        "/srv/www/${name}"            = { ensure = "directory", mode = "0755" }
        "/srv/www/${name}/index.html" = { content = "${text}\n", mode = "0644" }
      }
    }
  } }
}

resource "slipway_deployment" "shop" {
  site     = "shop"
  nodes    = local.nodes
  services = { shop = local.services.shop }
}

resource "slipway_deployment" "status" {
  site     = "status"
  nodes    = local.nodes
  services = { status = local.services.status }
}
