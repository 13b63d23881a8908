package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestCutOff loses a node to a power cut: it costs a warning and is work for the next apply. A node that does not answer when there is nothing to
// do is a warning too, and neither drift nor work.
func TestCutOff(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	w := newWorkspace(t, config{site: "cut", nodes: two, groups: `
resource "slipway_group" "compute" {
  name              = "compute"
  critical          = false
  selectors         = []
  success_criteria  = { percent_successful_nodes = 50 }
}
`, groupList: []string{"compute"}}.hcl(t))
	defer w.mustDestroy()

	two[1].Fail(t, "off")
	w.must(w.apply(), 0, "Warning", two[1].Name)
	w.assertStatus("degraded", two[1].Name)
	two[1].Heal(t)
	w.must(w.plan(), 2, "compute", two[1].Name)
	w.must(w.apply(), 0)
	w.must(w.plan(), 0)

	two[0].Fail(t, "link")
	r := w.must(w.plan(), 0, "1 of 2 nodes could not be checked", two[0].Name)
	if strings.Contains(r.out, "will be") {
		t.Errorf("the plan wants to change something:\n%s", r.out)
	}
	two[0].Heal(t)
	w.must(w.plan(), 0)
}

// TestNodesHangMidRun loses nodes while they work (execution.md 2.3 and 2.6): it is noticed in about 8 s, the others go on, what a lost node
// had reported counts and the rest is unknown.
func TestNodesHangMidRun(t *testing.T) {
	t.Parallel()
	four := takeForSlow(t, 4)
	w := newWorkspace(t, config{site: "midrun", nodes: four, groups: `
resource "slipway_group" "all" {
  name             = "all"
  critical         = true
  selectors        = []
  success_criteria = { minimum_successful_nodes = 2 }
}
`, groupList: []string{"all"}, services: slowService(), more: []string{"slow"}}.hcl(t))
	defer w.mustDestroy()
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	lost := map[string]string{four[0].Name: "hang", four[1].Name: "freeze"}
	for _, n := range four[:2] {
		p.untilSlow(n)
		n.Fail(t, lost[n.Name])
	}
	cut := time.Now()
	for _, n := range four[2:] {
		p.untilSlow(n)
		finish(t, n)
	}
	r := p.wait()
	for _, n := range four[:2] {
		n.Heal(t)
		n.On(t, "touch /run/slow-done")
	}
	w.must(r, 0, "Warning", four[0].Name, four[1].Name)
	w.assertStatus("degraded", sorted(four[0].Name, four[1].Name)...)

	ended := map[string]event{}
	for _, e := range w.events() {
		if e.Kind == "task_finished" && e.Resource != "" {
			ended[e.Node+" "+e.Resource] = e
		}
	}
	for _, n := range four {
		file, slow := ended[n.Name+" file["+testFile+"]"], ended[n.Name+" exec[slow]"]
		want := "changed"
		if lost[n.Name] != "" {
			want = "unknown"
		}
		// 8 s of silence, on a machine that is busy with all these tests.
		if file.Status != "changed" || slow.Status != want || slow.Time.Sub(cut) > 30*time.Second {
			t.Errorf("%s (%s): the file is %q, the slow command %q after %s", n.Name, lost[n.Name], file.Status, slow.Status, slow.Time.Sub(cut).Round(time.Second))
		}
	}
	// The lost helpers hold their nodes' locks until they know that their controller is gone.
	await(t, "the healed nodes are brought to their end", func() bool { return w.apply().status == 0 && w.attributes().Status == "deployed" })
	w.must(w.plan(), 0)
}
