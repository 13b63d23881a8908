package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// openrcScript is a service of OpenRC: a process that does nothing.
const openrcScript = `#!/sbin/openrc-run
command=/bin/sleep
command_args=%s
command_background=yes
pidfile=/run/$RC_SVCNAME.pid
`

// openrcNode takes a node that OpenRC runs in place of systemd, for the time of the test.
func openrcNode(t *testing.T) lab.Node {
	t.Helper()
	n := nodes.Take(t, 1)[0]
	becomeOpenRC(t, n)
	return n
}

// becomeOpenRC has a node run OpenRC, for the time of the test.
func becomeOpenRC(t *testing.T, n lab.Node) {
	t.Helper()
	n.Become(t, "openrc")
	until(t, n, "OpenRC has started everything", "grep -qsx default /run/openrc/softlevel")
	if got := n.On(t, "cat /proc/1/comm; rc-service ssh status"); !strings.HasPrefix(got, "init\n") {
		t.Fatalf("process 1 is %s", got)
	}
}

// TestServicesOfOpenRC manages services on a node that OpenRC runs. A service lives on after the session that started
// it, and after a command that started it and was then ended, at its timeout or with all that knew of it; everything
// else that the command started ends, as it does with systemd.
func TestServicesOfOpenRC(t *testing.T) {
	t.Parallel()
	n := openrcNode(t)
	const web, late, last, child = "sleep 261.25", "sleep 262.25", "sleep 263.25", "sleep 264.25"
	var files strings.Builder
	for name, process := range map[string]string{"web": web, "late": late, "last": last} {
		script := fmt.Sprintf(openrcScript, strings.Fields(process)[1])
		fmt.Fprintf(&files, "      %q = { content = %q, mode = \"0755\" }\n", "/etc/init.d/slipway-"+name, script)
	}
	workspaceOf := func(ensure, enable, more string) string {
		return config{site: "openrc", nodes: []lab.Node{n}, more: []string{"web"}, services: fmt.Sprintf(`
resource "slipway_service" "web" {
  name      = "web"
  selectors = []
  configuration = {
    file = {
%s      "/etc/slipway-web" = { content = var.content, notify = ["service[slipway-web]"] }
    }
    service = { slipway-web = { ensure = %q, enable = %s, require = ["file[/etc/init.d/slipway-web]"] } }
    exec = { %s }
  }
}
`, files.String(), ensure, enable, more)}.hcl(t)
	}
	process := func(name string) string {
		t.Helper()
		return strings.TrimSpace(n.On(t, fmt.Sprintf(`pgrep -xf "(/bin/)?%s" || true`, name)))
	}
	before := fingerprints(t, n)

	w := newWorkspace(t, workspaceOf("running", "true", ""))
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")
	started := process(web)
	const state = "rc-service slipway-web status; rc-update show default | grep -c slipway-web; true"
	if got := n.On(t, state); started == "" || got != " * status: started\n1\n" {
		t.Fatalf("the service is process %q after the session:\n%s", started, got)
	}

	w.set("content", "second")
	w.must(w.apply(), 0)
	restarted := process(web)
	if restarted == "" || restarted == started {
		t.Errorf("the service was notified: it was process %q and is %q", started, restarted)
	}

	t.Log("a command that starts services runs into its timeout")
	sshd := n.On(t, "cat /run/sshd.pid")
	w.write("main.tf", workspaceOf("running", "true", fmt.Sprintf(`
    cut = {
      command = "rc-service slipway-late start; rc-service ssh restart; setsid %s & %s"
      timeout = 20
      creates = "/run/slow-done"
      require = ["service[slipway-web]"]
    }`, child, slow)))
	w.must(w.apply(), 1, "ran into its timeout of 20s")
	for name, want := range map[string]bool{web: true, late: true, child: false, slow: false} {
		if got := process(name); (got != "") != want {
			t.Errorf("after the timeout, %s is process %q", name, got)
		}
	}
	if got := process(web); got != restarted {
		t.Errorf("the service that the command had nothing to do with was process %s and is %s", restarted, got)
	}
	if now := n.On(t, "cat /run/sshd.pid; rc-service ssh status"); strings.HasPrefix(now, sshd) {
		t.Errorf("sshd was not restarted: %s", now)
	}

	for _, cgroups := range []bool{false, true} {
		t.Logf("a command that starts a service is killed with all that knows of it; cgroups: %v", cgroups)
		if cgroups {
			n.On(t, "mount -t cgroup2 cgroup2 /sys/fs/cgroup")
		}
		n.On(t, "rc-service slipway-last stop || true")
		w.write("main.tf", workspaceOf("running", "true", fmt.Sprintf(`
    cut = {
      command = "rc-service slipway-last start; setsid %s & %s"
      creates = "/run/slow-done"
      require = ["service[slipway-web]"]
    }`, child, slow)))
		p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
		p.untilSlow(n)
		killAll(t, n)
		if r := p.wait(); r.status == 0 {
			t.Errorf("Terraform ended with status 0:\n%s", r.out)
		}
		n.On(t, "touch /run/slow-done")
		w.must(w.apply(), 0)
		n.On(t, "rm /run/slow-done")
		for name, want := range map[string]bool{web: true, late: true, last: true, child: !cgroups, slow: !cgroups} {
			if got := process(name); (got != "") != want {
				t.Errorf("after the kill, %s is process %q", name, got)
			}
		}
		n.On(t, fmt.Sprintf(`pkill -xf "%s|%s" || true`, child, slow))
	}

	w.write("main.tf", workspaceOf("stopped", "false", ""))
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")
	if got := n.On(t, state); process(web) != "" || got != " * status: stopped\n0\n" {
		t.Errorf("a service that is to be stopped and disabled: %s", got)
	}
	w.write("main.tf", workspaceOf("running", "true", ""))
	w.must(w.apply(), 0)
	for _, service := range []string{"slipway-late", "slipway-last"} { // a stop that gives up on a busy machine is repeated
		n.On(t, fmt.Sprintf("for i in 1 2 3 4 5; do rc-service %s stop && exit; done; exit 1", service))
	}
	w.mustDestroy()
	if got := process(web); got != "" {
		t.Errorf("the service that was not there before runs as process %s after the destroy", got)
	}
	n.On(t, "umount /sys/fs/cgroup; rm -f /run/slipway-*.pid") // Debian's OpenRC leaves them when it stops a service
	assertUntouched(t, before, n)
}

// killAll kills the helper and what supervises its command, so that neither can end anything.
func killAll(t *testing.T, n lab.Node) {
	t.Helper()
	n.On(t, "pkill -STOP -f ^slipway-command; pkill -KILL -f /var/lib/slipway/[h]elper-; pkill -KILL -f ^slipway-command")
}
