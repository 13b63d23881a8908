resource "slipway_group" "ntp" {
  name             = "ntp"
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
  rolling = {
    max_parallel = 1
    lock         = "/usr/local/sbin/drain"
    unlock       = "/usr/local/sbin/undrain"
  }
  deploy_timeout = "2h"
}

# All nodes that no earlier group took.
resource "slipway_group" "rest" {
  name              = "rest"
  critical          = false
  depends_on_groups = [slipway_group.control.name]
  selectors         = []
}

# One node first, then a tenth, then all: each batch is checked, soaks, and is checked again. After the first two, the run
# waits for approval.
resource "slipway_group" "compute" {
  name              = "compute-nodes"
  critical          = true
  depends_on_groups = [slipway_group.control.name]
  selectors         = [{ node_tags = ["compute"] }]
  rolling = {
    max_parallel = 4
    batches      = ["1", "10%", "100%"]
    approve      = ["1", "10%"]
    health_check = { command = "systemctl is-active --quiet nova-compute", retries = 5 }
    soak         = "10m"
  }
}

# Nodes are started only on Saturday and Sunday nights.
resource "slipway_group" "storage" {
  name        = "storage"
  critical    = true
  selectors   = [{ node_tags = ["storage"] }]
  maintenance = { days = ["sat", "sun"], start = "22:00", end = "04:00", timezone = "Europe/London" }
}
