# One node of two sites, and three virtual hosts from one module: shop and blog of the site shop, and status of the site status. package[nginx],
# service[nginx] and file[/srv/www], which each of them brings, are one resource. They stay until the last virtual host goes:
#
#   terraform destroy -target=slipway_deployment.shop
#
# leaves nginx to the site status. The node is a sandbox, a folder without packages; with a machine, leave `machine` out:
#
#   mkdir -p nodes/web1/{srv,etc/nginx/conf.d}
#   terraform init && terraform apply

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

provider "slipway" {}

locals {
  machine = false
  web1    = { connect = { transport = "local", root = abspath("${path.root}/nodes/web1") } }
}

resource "slipway_node" "web1" {
  name    = "web1"
  address = try(local.web1.address, null)
  connect = try(local.web1.connect, null)
}

module "shop" {
  source  = "../modules/vhost"
  name    = "shop"
  port    = 8001
  text    = "Welcome to the shop"
  machine = local.machine
}

module "blog" {
  source  = "../modules/vhost"
  name    = "blog"
  port    = 8002
  text    = "Welcome to the blog"
  machine = local.machine
}

module "status" {
  source  = "../modules/vhost"
  name    = "status"
  port    = 8003
  text    = "All is well"
  machine = local.machine
}

resource "slipway_deployment" "shop" {
  site     = "shop"
  nodes    = [slipway_node.web1]
  services = [module.shop.service, module.blog.service]
}

resource "slipway_deployment" "status" {
  site     = "status"
  nodes    = [slipway_node.web1]
  services = [module.status.service]
}

output "steps" {
  value = { shop = slipway_deployment.shop.steps, status = slipway_deployment.status.steps }
}
