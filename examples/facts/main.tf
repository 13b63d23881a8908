# A file that is made on each node from what that node is: its facts, which nobody writes down. And a file that only some nodes get:
# the plan asks the nodes which system they have, before anything is applied there. The nodes are sandboxes, folders with an os-release:
#
#   mkdir -p nodes/web1/etc nodes/web2/etc
#   printf 'ID=debian\nVERSION_ID="12"\n' >nodes/web1/etc/os-release
#   printf 'ID=rocky\nVERSION_ID="9.4"\n' >nodes/web2/etc/os-release
#   terraform init && terraform apply

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

provider "slipway" {}

locals {
  nodes = { for name in ["web1", "web2"] : name => {
    name    = name
    connect = { transport = "local", root = abspath("${path.root}/nodes/${name}") }
  } }
  family = { for name, facts in data.slipway_nodes.web.facts : name => try(facts.os.family, "unknown") }
}

data "slipway_nodes" "web" {
  nodes        = local.nodes
  selectors    = []
  gather_facts = true
}

resource "slipway_service" "app" {
  name      = "app"
  selectors = []
  configuration = {
    file = { "/etc/app.conf" = { template = file("${path.module}/app.conf.tftpl"), mode = "0644" } }
    # Any other parameter may be a template, too: $${ is evaluated on each node.
    ini_setting = { workers = {
      path = "/etc/app.ini", section = "pool", setting = "workers", value = { template = "$${facts.cpus > 0 ? node.name : \"none\"}" }
    } }
    host = { cache = { ip = "192.0.2.10", comment = { template = "for $${facts.os.name} $${facts.os.release}" } } }
  }
}

resource "slipway_deployment" "web" {
  site     = "web"
  nodes    = { for name, node in local.nodes : name => merge(node, { tags = [lower(local.family[name])] }) }
  services = { app = slipway_service.app, redhat = local.redhat }
}

# What only nodes of one family get. A service may be a plain object, too.
locals {
  redhat = {
    name          = "redhat"
    selectors     = [{ node_tags = ["redhat"] }]
    configuration = { file = { "/etc/sysconfig" = { ensure = "directory" }, "/etc/sysconfig/app" = { content = "OPTIONS=-v\n" } } }
  }
}

output "facts" {
  value = { for name, facts in slipway_deployment.web.node_facts : name => facts.os }
}
