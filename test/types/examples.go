package main

// overview shows how resources of several types work together: the entries of a `configuration`.
const overview = `package = { chrony = { ensure = "installed" } }
file    = { "/etc/chrony/chrony.conf" = { content = "pool ntp.example.com iburst\n", require = ["package[chrony]"] } }
service = { chrony = { ensure = "running", enable = true, subscribe = ["file[/etc/chrony/chrony.conf]"] } }
`

// examples holds an entry of a configuration for each type. The package's tests plan each of them.
var examples = map[string]string{
	"apt_repository": `apt_repository = {
  example = { location = "https://deb.example.com/debian", release = "bookworm", repos = ["main", "extra"], keyring = "/usr/share/keyrings/example.gpg" }
}
package = { example-agent = {} }
`,
	"archive": `archive = {
  "/var/tmp/app-1.4.2.tar.gz" = {
    source       = "https://downloads.example.com/app-1.4.2.tar.gz"
    checksum     = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    extract      = true
    extract_path = "/opt/app"
    user         = "app"
  }
}
user = { app = { system = true } }
file = { "/opt/app/etc/app.conf" = { content = "listen = 8080\n" } }
`,
	"cron": `cron = {
  rotate = { command = "/usr/local/sbin/rotate", user = "root", hour = 4, minute = 30 }
  hourly = { command = "/usr/local/sbin/collect", special = "hourly" }
}
`,
	"exec": `exec = {
  # Runs while the file is not there.
  "/usr/local/bin/make-keys --out /etc/app/keys" = { creates = "/etc/app/keys" }
  # Runs when the file it subscribes to changed, and at no other time.
  "reload sysctl" = { command = "sysctl --system", refreshonly = true, subscribe = ["file[/etc/sysctl.d/90-app.conf]"] }
}
file = { "/etc/sysctl.d/90-app.conf" = { content = "vm.swappiness = 10\n" } }
`,
	"file": `file = {
  "/etc/app"          = { ensure = "directory", owner = "root", group = "root", mode = "0755" }
  "/etc/app/app.conf" = { content = "listen = 8080\n", mode = "0640" }
  "/etc/app/current"  = { ensure = "link", target = "/etc/app/app.conf" }
  "/etc/app/old.conf" = { ensure = "absent" }
  "/etc/app/conf.d"   = { ensure = "directory", recurse = true, purge = true, ignore = ["*.local"] }
}
`,
	"file_line": `file_line = {
  "no forwarded X11" = { path = "/etc/ssh/sshd_config", line = "X11Forwarding no", match = "^#?X11Forwarding " }
}
`,
	"group": `group = {
  app    = { gid = 4100 }
  backup = { members = ["app"], auth_membership = true }
}
user = { app = { gid = "app", password_max_age = 90, expiry = "2031-12-31" } }
`,
	"host": `host = {
  "db.example.com" = { ip = "192.0.2.20", host_aliases = ["db"] }
}
`,
	"hostname": `hostname = {
  "web1.example.com" = {}
}
`,
	"ini_setting": `ini_setting = {
  "app log level" = { path = "/etc/app.ini", section = "log", setting = "level", value = "info" }
}
`,
	"kernel_module": `kernel_module = {
  br_netfilter = {}
  bonding      = { options = ["mode=1", "miimon=100"] }
  cramfs       = { ensure = "absent" }
}
`,
	"mount": `mount = {
  "/srv/data" = { device = "LABEL=data", fstype = "ext4", options = "noatime" }
}
file = { "/srv/data" = { ensure = "directory", mode = "0750" } }
`,
	"package": `package = {
  nginx       = { ensure = "installed", install_options = ["--no-install-recommends"], mark = "hold" }
  telnet      = { ensure = "absent" }
  requests    = { ensure = "2.32.3", provider = "pip", require = ["package[python3-pip]"] }
  python3-pip = {}
}
`,
	"service": `service = {
  nginx = { ensure = "running", enable = true }
}
`,
	"ssh_authorized_key": `ssh_authorized_key = {
  "ann@laptop" = { user = "ann", type = "ssh-ed25519", key = "AAAAC3NzaC1lZDI1NTE5AAAAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh", options = ["restrict", "pty"] }
}
user = { ann = { managehome = true } }
`,
	"sysctl": `sysctl = {
  "net.ipv4.ip_forward" = { value = 1 }
}
`,
	"systemd_unit": `systemd_unit = {
  "app.service"    = { content = "[Service]\nExecStart=/usr/bin/app\n\n[Install]\nWantedBy=multi-user.target\n" }
  "limits of cron" = { unit = "cron.service", filename = "limits.conf", content = "[Service]\nMemoryMax=64M\n" }
}
service = { app = { ensure = "running", enable = true, subscribe = ["systemd_unit[app.service]"] } }
`,
	"timezone": `timezone = {
  "Europe/London" = {}
}
`,
	"user": `group = { app = { system = true } }
user = {
  app = { gid = "app", groups = ["adm"], home = "/srv/app", managehome = true, shell = "/usr/sbin/nologin", system = true }
}
`,
	"vcsrepo": `vcsrepo = {
  "/srv/app" = { source = "https://git.example.com/app.git", revision = "v1.4.2", user = "app" }
}
user    = { app = { system = true, home = "/var/lib/app", managehome = true } }
package = { git = {} }
`,
	"yum_repository": `yum_repository = {
  example = { descr = "Example", baseurl = "https://rpm.example.com/el9/$basearch", gpgcheck = true, gpgkey = "https://rpm.example.com/key.asc" }
}
`,
}
