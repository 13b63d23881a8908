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
