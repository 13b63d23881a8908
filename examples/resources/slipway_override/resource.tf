# For nodes with the role "compute": another mode for a file that a service brings, and one package less.
resource "slipway_override" "tuning" {
  name  = "tuning"
  roles = ["compute"]
  configuration = {
    file    = { "/etc/motd" = { mode = "0600" } }
    package = { mc = { ensure = "absent" } }
  }
}

# For the whole site: only changes what is there, and creates nothing.
resource "slipway_override" "site" {
  name          = "site"
  configuration = { file = { "/etc/motd" = { content = "maintenance at noon\n" } } }
  options = {
    create   = false
    defaults = { file = { owner = "root" } }
  }
}
