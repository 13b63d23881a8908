# A module that brings a virtual host with all that it needs: nginx, its directories and its own files. It can be used several times on a node:
# what all of them bring is one resource. ../../shared uses it for three virtual hosts of two sites.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

variable "name" {
  description = "Name of the service and of its virtual host."
  type        = string
}

variable "text" {
  description = "What the virtual host answers."
  type        = string
}

variable "port" {
  description = "The TCP port on which it listens."
  type        = number
}

variable "machine" {
  description = "Whether the nodes are machines. Nodes that are folders have no packages and daemons, so they get the files only."
  type        = bool
  default     = true
}

locals {
  configuration = {
    package = { nginx = {} }
    file = {
      "/srv/www"             = { ensure = "directory", mode = "0755" }
      "/srv/www/${var.name}" = { ensure = "directory", mode = "0755" }
      "/srv/www/${var.name}/index.html" = {
        content = "${var.text}\n"
        mode    = "0644"
      }
      "/etc/nginx/conf.d/${var.name}.conf" = {
        content = "server {\n  listen ${var.port};\n  root /srv/www/${var.name};\n}\n"
        mode    = "0644"
        require = var.machine ? ["package[nginx]"] : []
        notify  = var.machine ? ["service[nginx]"] : []
      }
    }
    service = { nginx = { ensure = "running", enable = true, require = ["package[nginx]"] } }
  }
}

resource "slipway_service" "this" {
  name          = var.name
  selectors     = [] # all nodes
  configuration = { for type, resources in local.configuration : type => resources if var.machine || type == "file" }
}

output "service" {
  description = "The service, for the list of a deployment."
  value       = slipway_service.this
}
