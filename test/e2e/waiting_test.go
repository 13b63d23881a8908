package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// leased is longer than the lease of a site lasts without a heartbeat.
const leased = 36 * time.Second

// TestApprovalFromASecondTerminal: a run that waits for an approval keeps the site for longer than a lease lasts, so
// that another apply is refused, and goes on when the companion approves.
func TestApprovalFromASecondTerminal(t *testing.T) {
	t.Parallel()
	two := takeForRolling(t, 2)
	w := newWorkspace(t, config{site: "terminal", nodes: two, groups: `
resource "slipway_group" "all" {
  name      = "all"
  critical  = true
  selectors = []
  rolling   = { batches = ["1"], approve = ["1"] }
}
`, groupList: []string{"all"}}.hcl(t))
	defer w.mustDestroy()
	w.must(w.plan(), 2, "all (critical): batch 1 of 2: 1 node ("+two[0].Name+"), then pause for approval")
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	p.until(two[0], "the first batch is at work", "test -e "+testFile)
	var id string
	await(t, "the run pauses", func() bool {
		for _, e := range w.events() {
			if before, run, found := strings.Cut(e.Message, "terraform-provider-slipway runs approve "); found &&
				strings.HasPrefix(before, "batch 1 of 2 is done and waits for approval") {
				id = run
			}
		}
		return id != ""
	})
	time.Sleep(leased)
	w.must(w.apply("-state=second.tfstate"), 1, "Another run is at work on the site", "held by run "+id)
	two[1].On(t, "! test -e "+testFile)
	if out, err := w.companion("runs", "approve", id, "--batch", "1", "--why", "it works"); err != nil {
		t.Errorf("runs approve: %v\n%s", err, out)
	}
	w.must(p.wait(), 0)
	w.assertStatus("deployed")
	two[1].On(t, "test -e "+testFile)
	if !slices.ContainsFunc(w.events(), func(e event) bool { return e.Kind == "decided" && strings.HasSuffix(e.Message, "it works") }) {
		t.Error("the journal does not say why the batch was approved")
	}
	w.must(w.plan(), 0, "No changes")
}

// TestMaintenanceWindow: outside of its maintenance window no node of a group is started: the run ends as paused, or
// waits until it opens. Inside, it works at once.
func TestMaintenanceWindow(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	w := newWorkspace(t, config{site: "window", nodes: []lab.Node{n}, groups: `
variable "window" { type = object({ start = string, end = string, timezone = string }) }
variable "approval" { default = "end" }
resource "slipway_group" "all" {
  name        = "all"
  critical    = true
  selectors   = []
  maintenance = var.window
}
`, groupList: []string{"all"}, extra: "approval = var.approval"}.hcl(t))
	open := func(from, to time.Time) {
		w.set("window", map[string]string{"start": from.UTC().Format("15:04"), "end": to.UTC().Format("15:04"), "timezone": "UTC"})
	}
	open(time.Now().Add(2*time.Hour), time.Now().Add(3*time.Hour))
	defer w.mustDestroy()
	w.must(w.plan(), 2, "started in daily", "UTC")
	w.must(w.apply(), 0, "The run is paused")
	if got := w.attributes().Status; got != "paused" {
		t.Errorf("outside of the window the status is %q", got)
	}
	n.On(t, "! test -e "+testFile)

	start := time.Now().Add(15 * time.Second).Truncate(time.Minute).Add(time.Minute)
	open(start, start.Add(time.Hour))
	w.set("approval", "wait")
	w.must(w.apply(), 0)
	w.assertStatus("deployed")
	var at int64
	if _, err := fmt.Sscan(n.On(t, "stat -c %Y "+testFile), &at); err != nil || at < start.Unix() {
		t.Errorf("the node was worked on at %s, and the window opens at %s: %v", time.Unix(at, 0), start, err)
	}

	w.set("content", "second")
	begun := time.Now()
	w.must(w.apply(), 0)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("inside of the window the run took %s", took)
	}
	w.must(w.plan(), 0, "No changes")
}

// TestLostBeforeItStarted: a session that a node hangs up on before anything started is tried again.
func TestLostBeforeItStarted(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	w := newWorkspace(t, config{site: "lost", nodes: []lab.Node{n}}.hcl(t))
	defer w.mustDestroy()
	w.must(w.apply(), 0)
	w.set("content", "second")
	w.must(w.plan("-out=plan.bin"), 2)
	// Instead of sshd, something greets and hangs up, until two seconds after it was first asked.
	n.On(t, `echo '$SIG{ALRM} = sub { exit }; $l = IO::Socket::INET->new(LocalPort => 22, Listen => 9, ReuseAddr => 1) or die;
while ($c = $l->accept) { alarm 2 if !$asked++; print $c "SSH-2.0-none\r\n"; close $c }' >/run/hangup.pl
systemctl stop ssh.socket 2>/dev/null; systemctl stop ssh &&
systemd-run -q sh -c "perl -MIO::Socket::INET /run/hangup.pl; rm /run/hangup.pl; systemctl start ssh" &&
timeout 20 sh -c "until ss -ltn | grep -q :22; do sleep 0.1; done"`)
	w.must(w.run("apply", "-input=false", "-no-color", "plan.bin"), 0)
	w.assertStatus("deployed")
	again := 0
	for _, e := range w.events() {
		if e.Node == n.Name && strings.Contains(e.Message, "was lost before it started anything, and is tried again in") {
			again++
		}
	}
	if again < 1 || again > 3 {
		t.Errorf("it was tried again %d times", again)
	}
	w.must(w.plan(), 0, "No changes")
}
