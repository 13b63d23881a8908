package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// shows checks that a plan prints exactly these steps of a run as new, in order, and these nodes as changed by it.
func (w *workspace) shows(r result, run int, changed []lab.Node, steps ...string) {
	w.t.Helper()
	w.must(r, 2)
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^ *(?:\+|~ ".*" ->) "(\d+\.\d+ .*)",?$`).FindAllStringSubmatch(r.out, -1) {
		got = append(got, m[1])
	}
	if len(got) != len(steps) {
		w.t.Fatalf("the plan shows %d steps, want %d:\n%s", len(got), len(steps), r.out)
	}
	for i, step := range steps {
		if want := fmt.Sprintf("%d.%d %s", run, i+1, step); got[i] != want {
			w.t.Fatalf("step %d is %q, want %q:\n%s", i+1, got[i], want, r.out)
		}
	}
	shown := regexp.MustCompile(fmt.Sprintf(`(?m)^ *[+~] "(node\d+)" += (?:\d+ -> )?%d$`, run)).FindAllStringSubmatch(r.out, -1)
	if len(shown) != len(changed) {
		w.t.Fatalf("the plan shows %d changed nodes, want %d:\n%s", len(shown), len(changed), r.out)
	}
	for _, n := range changed {
		w.must(r, 2, fmt.Sprintf("%q", n.Name))
	}
}

// empty checks that there is nothing to do, whichever way it is asked.
func (w *workspace) empty() {
	w.t.Helper()
	w.must(w.plan(), 0, "No changes")
	w.must(w.plan("-refresh=false"), 0, "No changes")
	w.must(w.run("plan", "-refresh-only", "-input=false", "-no-color"), 0, "No changes")
}

// TestPlanShowsTheWork is every plan that has the steps of the run before it, or nearly: all of them are printed, with the nodes.
func TestPlanShowsTheWork(t *testing.T) {
	t.Parallel()
	two := takeForSlow(t, 2)
	stays, other := two[0], two[1]
	w := newWorkspace(t, config{site: "shown", nodes: two, services: `
resource "slipway_service" "tree" {
  name          = "tree"
  selectors     = []
  configuration = { package = { tree = { ensure = "installed" } } }
}
` + slowService(), more: []string{"tree", "slow"}}.hcl(t))
	defer w.mustDestroy()
	on := func(n lab.Node) string { return "default (critical): prepare 1 node (" + n.Name + ")" }
	phase := func(n lab.Node, changes string) string {
		return "default (critical): node phase: " + strings.Replace(changes, " on it", " on node "+n.Name, 1)
	}
	for _, n := range two {
		n.On(t, "touch /run/slow-done")
	}
	w.must(w.apply(), 0)
	w.empty()

	run := 1
	for range 3 { // the same drift
		run++
		other.On(t, "echo by hand >"+testFile)
		w.shows(w.plan(), run, []lab.Node{other}, on(other), phase(other, "1 change on it: repair file["+testFile+"]"))
		w.must(w.apply(), 0)
		w.empty()
	}
	for range 2 { // reinstalled: ledger, package and file are gone
		run++
		other.Wipe(t)
		other.On(t, "touch /run/slow-done")
		r := w.plan()
		w.shows(r, run, []lab.Node{other}, on(other), phase(other, "3 changes on it: create file["+testFile+"], run exec[slow], create package[tree]"))
		if strings.Contains(r.out, `"`+stays.Name+`" =`) {
			t.Errorf("the plan shows %s, which stays as it is:\n%s", stays.Name, r.out)
		}
		w.must(w.apply(), 0)
		w.empty()
	}

	// A failed update: a directory with something in it is in the way.
	other.On(t, "rm "+testFile+" && mkdir -p "+testFile+"/in-the-way")
	failing := []string{on(other), phase(other, "1 change on it: repair file["+testFile+"]")}
	for range 2 {
		run++
		w.shows(w.plan(), run, []lab.Node{other}, failing...)
		w.must(w.apply(), 1)
		failing[1] = strings.Replace(failing[1], "repair", "update", 1)
		w.shows(w.plan("-refresh=false"), run+1, []lab.Node{other}, failing...)
	}
	other.On(t, "rm -r "+testFile)
	run++
	w.shows(w.plan(), run, []lab.Node{other}, failing...)
	w.must(w.apply(), 0)
	w.empty()

	// An interrupted run: its state is lost, or says so.
	w.set("content", "second")
	for _, n := range two {
		n.On(t, "rm /run/slow-done")
	}
	run++
	work := []string{"default (critical): prepare 2 nodes (" + strings.Join(sorted(stays.Name, other.Name), ", ") + ")",
		"default (critical): node phase: 4 changes on 2 nodes: update file[" + testFile + "] on 2, run exec[slow] on 2"}
	w.shows(w.plan(), run, two, work...)
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	for _, n := range two {
		p.untilSlow(n)
	}
	p.signal(syscall.SIGINT, p.pid())
	w.must(p.wait(), 1, "The run was interrupted")
	run++
	work[1] = "default (critical): node phase: 2 changes on 2 nodes: run exec[slow] on 2"
	for _, args := range [][]string{nil, {"-refresh=false"}} {
		w.shows(w.plan(args...), run, two, work...)
	}
	for _, n := range two {
		n.On(t, "touch /run/slow-done")
	}
	w.must(w.apply(), 0)
	w.empty()
}

// TestTaintedPlanShowsTheCreation fails a first apply: the plan says that the creation goes on, and shows all of it.
func TestTaintedPlanShowsTheCreation(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	w := newWorkspace(t, config{site: "tainted", nodes: two, services: `
resource "slipway_service" "deep" {
  name          = "deep"
  selectors     = []
  configuration = { file = { "/srv/deep/x" = { content = "x" } } }
}
`, more: []string{"deep"}}.hcl(t))
	defer w.mustDestroy()
	names := strings.Join(sorted(two[0].Name, two[1].Name), ", ")
	creation := []string{"default (critical): prepare 2 nodes (" + names + ")",
		"default (critical): node phase: 4 changes on 2 nodes: create file[/srv/deep/x] on 2, file[" + testFile + "] on 2"}
	w.must(w.apply(), 1)
	r := w.plan()
	w.must(r, 2, "is tainted, so", "must be replaced", "The creation of the site did not finish", "2 nodes are FAILED ("+names+")", "Nothing is torn down", "terraform untaint")
	w.shows(r, 1, two, creation...)
	for _, n := range two {
		n.On(t, "mkdir /srv/deep")
	}
	w.must(w.apply(), 0)
	for _, n := range two {
		if got := n.On(t, "cat "+testFile+" /srv/deep/x"); got != "firstx" {
			t.Errorf("%s has %q", n.Name, got)
		}
	}
	w.empty()
	for _, n := range two {
		n.On(t, "rm -r /srv/deep")
	}
}
