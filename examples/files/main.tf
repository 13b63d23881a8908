# Files of the machine that runs Terraform, on the nodes: a program and a whole directory. Neither plan nor state has their content, and a
# node gets what it lacks. The nodes are sandboxes, folders:
#
#   mkdir -p nodes/web1/srv nodes/web2/srv
#   terraform init && terraform apply
#
# Then change, add or remove a file in site/: the plan names it, and the apply sends nothing else.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

provider "slipway" {}

resource "slipway_service" "web" {
  name      = "web"
  selectors = []
  configuration = {
    file = {
      "/srv/publish" = {
        source_file   = "${path.module}/publish.sh"
        source_sha256 = filesha256("${path.module}/publish.sh")
        mode          = "0755"
      }
      # Also what others have put there goes, but for what is ignored; it returns when the service leaves the site.
      "/srv/site" = { source_dir = "${path.module}/site", mode = "0644", purge = true, ignore = ["*.local"] }
    }
  }
}

resource "slipway_deployment" "web" {
  site = "web"
  nodes = { for name in ["web1", "web2"] : name => {
    name    = name
    connect = { transport = "local", root = abspath("${path.root}/nodes/${name}") }
  } }
  services = [slipway_service.web]
}
