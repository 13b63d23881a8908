package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// The contents of a guarded file of sshd: one that works, one that lets nobody in any more, and one that sshd does not
// start with.
const (
	sshdOpen   = "PermitRootLogin yes\n"
	sshdClosed = "AllowUsers nobody\n"
	sshdBroken = "NoSuchKeyword yes\n"
)

// guardedSSH is a site whose file of sshd is guarded, with another file that comes after it.
func guardedSSH(t *testing.T, site string, n lab.Node, guarded string) *workspace {
	t.Helper()
	w := newWorkspace(t, config{site: site, nodes: []lab.Node{n}, more: []string{"ssh"}, services: fmt.Sprintf(`
resource "slipway_service" "ssh" {
  name      = "ssh"
  selectors = []
  configuration = {
    %s
    file = {
      "/etc/ssh/sshd_config.d/50-guarded.conf" = { content = var.content, mode = "0644", guard = true, notify = ["service[ssh]"] }
      "/etc/after-guard"                       = { content = var.content, require = ["file[/etc/ssh/sshd_config.d/50-guarded.conf]"] }
    }
  }
}
`, guarded)}.hcl(t))
	w.set("content", sshdOpen)
	w.must(w.plan(), 2, "create file[/etc/ssh/sshd_config.d/50-guarded.conf] (guard)")
	w.must(w.apply(), 0)
	n.On(t, "! ls /var/lib/slipway/guard* /etc/systemd/system/slipway-guard* /etc/init.d/slipway-guard* 2>/dev/null")
	w.must(w.plan(), 0)
	return w
}

const sshService = `service = { ssh = { ensure = "running" } }`

// awaitSSH returns when the node lets somebody in again.
func awaitSSH(t *testing.T, n lab.Node) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for n.Command("true").Run() != nil {
		if time.Now().After(deadline) {
			t.Fatalf("%s lets nobody in any more", n.Name)
		}
		time.Sleep(2 * time.Second)
	}
}

// assertPutBack checks that the node is as it was before the change that locked everybody out, and that the next plan
// says so and why.
func assertPutBack(t *testing.T, w *workspace, n lab.Node, why string) {
	t.Helper()
	awaitSSH(t, n)
	if got := n.On(t, "cat /etc/ssh/sshd_config.d/50-guarded.conf /etc/after-guard"); got != sshdOpen+sshdOpen {
		t.Errorf("%s has\n%s", n.Name, got)
	}
	w.must(w.plan(), 2, "Nodes have put guarded changes back: 1", n.Name, "file[/etc/ssh/sshd_config.d/50-guarded.conf]", why,
		"update file[/etc/ssh/sshd_config.d/50-guarded.conf] (guard)")
	w.set("content", sshdOpen)
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")
	n.On(t, "! ls /var/lib/slipway/guard* /etc/systemd/system/slipway-guard* /etc/init.d/slipway-guard* 2>/dev/null")
}

// TestGuardOfSSH locks slipway out of nodes by a guarded change, in every way: the nodes put it back.
func TestGuardOfSSH(t *testing.T) {
	t.Parallel()
	t.Run("new connections are refused", func(t *testing.T) {
		t.Parallel()
		n := nodes.Take(t, 1)[0]
		w := guardedSSH(t, "guard-refused", n, sshService)
		defer w.mustDestroy()
		w.set("content", sshdBroken) // known at once: nobody waits
		begun := time.Now()
		w.must(w.apply(), 1, "put back, because service[ssh] failed")
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("a service that does not start took %s", took)
		}
		w.set("content", sshdClosed)
		w.must(w.apply(), 1, "the node put it back", "no new connection confirmed it within 2m0s", "the last try")
		assertPutBack(t, w, n, "no new connection confirmed it within 2m0s")
	})
	t.Run("the session is cut", func(t *testing.T) {
		t.Parallel()
		n := nodes.Take(t, 1)[0]
		n.On(t, "set -- $SSH_CLIENT; echo $1 >/etc/controller")
		w := guardedSSH(t, "guard-cut", n, `exec = { firewall = {
      command     = "if grep -q nobody /etc/ssh/sshd_config.d/50-guarded.conf; then ip route replace blackhole $(cat /etc/controller); else ip route del blackhole $(cat /etc/controller) || true; fi"
      refreshonly = true
      subscribe   = ["file[/etc/ssh/sshd_config.d/50-guarded.conf]"]
    } }
    `+sshService)
		defer w.mustDestroy()
		w.set("content", sshdClosed)
		w.must(w.apply(), 1, "the node put it back", "within 2m0s")
		assertPutBack(t, w, n, "no new connection confirmed it within 2m0s")
	})
	// rebooting restarts the node twenty seconds after a guard is armed.
	const rebooting = `sh -c "until test -e /var/lib/slipway/guard.json; do sleep 1; done; sleep 20; reboot"`
	for name, tt := range map[string]struct {
		restart string
		openrc  bool
	}{
		"the controller is killed":            {},
		"and the node restarts":               {restart: "systemd-run -q " + rebooting},
		"and the node, with OpenRC, restarts": {restart: "setsid " + rebooting + " </dev/null >/dev/null 2>&1 &", openrc: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nodes.Take(t, 1)[0]
			if tt.openrc {
				becomeOpenRC(t, n)
			}
			w := guardedSSH(t, fmt.Sprintf("guard-killed-%t-%t", tt.restart != "", tt.openrc), n, sshService)
			defer w.mustDestroy()
			n.On(t, "touch /run/before-restart")
			if tt.restart != "" {
				n.On(t, tt.restart)
			}
			w.set("content", sshdClosed)
			p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
			await(t, "nobody is let in", func() bool { return n.Command("true").Run() != nil })
			time.Sleep(3 * time.Second) // for the end of the session that made the change
			p.signal(syscall.SIGKILL, -p.pid())
			p.wait()
			await(t, "no provider is left", func() bool { return len(w.processes(t)) == 0 })
			awaitSSH(t, n)
			if restarted := n.Command("test -e /run/before-restart").Run() != nil; restarted != (tt.restart != "") {
				t.Errorf("restarted %t", restarted)
			}
			assertPutBack(t, w, n, "no new connection confirmed it within 2m0s")
		})
	}
	t.Run("the node runs OpenRC", func(t *testing.T) {
		t.Parallel()
		n := openrcNode(t)
		w := guardedSSH(t, "guard-openrc", n, sshService)
		defer w.mustDestroy()
		w.set("content", sshdClosed)
		w.must(w.apply(), 1, "the node put it back", "no new connection confirmed it within 2m0s")
		assertPutBack(t, w, n, "no new connection confirmed it within 2m0s")
	})
	t.Run("nothing can put it back", func(t *testing.T) {
		t.Parallel()
		n := nodes.Take(t, 1)[0]
		w := guardedSSH(t, "guard-none", n, sshService)
		defer w.mustDestroy()
		n.On(t, "mv /run/systemd/system /run/systemd/elsewhere")
		w.set("content", sshdClosed)
		r := w.apply()
		n.On(t, "mv /run/systemd/elsewhere /run/systemd/system")
		w.must(r, 1, "neither systemd nor OpenRC runs, so nothing could put the change back")
		if got := n.On(t, "cat /etc/ssh/sshd_config.d/50-guarded.conf"); !strings.HasPrefix(got, sshdOpen) {
			t.Errorf("changed: %s", got)
		}
		w.set("content", sshdOpen)
		w.must(w.apply(), 0)
	})
}
