package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestTypesOnWhatIsThere applies resources to a node that has something of each already: a link gets an owner, a file lies in a mount, a guard
// is a file of the same run, a job of a crontab is taken over, a user goes before its group.
func TestTypesOnWhatIsThere(t *testing.T) {
	t.Parallel()
	one := nodes.Take(t, 1)
	n := one[0]
	const job = "/bin/true slipway-types"
	n.On(t, "useradd -m -U slipgone; printf '# of the administrator\n5 3 * * * "+job+"\n' | crontab -; mkdir /srv/slipway-types")
	t.Cleanup(func() { n.On(t, "userdel -r slipgone 2>/dev/null; crontab -r; rmdir /srv/slipway-types") })
	const undated = "sed -i 's/ installed on .*/ installed)/' /var/spool/cron/crontabs/root" // crontab writes the time above the jobs
	n.On(t, undated)
	before := fingerprints(t, n)
	link := strings.TrimSpace(n.On(t, "readlink /etc/localtime"))

	w := newWorkspace(t, config{site: "types", nodes: one, more: []string{"types"}, services: fmt.Sprintf(`
resource "slipway_service" "types" {
  name      = "types"
  selectors = []
  configuration = {
    file = {
      "/etc/localtime"             = { owner = "games" }
      "/srv/slipway-types/inside"  = { content = "in the mount\n" }
      "/usr/local/sbin/slipway-ok" = { content = "#!/bin/sh\nexit 0\n", mode = "0755" }
    }
    mount = { "/srv/slipway-types" = { device = "none", fstype = "tmpfs", options = "size=1m,mode=0755" } }
    exec  = { "guarded" = { command = "touch /etc/slipway-guarded", unless = "/usr/local/sbin/slipway-ok" } }
    cron  = { "nightly" = { command = %q, user = "root", hour = "3", minute = "5" } }
    user  = { "slipgone" = { ensure = "absent" } }
    group = { "slipgone" = { ensure = "absent" } }
  }
}
`, job)}.hcl(t))
	w.must(w.apply(), 0)
	n.On(t, "crontab -l | crontab -")
	for _, c := range []struct{ of, command, want string }{
		{"the link", "stat -c '%F %U' /etc/localtime; readlink /etc/localtime", "symbolic link games\n" + link},
		{"the file below the mount", "findmnt -no FSTYPE -T /srv/slipway-types/inside; cat /srv/slipway-types/inside", "tmpfs\nin the mount"},
		{"the guarded command", "ls /etc/slipway-guarded 2>/dev/null || echo did not run", "did not run"},
		{"the job, counted", "crontab -l | grep -c '" + job + "'", "1"},
		{"user and group", "getent passwd slipgone; getent group slipgone; echo end", "end"},
	} {
		if got := strings.TrimSpace(n.On(t, c.command)); got != c.want {
			t.Errorf("%s: %q, want %q", c.of, got, c.want)
		}
	}
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
	n.On(t, undated)
	assertUntouched(t, before, n)
}

// TestTypesThroughTheNodesOwnTools applies what the node's own tools and other entries disturb: a crontab that slipway made goes through crontab, modes
// are symbolic, a section of an ini file gets empty, a host has several lines. Everything is as it was after the destroy.
func TestTypesThroughTheNodesOwnTools(t *testing.T) {
	t.Parallel()
	one := nodes.Take(t, 1)
	n := one[0]
	n.On(t, `printf '[other]\nk = 1\n' > /etc/slipway.ini; sed -i '1i 10.0.0.8 dup.example' /etc/hosts; printf '10.0.0.9 dup.example # second\n' >> /etc/hosts`)
	t.Cleanup(func() { n.On(t, "rm -f /etc/slipway.ini; sed -i '/dup.example/d' /etc/hosts") })
	before := fingerprints(t, n)

	site := func(ensure string) string {
		return config{site: "tools", nodes: one, more: []string{"types"}, services: `
resource "slipway_service" "types" {
  name      = "types"
  selectors = []
  configuration = {
    file = {
      "/srv/slipway-modes"          = { ensure = "directory", mode = "0644" }
      "/srv/slipway-modes/symbolic" = { content = "x\n", mode = "u=rwx,g=rx,o=" }
    }
    cron        = { "nightly" = { command = "/bin/true", user = "games", hour = "3", minute = "5" } }
    host        = { "dup.example" = { ip = "10.0.0.1" } }
    ini_setting = {
      one = { path = "/etc/slipway.ini", section = "made", setting = "one", value = "1", ensure = "` + ensure + `" }
      two = { path = "/etc/slipway.ini", section = "made", setting = "two", value = "2", ensure = "` + ensure + `" }
    }
  }
}
`}.hcl(t)
	}
	w := newWorkspace(t, site("present"))
	w.must(w.apply(), 0)
	n.On(t, "crontab -u games -l | crontab -u games -")
	w.must(w.plan(), 0, "No changes")
	for _, c := range []struct{ of, command, want string }{
		{"the modes", "stat -c %a /srv/slipway-modes /srv/slipway-modes/symbolic", "755\n750"},
		{"the job, counted", "crontab -u games -l | grep -c '/bin/true'", "1"},
		{"the lines of the host", "grep dup.example /etc/hosts", "10.0.0.1\tdup.example"},
		{"the settings", "cat /etc/slipway.ini", "[other]\nk = 1\n\n[made]\none = 1\ntwo = 2"},
	} {
		if got := strings.TrimSpace(n.On(t, c.command)); got != c.want {
			t.Errorf("%s: %q, want %q", c.of, got, c.want)
		}
	}
	w.write("main.tf", site("absent"))
	w.must(w.apply(), 0)
	if got := n.On(t, "cat /etc/slipway.ini"); got != "[other]\nk = 1\n" {
		t.Errorf("with an emptied section: %q", got)
	}
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
	assertUntouched(t, before, n)
}
