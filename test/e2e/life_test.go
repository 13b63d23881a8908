package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// everything is a service with every type of configuration resource that a node of the lab can have, and with the
// parameters of Puppet that no other test has on such a node.
const everything = `
resource "slipway_service" "everything" {
  name      = "everything"
  selectors = []
  configuration = {
    package = merge({ for p in ["nginx-light", "tree", "tzdata", "git"] : p => { ensure = "installed" } }, { less = { mark = "manual" } })
    file = {
      "/etc/nginx/conf.d/status.conf" = { content = "server {\n  listen 8080;\n}\n", require = ["package[nginx-light]"] }
      "/etc/hello"                    = { ensure = "directory", mode = "0750" }
      "/etc/hello/link"               = { target = "/etc/hostname" }
      "/srv/scratch"                  = { ensure = "directory", mode = "0755" }
      "/etc/issue"                    = { content = "greetings\n", backup = ".bak" }
      "/etc/sudoers.d/pilot"          = { content = "pilot ALL=(ALL) /bin/true\n", mode = "0440", validate_cmd = "visudo -cf %" }
      "/etc/motd"                     = { content = "left alone\n", replace = false, mode = "0600" }
      "/srv/second"                   = { ensure = "directory", mode = "0750", owner = "games" }
      "/srv/hello.tar.gz"             = { content_base64 = "H4sIAAAAAAAC/+3RMQ6CQBAF0Kk9hRcgLgT1PBYbICGQIN7fxcrYa0J8r/mTP8UU0+dxnKv61C05r8PUxRek4tKmVxafuW3f5tLX6dqc45jiBx739baU8/Gf+u3/hwAAAAAAAAAAAGBnnphdt+gAKAAA" }
    }
    service     = { nginx = { ensure = "running", enable = true, hasrestart = true, hasstatus = true, subscribe = ["file[/etc/nginx/conf.d/status.conf]"] } }
    group       = { crew = { gid = "2001", tag = "life", alias = "team", loglevel = "debug" } }
    user        = { pilot = { uid = 2001, gid = "crew", home = "/home/pilot", managehome = true, shell = "/bin/sh", comment = "Pilot", purge_ssh_keys = true } }
    cron        = { sweep = { command = "/bin/true", user = "pilot", minute = ["*/5"], require = ["user[pilot]"] } }
    mount = {
      "/srv/scratch" = { device = "none", fstype = "tmpfs", options = "size=1m,mode=0755" }
      "/srv/second"  = { device = "none", fstype = "tmpfs", options = "size=1m,noexec", remounts = false, atboot = true }
      "extra swap"   = { device = { template = "/srv/disk2/$${node.name}" }, fstype = "swap", options = "pri=7", require = ["exec[mkswap]"] }
    }
    file_line = { pam = { path = "/etc/pam.conf", line = "# pilot" } }
    vcsrepo   = { "/home/pilot/app" = { source = "/home/pilot/origin", revision = "v1", user = "pilot", require = ["exec[origin]"] } }
    sysctl      = { "net.ipv4.conf.all.log_martians" = { value = "1" } }
    host        = { db = { ip = { template = "$${facts.os.family == \"Debian\" ? \"192.0.2.7\" : \"192.0.2.8\"}" }, host_aliases = ["db.example"] } }
    ini_setting = { answer = { path = "/etc/answer.ini", section = "deep", setting = "thought", value = "42" } }
    ssh_authorized_key = { "pilot@home" = { user = "pilot", type = "ed25519", key = "AAAAC3NzaC1lZDI1NTE5AAAAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh", options = ["restrict"] } }
    apt_repository = { again = { location = "file:/srv/apt", release = "./", allow_unsigned = true } }
    hostname    = { "pilot.example" = {} }
    systemd_unit = {
      "hello.service" = { content = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n" }
      "nginx limits"  = { unit = "nginx.service", filename = "limits.conf", content = "[Service]\nLimitNOFILE=4096\n" }
    }
    archive     = { hello = { source = "/srv/hello.tar.gz", checksum = "8380b5c1c6566e825178d4a756b8cfb4417ecf8cd9eb33f8a9f20ec25dc0bf51", extract = true, extract_path = "/srv/hello", strip_components = 1, user = "pilot" } }
    timezone    = { "Pacific/Auckland" = {} }
    exec = {
      mark   = { command = "test -e tried || { touch tried; exit 1; }; echo done >mark", tries = 2, try_sleep = 1, umask = "0077", creates = "/home/pilot/mark", unless = [["test", "-e", "/home/pilot/mark"]], user = "pilot", cwd = "/home/pilot" }
      mkswap = {
        command = { template = "dd if=/dev/zero of=new bs=64k count=16 && chmod 600 new && mkswap new && mv new $${node.name}" }
        creates = { template = "/srv/disk2/$${node.name}" }, cwd = "/srv/disk2"
      }
      origin = {
        command = "git init -q -b main /home/pilot/origin && cd /home/pilot/origin && echo one >greeting && git add . && git -c user.name=p -c user.email=p@example.com commit -qm one && git tag v1"
        creates = "/home/pilot/origin/.git/refs/tags/v1", user = "pilot", require = ["package[git]"]
      }
    }
  }
}
`

