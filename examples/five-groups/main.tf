# The five groups of the deployment strategy that Airship's documentation uses as its example: time first, then control, then
# compute; monitoring whenever it suits. A module, so that the same site can be rolled out on other nodes: see ../demo and ../lab.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

variable "site" {
  type        = string
  description = "Name of the site."
}

variable "nodes" {
  type = map(object({
    rack    = string
    tags    = set(string)
    roles   = optional(set(string), [])
    address = optional(string)
    connect = optional(object({ transport = optional(string), root = optional(string) }))
  }))
  description = "The nodes by name. Groups find them by tag and rack."
}

variable "time_server" {
  type        = string
  description = "Address that every node takes the time from."
  default     = "192.0.2.1"
}

variable "packages" {
  type        = bool
  description = "Install packages and run services too. Needs whole machines; sandbox nodes have files only."
  default     = false
}

resource "slipway_node" "this" {
  for_each = var.nodes
  name     = each.key
  address  = each.value.address
  rack     = each.value.rack
  tags     = each.value.tags
  roles    = each.value.roles
  connect  = each.value.connect
}

resource "slipway_group" "ntp" {
  name             = "ntp-node"
  critical         = true
  selectors        = [{ node_names = ["ntp01"] }]
  success_criteria = { minimum_successful_nodes = 1 }
}

resource "slipway_group" "control" {
  name              = "control-nodes"
  critical          = true
  depends_on_groups = [slipway_group.ntp.name]
  selectors         = [{ node_tags = ["control"], rack_names = ["rack03"] }]
  success_criteria = {
    percent_successful_nodes = 90
    minimum_successful_nodes = 3
    maximum_failed_nodes     = 1
  }
}

resource "slipway_group" "compute" {
  for_each          = { "1" = "rack01", "2" = "rack02" }
  name              = "compute-nodes-${each.key}"
  critical          = false
  depends_on_groups = [slipway_group.control.name]
  selectors         = [{ node_tags = ["compute"], rack_names = [each.value] }]
  success_criteria  = { percent_successful_nodes = 50 }
}

resource "slipway_group" "monitoring" {
  name      = "monitoring-nodes"
  critical  = false
  selectors = [{ node_tags = ["monitoring"], rack_names = ["rack03", "rack02", "rack01"] }]
}

resource "slipway_service" "motd" {
  name      = "motd"
  selectors = [] # all nodes
  configuration = {
    file = {
      "/etc/motd" = { content = "This node belongs to ${var.site}.\n", mode = "0644" }
    }
  }
}

resource "slipway_service" "time" {
  name      = "time"
  selectors = []
  configuration = {
    file = {
      "/etc/chrony"             = { ensure = "directory", mode = "0755" }
      "/etc/chrony/chrony.conf" = { content = "server ${var.time_server} iburst\ndriftfile /var/lib/chrony/drift\n", mode = "0644" }
    }
    host = {
      "time" = { ip = var.time_server }
    }
  }
}

resource "slipway_service" "scrape" {
  name      = "scrape"
  selectors = [{ node_tags = ["monitoring"] }]
  configuration = {
    ini_setting = {
      "scrape interval" = { path = "/etc/scrape.ini", section = "scrape", setting = "interval", value = "30" }
      "scrape targets"  = { path = "/etc/scrape.ini", section = "scrape", setting = "targets", value = tostring(length(var.nodes)), require = ["ini_setting[scrape interval]"] }
    }
  }
}

# What needs a whole machine. Resources of one node may refer to each other across services.
resource "slipway_service" "time_daemon" {
  count     = var.packages ? 1 : 0
  name      = "time-daemon"
  selectors = []
  configuration = {
    package = { chrony = { ensure = "installed", before = ["file[/etc/chrony]", "file[/etc/chrony/chrony.conf]"] } }
    # Enabled, and left to systemd to start: in a container it may not set the clock.
    service = { chrony = { enable = true, require = ["package[chrony]"] } }
  }
}

resource "slipway_service" "status_page" {
  count     = var.packages ? 1 : 0
  name      = "status-page"
  selectors = [{ node_tags = ["monitoring"] }]
  configuration = {
    package = { nginx-light = { ensure = "installed" } }
    file = {
      "/etc/nginx/conf.d/status.conf" = {
        content = "server {\n  listen 8080;\n  location /status { return 200 'monitored'; }\n}\n"
        mode    = "0644"
        require = ["package[nginx-light]"]
      }
    }
    service = { nginx = { ensure = "running", enable = true, subscribe = ["file[/etc/nginx/conf.d/status.conf]"] } }
  }
}

# Compute nodes say so in their greeting: an override changes what a service brings.
resource "slipway_override" "compute_motd" {
  name  = "compute-motd"
  roles = ["compute"]
  configuration = {
    file = {
      "/etc/motd" = { content = "This node belongs to ${var.site} and runs workloads.\n" }
    }
  }
}

resource "slipway_deployment" "this" {
  site   = var.site
  nodes  = slipway_node.this
  groups = [slipway_group.control, slipway_group.compute["1"], slipway_group.compute["2"], slipway_group.monitoring, slipway_group.ntp]
  services = concat(
    [slipway_service.motd, slipway_service.time, slipway_service.scrape],
    slipway_service.time_daemon[*], slipway_service.status_page[*],
  )
  overrides = [slipway_override.compute_motd]
}

output "steps" {
  description = "What the last apply did, in order."
  value       = slipway_deployment.this.steps
}

output "status" {
  description = "How the site stands."
  value       = slipway_deployment.this.status
}

output "drift" {
  description = "What is no longer as it was left."
  value       = slipway_deployment.this.drift
}
