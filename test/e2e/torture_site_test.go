package e2e

// tortureService is a service with every type of configuration resource, in two revisions: create and update. Its command fails to get a lock, and leaves a
// mark, when another copy of it still runs.
const tortureService = `
variable "revision" {
  type    = string
  default = "create"
}
locals {
  updated = var.revision == "update"
  work    = "flock -n /var/tmp/torture.lock sh -c 'sleep 1; echo ${var.revision} >/var/tmp/torture.done' || { echo overlap >>/var/tmp/torture.overlap; exit 1; }"
}
resource "slipway_service" "torture" {
  name      = "torture"
  selectors = []
  configuration = {
    package = { for p in ["nginx-light", local.updated ? "rsync" : "tree"] : p => { ensure = "installed" } }
    file = merge({
      "/etc/nginx/conf.d/status.conf" = { content = "server {\n  listen ${local.updated ? 8081 : 8080};\n}\n", require = ["package[nginx-light]"] }
      "/etc/torture"                  = { ensure = "directory", mode = local.updated ? "0750" : "0755" }
      "/etc/torture/greeting"         = { content = "${var.revision}\n", mode = local.updated ? "0600" : "0644" }
      "/etc/torture/link"             = { target = local.updated ? "/etc/hosts" : "/etc/hostname" }
      "/srv/scratch"                  = { ensure = "directory", mode = "0755" }
      "/etc/issue"                    = { content = "${var.revision}\n" }
    }, local.updated ? {} : { "/etc/torture/leaves" = { content = "soon\n" } })
    service     = { nginx = { ensure = "running", enable = true, subscribe = ["file[/etc/nginx/conf.d/status.conf]"] } }
    group       = { crew = { gid = 2001 } }
    user        = { pilot = { uid = 2001, gid = "crew", home = "/home/pilot", managehome = true, shell = "/bin/sh", comment = var.revision } }
    cron        = { sweep = { command = "/bin/true", user = "pilot", minute = [local.updated ? "7" : "5"], require = ["user[pilot]"] } }
    mount       = { "/srv/scratch" = { device = "none", fstype = "tmpfs", options = "size=1m,mode=0755" } }
    sysctl      = { "net.ipv4.conf.all.log_martians" = { value = "1" } }
    host        = { db = { ip = local.updated ? "192.0.2.8" : "192.0.2.7", host_aliases = ["db.example"] } }
    ini_setting = { answer = { path = "/etc/answer.ini", section = "deep", setting = "thought", value = var.revision } }
    exec        = { work = { command = local.work, require = ["file[/etc/torture/greeting]"] } }
  }
}
`

// tortureLook prints what tortureService makes of a node, with the tools of the node.
const tortureLook = `
for p in nginx-light tree rsync; do echo "$p $(dpkg-query -W -f '${db:Status-Abbrev}' $p 2>/dev/null | tr -d ' ' | grep ii)"; done
dpkg --audit
cd /etc && stat -c '%n %a %U' torture torture/greeting && cat torture/greeting issue && readlink torture/link; ls torture
grep -o 'listen [0-9]*' nginx/conf.d/status.conf
echo "nginx $(systemctl is-active nginx) $(systemctl is-enabled nginx) $(ss -Hltn | awk '{print $4}' | grep -o '808.' | sort -u)"
getent group crew; getent passwd pilot; ls -d /home/pilot
crontab -l -u pilot | grep '^[^#]'
findmnt -rn -o FSTYPE /srv/scratch
sysctl -n net.ipv4.conf.all.log_martians
grep db.example hosts | tr -s '\t ' ' '
grep thought answer.ini
cat /var/tmp/torture.done; cat /var/tmp/torture.overlap 2>/dev/null || true
`

// tortureWant is what tortureLook prints, by revision.
var tortureWant = map[string]string{
	"create": `nginx-light ii
tree ii
rsync 
torture 755 root
torture/greeting 644 root
create
create
/etc/hostname
greeting
leaves
link
listen 8080
nginx active enabled 8080
crew:x:2001:
pilot:x:2001:2001:create:/home/pilot:/bin/sh
/home/pilot
5 * * * * /bin/true
tmpfs
1
192.0.2.7 db db.example
thought = create
create
`,
	"update": `nginx-light ii
tree 
rsync ii
torture 750 root
torture/greeting 600 root
update
update
/etc/hosts
greeting
link
listen 8081
nginx active enabled 8081
crew:x:2001:
pilot:x:2001:2001:update:/home/pilot:/bin/sh
/home/pilot
7 * * * * /bin/true
tmpfs
1
192.0.2.8 db db.example
thought = update
update
`,
}
