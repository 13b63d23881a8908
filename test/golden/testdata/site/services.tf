data "slipway_catalog" "this" {
  documents = [file("${path.module}/catalog.yaml"), file("${path.module}/ordering.yaml")]
}

data "slipway_plugin" "net" {
  path = "${path.module}/plugins/net"
}

data "slipway_plugin" "lma" {
  path = "${path.module}/plugins/lma"
}

locals {
  folder_services = [
    slipway_service.motd, slipway_service.settings, slipway_service.secret, slipway_service.watched,
    slipway_service.proxy, slipway_service.tenant_red, slipway_service.tenant_blue, slipway_service.probe, slipway_service.resting,
  ]
  machine_services = [slipway_service.machine, slipway_service.daemon]
}

resource "slipway_service" "motd" {
  name      = "motd"
  selectors = []
  configuration = {
    file = {
      "/etc/motd"         = { content = "welcome\n", mode = "0644" }
      "/etc/motd.link"    = { ensure = "link", target = "motd" }
      "/etc/motd.d"       = { ensure = "directory", mode = "0750" }
      "/etc/motd.d/notes" = { content = "notes\nof several\nlines\n", require = ["file[/etc/motd]"] }
      "/etc/issue"        = { ensure = "absent" }
    }
  }
}

# Changes what is there already: undo has something to bring back.
resource "slipway_service" "settings" {
  name      = "settings"
  selectors = [{ node_tags = ["control"] }, { rack_names = ["rack01"] }]
  configuration = {
    host        = { time = { ip = "192.0.2.1", host_aliases = ["ntp"], comment = "time" } }
    ini_setting = { "app level" = { path = "/etc/app.ini", section = "log", setting = "level", value = "info" } }
    cron        = { rotate = { command = "/usr/local/sbin/rotate", user = "root", hour = 4, minute = 30 } }
    file        = { "/etc/app.ini" = { mode = "0600" } }
  }
}

resource "slipway_service" "secret" {
  name      = "secret"
  selectors = [{ node_labels = ["tier:front"] }]
  configuration = {
    file        = { "/etc/secret" = { content = "password ${var.password}\n", mode = "0600", sensitive = true } }
    ini_setting = { key = { path = "/etc/key.ini", section = "key", setting = "value", value = var.password, sensitive = true } }
  }
}

# Reported, and never changed.
resource "slipway_service" "watched" {
  name          = "watched"
  selectors     = [{ node_names = ["cmp21"] }]
  configuration = { file = { "/etc/watched" = { content = "as it should be\n", noop = true } } }
}

resource "slipway_service" "proxy" {
  name                = "proxy"
  selectors           = [{ node_tags = ["control"] }]
  entity              = data.slipway_catalog.this.entities["proxy"]
  rollback_on_failure = true
  attributes = {
    workers = 8
    token   = var.password
    sites   = [{ host = "www.example.org", root = "/srv/www" }, { host = "docs.example.org", root = "/srv/docs" }]
  }
}

resource "slipway_service" "tenant_red" {
  name       = "tenant-red"
  selectors  = [{ node_tags = ["compute"] }]
  entity     = data.slipway_catalog.this.entities["tenant"]
  attributes = { name = "red", contact = "red@example.org" }
}

resource "slipway_service" "tenant_blue" {
  name       = "tenant-blue"
  selectors  = [{ node_tags = ["compute"], rack_names = ["rack02"] }]
  entity     = data.slipway_catalog.this.entities["tenant"]
  attributes = { name = "blue" }
}

resource "slipway_service" "probe" {
  name       = "probe"
  selectors  = [{ node_names = ["mon1"] }]
  entity     = data.slipway_catalog.this.entities["probe"]
  attributes = { interval = 30 }
}

resource "slipway_service" "resting" {
  name              = "resting"
  selectors         = [{ node_names = ["mon1"] }]
  entity            = data.slipway_catalog.this.entities["note"]
  attributes        = { text = "resting" }
  service_lifecycle = file("${path.module}/lifecycle.yaml")
  target_state      = "maintenance"
  gates             = { auto_rollback = false }
}

resource "slipway_service" "machine" {
  name      = "machine"
  selectors = []
  configuration = {
    group   = { golden = { gid = 4100 } }
    user    = { golden = { uid = 4100, gid = 4100, home = "/srv/golden", shell = "/bin/sh" } }
    package = { telnet = { ensure = "absent" } }
    sysctl  = { "net.ipv4.ip_forward" = { value = "1" } }
    cron    = { tidy = { command = "/bin/true", user = "golden", special = "daily" } }
    mount   = { "/mnt" = { ensure = "present", device = "tmpfs", fstype = "tmpfs" } }
    service = { cron = { ensure = "running" } }
    file = {
      "/etc/golden"          = { ensure = "directory", owner = "golden", group = "golden" }
      "/etc/golden/motd"     = { content = "a machine\n", notify = ["exec[golden reload]"] }
      "/etc/golden/password" = { content = "password ${var.password}\n", mode = "0600", sensitive = true }
    }
    exec = {
      "golden reload"          = { command = "date >>/run/golden.reloads", refreshonly = true }
      "touch /run/golden.made" = { creates = "/run/golden.made" }
    }
  }
}

resource "slipway_service" "daemon" {
  name       = "daemon"
  selectors  = [{ node_names = ["node2"] }]
  entity     = data.slipway_catalog.this.entities["daemon"]
  attributes = { level = 3 }
}
