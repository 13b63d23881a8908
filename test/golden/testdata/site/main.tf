# A site with everything in it, on two deployments: `folders` on sandbox nodes, `machines` on nodes that run commands.

terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

# /proc/self/cwd is the folder that Terraform runs in, so the state can be put back anywhere.
provider "slipway" {
  connection = {
    user             = "root"
    private_key_file = "/proc/self/cwd/id_ed25519"
    known_hosts_file = "/proc/self/cwd/known_hosts"
  }
}

variable "password" {
  type      = string
  sensitive = true
  default   = "correct horse"
}

locals {
  folders = {
    ctl1  = { rack = "rack03", tags = ["control", "ntp"], labels = { tier = "front" }, roles = ["controller"] }
    ctl2  = { rack = "rack03", tags = ["control"], labels = { tier = "front" }, roles = ["controller"] }
    ctl3  = { rack = "rack03", tags = ["control"], labels = { tier = "back" }, roles = ["controller"] }
    cmp11 = { rack = "rack01", tags = ["compute"], labels = {}, roles = ["compute", "compute-ssd"] }
    cmp12 = { rack = "rack01", tags = ["compute"], labels = {}, roles = ["compute"] }
    cmp21 = { rack = "rack02", tags = ["compute"], labels = { zone = "a" }, roles = ["compute"] }
    mon1  = { rack = "rack01", tags = ["monitoring"], labels = {}, roles = [] }
  }
  machines = {
    node1 = { address = "10.231.1.1", roles = ["controller"] }
    node2 = { address = "10.231.1.2", roles = ["compute"] }
  }
}

resource "slipway_node" "folder" {
  for_each = local.folders
  name     = each.key
  rack     = each.value.rack
  tags     = each.value.tags
  labels   = merge({ site = "lon1" }, each.value.labels)
  roles    = each.value.roles
  connect  = { transport = "local", root = "/proc/self/cwd/nodes/${each.key}" }
}

resource "slipway_node" "machine" {
  for_each = local.machines
  name     = each.key
  address  = each.value.address
  tags     = ["machine"]
  roles    = each.value.roles
  connect  = { port = 22, connect_timeout = "20s" }
}

resource "slipway_group" "ntp" {
  name             = "ntp-node"
  critical         = true
  selectors        = [{ node_tags = ["ntp"] }]
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
  rolling         = { max_parallel = 1 }
  prepare_timeout = "10m"
  deploy_timeout  = "2h"
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
  selectors = [{ node_names = ["mon1"] }, { node_labels = ["tier:monitoring"] }]
}

resource "slipway_group" "machines" {
  name             = "machines"
  critical         = true
  selectors        = []
  success_criteria = { percent_successful_nodes = 100 }
  rolling = {
    max_parallel   = 1
    lock           = "touch /run/golden.locked"
    unlock         = "rm -f /run/golden.locked"
    lock_new_nodes = false
  }
}

resource "slipway_override" "site" {
  name          = "site"
  configuration = { file = { "/etc/motd" = { mode = "0640" } } }
  options = {
    create       = false
    types_filter = ["file"]
    defaults     = { file = { backup = true } }
  }
}

resource "slipway_override" "control" {
  name          = "control"
  groups        = [slipway_group.control.name]
  configuration = { file = { "/etc/motd" = { content = "a control node\n" }, "/etc/control.conf" = { content = "control = yes\n" } } }
}

resource "slipway_override" "compute" {
  name  = "compute"
  roles = ["/compute/"]
  configuration = {
    file = { "/etc/motd" = { content = "a compute node\n", mode = "0644" } }
    host = { storage = { ip = "192.0.2.50", host_aliases = ["san"] } }
  }
  options = { titles_filter = ["/etc/motd", "storage"], titles_create_exception = [] }
}

resource "slipway_override" "cmp11" {
  name          = "cmp11"
  nodes         = ["cmp11"]
  merge         = "title"
  configuration = { file = { "/etc/motd" = { content = "the first compute node\n" } } }
}

resource "slipway_override" "machines" {
  name          = "machines"
  roles         = ["compute"]
  configuration = { file = { "/etc/golden/motd" = { content = "a compute machine\n" } } }
}

resource "slipway_deployment" "folders" {
  site            = "folders"
  nodes           = slipway_node.folder
  groups          = [slipway_group.control, slipway_group.compute["1"], slipway_group.compute["2"], slipway_group.monitoring, slipway_group.ntp]
  services        = local.folder_services
  overrides       = [slipway_override.site, slipway_override.control, slipway_override.compute, slipway_override.cmp11]
  ordering        = data.slipway_catalog.this.ordering
  parallelism     = 4
  parallel_groups = 1
  protect         = { max_torn_down_nodes = "20%", max_removed_resources = 40, destroy = true }
  triggers        = { checked = "1" }
  timeouts        = { read = "2m", update = "1h" }
}

# The machines are there only when the state is made: a plan does not contact them.
resource "slipway_deployment" "machines" {
  site            = "machines"
  nodes           = slipway_node.machine
  groups          = [slipway_group.machines]
  services        = local.machine_services
  overrides       = [slipway_override.machines]
  plugins         = [data.slipway_plugin.net, data.slipway_plugin.lma]
  drift_detection = "off"
}
