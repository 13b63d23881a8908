resource "slipway_service" "motd" {
  name      = "motd"
  selectors = [] # all nodes
  configuration = {
    file = {
      "/etc/motd" = { content = "welcome\n", mode = "0644" }
    }
  }
}

resource "slipway_service" "chrony" {
  name      = "chrony"
  selectors = [{ node_tags = ["control"] }, { node_labels = ["site:lon1"] }]
  configuration = {
    package = {
      chrony = { ensure = "installed" }
    }
    file = {
      "/etc/chrony/chrony.conf" = {
        content = "server 10.0.0.1 iburst\n"
        require = ["package[chrony]"]
        notify  = ["service[chrony]"]
      }
    }
    service = {
      chrony = { ensure = "running", enable = true }
    }
  }
}
