# What would a first run on this site do? No node is asked, so this also works in a test of the configuration.
data "slipway_plan" "what_if" {
  site = "lon1"
  nodes = [
    { name = "web1", address = "192.0.2.11" },
    { name = "web2", address = "192.0.2.12" },
  ]
  groups = [{
    name             = "web"
    critical         = true
    selectors        = []
    success_criteria = { percent_successful_nodes = 100 }
    rolling          = { max_parallel = 1, lock = "/usr/local/sbin/drain", unlock = "/usr/local/sbin/undrain" }
  }]
  services = [{
    name          = "motd"
    selectors     = []
    configuration = { file = { "/etc/motd" = { content = "welcome\n" } } }
  }]
}

check "one_at_a_time" {
  assert {
    condition     = alltrue([for g in data.slipway_plan.what_if.order : g.max_parallel == 1])
    error_message = "Every group must be rolled out one node at a time."
  }
}

output "steps" {
  value = data.slipway_plan.what_if.steps
}
