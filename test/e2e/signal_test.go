package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// TestTerminated ends Terraform and its provider together with SIGTERM, as systemd, a container and a CI job do, in the middle of a create and of an
// update. What was reached is in the state, the site is free, and the next apply goes on.
func TestTerminated(t *testing.T) {
	t.Parallel()
	two := takeForSlow(t, 2)
	n := two[0] // the one at work when the signal comes: the group goes by name
	if n.Name > two[1].Name {
		n = two[1]
	}
	one := `
resource "slipway_group" "all" {
  name      = "all"
  critical  = true
  selectors = []
  rolling   = { max_parallel = 1 }
}
`
	without := config{site: "terminated", nodes: two, groups: one, groupList: []string{"all"}}
	with := without
	with.services, with.more = slowService(), []string{"slow"}
	w := newWorkspace(t, with.hcl(t))
	defer w.mustDestroy()
	all := func(command string) {
		t.Helper()
		for _, n := range two {
			n.On(t, command)
		}
	}
	terminate := func(t *testing.T) {
		t.Helper()
		p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
		p.untilSlow(n)
		p.signal(syscall.SIGTERM, -p.pid())
		await(t, "Terraform takes note of the signal", func() bool { return strings.Contains(p.output(), "Stopping operation") })
		n.On(t, "sleep 2") // for the provider, so that the command ends after the signal
		finish(t, n)
		w.must(p.wait(), 1, "The run was interrupted", "Apply again")
		w.assertStatus("interrupted")
	}

	terminate(t) // in the middle of the create
	w.must(w.plan(), 2)
	all("touch /run/slow-done")
	w.must(w.apply(), 0) // at once: the site is free
	w.must(w.plan(), 0)

	w.write("main.tf", without.hcl(t))
	w.must(w.apply(), 0)
	all("rm -f /run/slow-done")
	w.write("main.tf", with.hcl(t))
	terminate(t) // in the middle of an update
	all("touch /run/slow-done")
	w.must(w.apply(), 0)
	w.must(w.plan(), 0)
}

// TestKilledAndAppliedAgain kills Terraform and its provider: the next apply from the same machine does not wait for the dead run's lease.
func TestKilledAndAppliedAgain(t *testing.T) {
	t.Parallel()
	n := takeForSlow(t, 1)[0]
	w := newWorkspace(t, config{site: "again", nodes: []lab.Node{n}, services: slowService(), more: []string{"slow"}}.hcl(t))
	defer w.mustDestroy()
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	p.untilSlow(n)
	p.signal(syscall.SIGKILL, -p.pid())
	if r := p.wait(); r.status == 0 {
		t.Errorf("Terraform ended with status 0:\n%s", r.out)
	}
	await(t, "no provider is left", func() bool { return len(w.processes(t)) == 0 })
	until(t, n, "the slow command ends", `! pgrep -xf "`+slow+`"`)
	n.On(t, "touch /run/slow-done")
	started := time.Now()
	w.must(w.apply(), 0)
	if took := time.Since(started); took > 25*time.Second {
		t.Errorf("the apply after the kill took %s", took)
	}
	w.must(w.plan(), 0)
}