// tampering is what hands do to each of the resources, one of every type.
var tampering = map[string]string{
	"package[tree]":                          "dpkg --purge tree >/dev/null", // apt-get fails where the repository below was tampered with
	"file[/etc/nginx/conf.d/status.conf]":    "echo '# by hand' >>/etc/nginx/conf.d/status.conf",
	"file[/etc/hello]":                       "chmod 755 /etc/hello",
	"file[/etc/hello/link]":                  "ln -sf /etc/passwd /etc/hello/link",
	"service[nginx]":                         "systemctl stop nginx",
	"group[crew]":                            "groupmod -g 2002 crew",
	"user[pilot]":                            "usermod -c Copilot pilot; sed s/pilot@home/intruder/ /home/pilot/.ssh/authorized_keys | tee -a /home/pilot/.ssh/authorized_keys",
	"cron[sweep]":                            "crontab -r -u pilot",
	"mount[/srv/scratch]":                    "umount /srv/scratch",
	"sysctl[net.ipv4.conf.all.log_martians]": "sysctl -q -w net.ipv4.conf.all.log_martians=0",
	"host[db]":                               "sed -i /db.example/d /etc/hosts",
	"ini_setting[answer]":                    "sed -i s/42/41/ /etc/answer.ini",
	"ssh_authorized_key[pilot@home]":         "sed -i s/restrict/pty/ /home/pilot/.ssh/authorized_keys",
	"apt_repository[again]":                  "sed -i s/Trusted/Untrusted/ /etc/apt/sources.list.d/again.sources",
	"hostname[pilot.example]":                "hostname other",
	"systemd_unit[hello.service]":            "echo '# by hand' >>/etc/systemd/system/hello.service",
	"systemd_unit[nginx limits]":             "rm -r /etc/systemd/system/nginx.service.d",
	"archive[hello]":                         "echo x >>/srv/hello/greeting",
	"timezone[Pacific/Auckland]":             "ln -sf /usr/share/zoneinfo/Etc/UTC /etc/localtime",
	"exec[mark]":                             "rm /home/pilot/mark",
	"package[less]":                          "apt-mark -qq auto less",
	"mount[extra swap]":                      "swapoff /srv/disk2/*",
	"mount[/srv/second]":                     "mount -o remount,exec /srv/second",
	"vcsrepo[/home/pilot/app]":               "echo two >>/home/pilot/app/greeting",
	"file_line[pam]":                         "sed -i /pilot/d /etc/pam.conf",
	"file[/etc/sudoers.d/pilot]":             "sed -i s/true/false/ /etc/sudoers.d/pilot",
	"file[/etc/motd]":                        "chmod 640 /etc/motd",
}

// TestWholeLifeHasEveryType names the types that neither everything nor tampering has.
func TestWholeLifeHasEveryType(t *testing.T) {
	var missing []string
	for typ := range schema.Types() {
		given := regexp.MustCompile(`(?m)^    ` + typ + ` +=`).MatchString(everything)
		changed := slices.ContainsFunc(slices.Collect(maps.Keys(tampering)), func(id string) bool { return strings.HasPrefix(id, typ+"[") })
		if !given || !changed {
			missing = append(missing, typ)
		}
	}
	// Nodes share the kernel of their machine; TestRepositoryOfDnf has the other one.
	if want := []string{"kernel_module", "yum_repository"}; !slices.Equal(sorted(missing...), want) {
		t.Errorf("missing are %v, want %v", sorted(missing...), want)
	}
}

