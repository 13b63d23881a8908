package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// TestTwoDeploymentsTakeTurnsOnANode applies two deployments over one node at once, each with 9 s of work: the second one waits for the first.
func TestTwoDeploymentsTakeTurnsOnANode(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)
	service := func(name string) string {
		return fmt.Sprintf(`
resource "slipway_service" %q {
  name          = %[1]q
  selectors     = []
  configuration = { exec = { %[1]q = { command = "echo start >>/run/slipway-turns; sleep 9; echo end >>/run/slipway-turns" } } }
}
`, name)
	}
	w := newWorkspace(t, config{site: "turn-one", nodes: n, services: service("one") + service("two"), more: []string{"one"}}.hcl(t)+`
resource "slipway_deployment" "other" {
  site     = "turn-two"
  nodes    = slipway_node.this
  services = [slipway_service.two]
}
`)
	t.Cleanup(func() { n[0].On(t, "rm -f /run/slipway-turns") })
	defer w.mustDestroy()
	w.must(w.apply(), 0)
	if got := n[0].On(t, "cat /run/slipway-turns"); got != "start\nend\nstart\nend\n" {
		t.Errorf("the two did not take turns: %q", got)
	}
	w.must(w.plan(), 0)
}

// TestABusyNodeIsWaitedForWithinTheTimeLimit names who holds the node, and how long it was waited for it.
func TestABusyNodeIsWaitedForWithinTheTimeLimit(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)
	w := newWorkspace(t, config{site: "busy", nodes: n, groups: `
resource "slipway_group" "all" {
  name            = "all"
  critical        = true
  selectors       = []
  prepare_timeout = "15s"

  success_criteria = { percent_successful_nodes = 100 }
}
`, groupList: []string{"all"}}.hcl(t))
	n[0].On(t, `mkdir -m 700 /var/lib/slipway && cd /var/lib/slipway && echo 'site "lon2", run "r9"' >lock && chmod 600 lock && (setsid flock lock sleep 300.25 >/dev/null 2>&1 </dev/null &)`)
	r := w.apply()
	n[0].On(t, `pkill -xf "sleep 300.25"; rm -r /var/lib/slipway`)
	w.must(r, 1)
	for _, want := range []string{"the time limit of 15s", "another session", `site "lon2"`} {
		if !strings.Contains(unwrapped(r.out), want) {
			t.Errorf("no %q in: %s", want, unwrapped(r.out))
		}
	}
	w.must(w.apply(), 0)
	w.mustDestroy()
}

// TestAKilledHelperEndsItsCommand kills the helper during a command, alone and with the process that supervises the command:
// what the command started ends, also in a session of its own, at once or before the next session works. What an earlier
// command left running, and what systemd started, lives on.
func TestAKilledHelperEndsItsCommand(t *testing.T) {
	t.Parallel()
	n := takeForSlow(t, 1)[0]
	const left, started, child = "sleep 241.25", "sleep 242.25", "sleep 243.25"
	t.Cleanup(func() { n.On(t, fmt.Sprintf(`pkill -xf "%s"; pkill -xf "(/usr)?(/bin/)?%s"; true`, left, started)) })
	for name, kill := range map[string]func(){
		"helper":     func() { n.On(t, "pkill -KILL -f /var/lib/slipway/[h]elper-") },
		"supervisor": func() { killAll(t, n) },
	} {
		w := newWorkspace(t, config{site: "helper", nodes: []lab.Node{n}, services: fmt.Sprintf(`
resource "slipway_service" "slow" {
  name      = "slow"
  selectors = []
  configuration = { exec = {
    leave = { command = "setsid %s >/dev/null 2>&1 & systemd-run --quiet %s", before = ["exec[slow]"] }
    slow  = { command = "setsid %s & %s; touch /run/slow-done", creates = "/run/slow-done" }
  } }
}
`, left, started, child, slow), more: []string{"slow"}}.hcl(t))
		p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
		p.untilSlow(n)
		kill()
		if r := p.wait(); r.status == 0 {
			t.Errorf("%s: Terraform ended with status 0:\n%s", name, r.out)
		}
		if name == "helper" {
			until(t, n, "the command ends", `! pgrep -xf "`+slow+`"`)
			until(t, n, "what it started ends", `! pgrep -xf "`+child+`"`)
		}
		n.On(t, "touch /run/slow-done")
		w.must(w.apply(), 0)
		if got := n.On(t, fmt.Sprintf(`pgrep -cxf "%s|%s"; pgrep -cxf "%s"; pgrep -cf "[s]leep 242.25"`, child, slow, left)); got != "0\n1\n1\n" {
			t.Errorf("%s: what the command, an earlier one and systemd started runs %q times, want 0, 1, 1", name, got)
		}
		w.must(w.plan(), 0)
		w.mustDestroy()
		n.On(t, fmt.Sprintf(`rm /run/slow-done; pkill -xf "%s"; pkill -xf "(/usr)?(/bin/)?%s"; true`, left, started))
	}
}
