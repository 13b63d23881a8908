package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// takeForTruth takes nodes for a test, and removes what its commands leave on them.
func takeForTruth(t *testing.T, count int) []lab.Node {
	t.Helper()
	taken := nodes.Take(t, count)
	t.Cleanup(func() { onEach(t, taken, "rm -f /run/truth-*") })
	return taken
}

// TestRefreshIsNotLost kills Terraform and its provider while a command runs that a file has notified and that is another one itself. The next plan shows
// the command, the next apply runs it once, and the plan after that is empty.
func TestRefreshIsNotLost(t *testing.T) {
	t.Parallel()
	two := takeForTruth(t, 2)
	first := two[0]
	if two[1].Name < first.Name {
		first = two[1]
	}
	w := newWorkspace(t, config{site: "refresh", nodes: two, more: []string{"w"}, groupList: []string{"all"}, groups: `
resource "slipway_group" "all" {
  name      = "all"
  critical  = true
  selectors = []
  rolling   = { max_parallel = 1 }
}
variable "rev" {
  type    = string
  default = "one"
}
`, services: `
resource "slipway_service" "w" {
  name      = "w"
  selectors = []
  configuration = {
    file = { "/etc/slipway-rev" = { content = var.rev, notify = ["exec[w]"] } }
    exec = { w = { command = "touch /run/truth-runs; while test -e /run/truth-slow; do sleep 0.1; done; echo ${var.rev} >>/run/truth-done", refreshonly = true } }
  }
}
`}.hcl(t))
	defer w.mustDestroy()
	w.must(w.apply(), 0)
	onEach(t, two, "rm /run/truth-runs; touch /run/truth-slow")
	w.set("rev", "two")
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	p.until(first, "the notified command runs", "test -e /run/truth-runs")
	p.signal(syscall.SIGKILL, -p.pid())
	p.wait()
	await(t, "no provider is left", func() bool { return len(w.processes(t)) == 0 })
	until(t, first, "the command ends", "! pgrep -f [t]ruth-slow")
	onEach(t, two, "rm /run/truth-slow")
	for i, got := range onEach(t, two, "cat /run/truth-done") {
		if got != "one\n" {
			t.Fatalf("on %s the command ended %q before it was cut off", two[i].Name, got)
		}
	}
	await(t, "the lease of the dead run expires and its work is planned", func() bool {
		w.must(w.plan(), 2, "exec[w] on 2")
		r := w.apply()
		if r.status != 0 && !strings.Contains(unwrapped(r.out), "Another run is at work") {
			t.Fatalf("apply after the end:\n%s", r.out)
		}
		return r.status == 0
	})
	for i, got := range onEach(t, two, "cat /run/truth-done") {
		if got != "one\ntwo\n" {
			t.Errorf("on %s the command ran %q, want each revision once", two[i].Name, got)
		}
	}
	w.must(w.plan(), 0, "No changes")
}

