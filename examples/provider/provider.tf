terraform {
  required_providers {
    slipway = {
      source = "slipway/slipway"
    }
  }
}

# Defaults for all nodes. Everything here may come from SLIPWAY_* environment variables instead.
provider "slipway" {
  connection = {
    user             = "root"
    private_key_file = "~/.ssh/id_ed25519"
    known_hosts_file = "~/.ssh/known_hosts"
    connect_timeout  = "10s"
  }
}