// TestWholeLife is the life of a site with every type of configuration resource, on nodes that are reached in three
// ways: as root, as another user through sudo, and through a chain of two bastions.
func TestWholeLife(t *testing.T) {
	t.Parallel()
	three := nodes.Take(t, 3)
	root, sudo, far := three[0], three[1], three[2]
	// git brings perl, which needs a newer perl-base than the image of the nodes has.
	onEach(t, three, "apt-get -qq update && apt-get -qq -y install --only-upgrade perl-base && apt-mark -qq auto less")
	t.Cleanup(func() { onEach(t, three, "apt-mark -qq manual less") })
	before := fingerprints(t, three...)
	w := newWorkspace(t, config{site: "life", nodes: three, services: everything, more: []string{"everything"}, node: fmt.Sprintf(`
  connect = {
    %q = null
    %q = { user = "slipway", sudo = true }
    %q = { bastions = [{ host = %q }, { host = %q, user = "slipway" }] }
  }[each.key]
`, root.Name, sudo.Name, far.Name, root.Address, sudo.Address)}.hcl(t))
	w.must(w.apply(), 0, "Apply complete")
	w.must(w.plan(), 0, "No changes")
	const look = `echo $(stat -c '%a %U' /srv/second; findmnt -no FSTYPE,OPTIONS /srv/second | cut -d, -f1-2)
echo swap $(swapon --show=NAME,PRIO --noheadings | sed -n "s:^/srv/disk2/$(ls /srv/disk2) ::p")
echo $(cd /home/pilot/app; stat -c %U greeting; cat greeting; git -c safe.directory=* describe --tags)
echo $(apt-mark showmanual less git; grep -c alone /etc/motd; stat -c %a /etc/motd /home/pilot/mark)`
	for i, got := range onEach(t, three, look) {
		if want := "750 games tmpfs rw,noexec\nswap 7\npilot one v1\ngit less 0 600 600\n"; got != want {
			t.Errorf("%s has\n%s\nwant\n%s", three[i].Name, got, want)
		}
	}

	for _, hop := range []struct {
		at         lab.Node
		user, from string
	}{{root, "root", "10.231.0.1"}, {sudo, "slipway", "10.231.0.1"}, {sudo, "slipway", root.Address}, {far, "root", sudo.Address}} {
		hop.at.On(t, fmt.Sprintf("journalctl -u ssh | grep -q 'Accepted publickey for %s from %s '", hop.user, hop.from))
	}

	// Neighbours in this list go to different nodes, so that a resource that only looks as if it had drifted would show.
	var want []string
	for i, id := range slices.Sorted(maps.Keys(tampering)) {
		n := three[i%len(three)]
		n.On(t, tampering[id])
		want = append(want, n.Name+" "+id)
	}
	w.must(w.plan("-out=drift.tfplan"), 2)
	assertDrift(t, w, "drift.tfplan", want...)
	// What someone puts right between plan and apply is looked at again, and left alone (execution.md 2.8).
	for _, n := range three {
		n.On(t, "sed -i s/41/42/ /etc/answer.ini")
	}
	want = slices.DeleteFunc(want, func(s string) bool { return strings.HasSuffix(s, "ini_setting[answer]") })
	for _, change := range want { // nginx restarts where its file changes
		if node, ok := strings.CutSuffix(change, " file[/etc/nginx/conf.d/status.conf]"); ok {
			want = append(want, node+" service[nginx]")
		}
	}
	w.must(w.run("apply", "-input=false", "-no-color", "drift.tfplan"), 0)
	if got := w.changed(); !slices.Equal(got, slices.Compact(sorted(want...))) {
		t.Errorf("the repair changed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	w.must(w.plan(), 0, "No changes")

	w.must(w.destroy(), 0, "Destroy complete")
	for _, n := range three {
		n.On(t, "rm -r /var/www") // nginx's package makes it when it is installed, and purging leaves it
	}
	assertUntouched(t, before, three...)
}