// TestRemovedOverrideLeavesNothing has one of two nodes get an override and lose it again. Then both are equal, where slipway made an object and where
// it was there before.
func TestRemovedOverrideLeavesNothing(t *testing.T) {
	t.Parallel()
	two := takeForTruth(t, 2)
	onEach(t, two, "install -o games -g games -m 0640 /dev/null /etc/slipway-there; sed -i '/slipway-host/d' /etc/hosts; systemctl enable -q cron; useradd -M -c Bob -s /bin/sh slipbob")
	t.Cleanup(func() { onEach(t, two, "rm -f /etc/slipway-there; userdel slipbob") })
	w := newWorkspace(t, config{site: "override", nodes: two, more: []string{"base"}, services: fmt.Sprintf(`
variable "overrides" {
  type    = bool
  default = true
}
resource "slipway_service" "base" {
  name      = "base"
  selectors = []
  configuration = {
    file = {
      "/etc/slipway-there" = { content = "base" }
      "/etc/slipway-new"   = { content = "base" }
    }
    service = { cron = { ensure = "running" } }
    user    = { slipbob = { ensure = "present" }, slipnew = { ensure = "present" } }
    group   = { slipgroup = { ensure = "present" } }
    host    = { slipway-host = { ip = "10.1.1.1" } }
  }
}
resource "slipway_override" "loud" {
  name  = "loud"
  nodes = [%q]
  configuration = {
    file = {
      "/etc/slipway-there" = { mode = "0600", owner = "root", group = "root" }
      "/etc/slipway-new"   = { mode = "0600", owner = "games", group = "games" }
    }
    service = { cron = { enable = false } }
    user = {
      slipbob = { comment = "Robert", shell = "/bin/bash", groups = ["games"] }
      slipnew = { comment = "New", shell = "/bin/sh", groups = ["games"] }
    }
    host = { slipway-host = { host_aliases = ["loud"], comment = "loud" } }
  }
}
`, two[0].Name), extra: `overrides = var.overrides ? [slipway_override.loud] : []`}.hcl(t))
	look := func() []string {
		return onEach(t, two, `stat -c '%n %a %U %G' /etc/slipway-there /etc/slipway-new; systemctl is-enabled cron; grep slipway-host /etc/hosts
for u in slipbob slipnew; do getent passwd $u | cut -d: -f1,5-; id -nG $u; done`)
	}
	w.must(w.apply(), 0)
	if is := look(); is[0] == is[1] {
		t.Fatalf("the override does nothing:\n%s", is[0])
	}
	w.set("overrides", false)
	w.must(w.plan(), 2, "(no longer by override loud)")
	w.must(w.apply(), 0)
	is := look()
	if is[0] != is[1] {
		t.Errorf("nodes with equal configuration differ:\n%s\n%s", is[0], is[1])
	}
	if !strings.Contains(is[0], "/etc/slipway-there 640 games games") || !strings.Contains(is[0], "enabled") {
		t.Errorf("what was there before did not return:\n%s", is[0])
	}
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
}

// TestFailedRefreshIsRolledBack updates a service whose file notifies a daemon that another service brings, and the daemon does not restart with the new
// file: the update is the one to be rolled back, diagnose names the daemon, and the daemon runs again.
func TestFailedRefreshIsRolledBack(t *testing.T) {
	t.Parallel()
	two := takeForTruth(t, 2)
	const unit = `[Service]
ExecStartPre=/bin/sh -c "! grep -q broken /etc/slipway-vhost"
ExecStart=/bin/sleep infinity
`
	onEach(t, two, fmt.Sprintf("printf %%s %s >/etc/systemd/system/slipway-daemon.service; systemctl daemon-reload", "'"+unit+"'"))
	t.Cleanup(func() {
		onEach(t, two, "systemctl stop slipway-daemon; rm /etc/systemd/system/slipway-daemon.service; systemctl daemon-reload")
	})
	w := newWorkspace(t, config{site: "vhost", nodes: two, more: []string{"daemon", "vhost"}, services: `
variable "release" {
  type    = string
  default = "first"
}
data "slipway_catalog" "site" { documents = [file("${path.module}/catalog.yaml")] }
resource "slipway_service" "daemon" {
  name          = "daemon"
  selectors     = []
  configuration = { service = { slipway-daemon = { ensure = "running" } } }
}
resource "slipway_service" "vhost" {
  name                = "vhost"
  selectors           = []
  entity              = data.slipway_catalog.site.entities.vhost
  attributes          = { name = "vhost", release = var.release }
  rollback_on_failure = true
}
`}.hcl(t))
	w.write("catalog.yaml", `
entities:
  vhost:
    identity: name
    attributes:
      name: string
      release: {type: string, modifier: rw+}
    tasks:
    - name: configuration
      config: {type: file, title: /etc/slipway-vhost, parameters: {content: "release ${self.release}\n", notify: ["service[slipway-daemon]"]}}
`)
	defer w.mustDestroy()
	w.must(w.apply(), 0)
	w.set("release", "broken")
	w.must(w.apply(), 1, `The update of the service "vhost" was rolled back`, "service[slipway-daemon] on "+two[0].Name)
	for i, got := range onEach(t, two, "cat /etc/slipway-vhost; systemctl is-active slipway-daemon || true") {
		if got != "release first\nactive\n" {
			t.Errorf("%s has %q after the rollback", two[i].Name, got)
		}
	}
	if out, err := w.companion("services", "diagnose", "vhost"); err != nil || !strings.Contains(string(out), "service[slipway-daemon]") {
		t.Errorf("diagnose: %v\n%s", err, out)
	}
	w.set("release", "first")
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")
}
