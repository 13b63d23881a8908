# The last ten versions of a service.
data "slipway_service_log" "ntp" {
  site    = "lon1"
  service = "ntp"
  limit   = 10
}

# What went wrong with it, newest first.
output "errors" {
  value = flatten([for r in data.slipway_service_log.ntp.records : [
    for e in r.events : "${e.time}: ${e.source} -> ${e.destination}: ${coalesce(e.message, "no message")}" if e.error
  ]])
}
