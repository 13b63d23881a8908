# The newest run on a site, as the journal on this machine records it.
data "slipway_run" "last" {
  site = "lon1"
}

output "last_run" {
  value = data.slipway_run.last.id == null ? "none yet" : "${data.slipway_run.last.operation} at ${data.slipway_run.last.started}: ${data.slipway_run.last.status}"
}
