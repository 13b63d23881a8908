package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// losing is a plan that tears some nodes of a site down and removes a resource on others, and what was applied before.
func losing(nodes, torn, removed int) planner.Losses {
	applied := planner.Applied{planner.Controller: {"callback[x]": "1"}, "empty": {}}
	cleanup, removing := planner.Phase{TaskGroup: task.Cleanup}, planner.Phase{TaskGroup: task.Node, Group: "g"}
	for i := range nodes {
		node := fmt.Sprintf("n%04d", i)
		applied[node] = map[resource.ID]string{"file[/etc/a]": "1", "file[/etc/b]": "1", "shell[p/1]": "1",
			task.LeftLocked: ""}
		switch {
		case i < torn:
			cleanup.Tasks = append(cleanup.Tasks, task.Task{Node: node, Group: task.Cleanup, Action: task.Forget})
		case i < torn+removed:
			removing.Tasks = append(removing.Tasks,
				task.Task{Node: node, Action: task.Remove, Resource: resource.Resource{Type: "file", Title: "/etc/b"}},
				task.Task{Node: node, Action: task.Remove, Resource: resource.Resource{Type: "shell", Title: "p/1"}},
				task.Task{Node: node, Action: task.Update, Resource: resource.Resource{Type: "file", Title: "/etc/a"}})
		}
	}
	p := &planner.Plan{Phases: []planner.Phase{removing, cleanup}}
	return p.Losses(applied, nil)
}

func TestLosses(t *testing.T) {
	l := losing(10, 2, 3)
	if got, want := l.String(), "tears down 2 nodes: n0000, n0001; removes 3 resources on 3 nodes"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	want := "n0000: undoes 2 resources: file[/etc/b], file[/etc/a]\nn0001: undoes 2 resources: file[/etc/b], file[/etc/a]\n" +
		"n0002: removes 1 resource: file[/etc/b]\nn0003: removes 1 resource: file[/etc/b]\nn0004: removes 1 resource: file[/etc/b]"
	if got := strings.Join(l.ByNode(), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !losing(3, 0, 0).Empty() {
		t.Error("a plan that changes nothing takes something away")
	}
	many := losing(1000, 500, 500)
	if lines := many.ByNode(); len(lines) != 21 || lines[20] != "and 980 more nodes" {
		t.Errorf("%d lines: %q", len(lines), lines[len(lines)-1])
	}
	gone := planner.Destroyed(planner.Applied{"b": {"file[/etc/a]": ""}, "a": {"file[/etc/a]": "", "file[/etc/b]": ""},
		"empty": {}, planner.Controller: {"callback[x]": ""}})
	if got, want := gone.Undone(), "undoes 3 resources on 2 nodes"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A node whose ledger could not be read counts, and what is undone there is not made up.
func TestLossesOfUnreadLedgers(t *testing.T) {
	applied := planner.Applied{"a": {"file[/etc/a]": "1"}, "b": {task.UnknownLedger: ""}}
	l := planner.Destroyed(applied)
	if l.Nodes != 2 {
		t.Errorf("%d nodes, want 2", l.Nodes)
	}
	want := "a: undoes 1 resource: file[/etc/a]\nb: undoes what its ledger says, which is not known"
	if got := strings.Join(l.ByNode(), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := l.Undone(), "undoes 1 resource on node a, and undoes what is not known on 1 node: b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	l.Silent = []string{"b"}
	if got, want := l.ByNode()[1], "b: undoes what its ledger says, which is not known, if it answers, else it stays there"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A node that is known not to answer is not promised to be undone.
func TestSilentLosses(t *testing.T) {
	l := planner.Destroyed(planner.Applied{"a": {"file[/etc/a]": "1"}, "b": {"file[/etc/a]": "1"}, "c": {"file[/etc/a]": "1"}})
	l.Silent = []string{"b", "d"}
	if got, want := l.Undone(), "undoes 2 resources on 2 nodes, and forgets 1 node unless it answers: b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := "a: undoes 1 resource: file[/etc/a]\nb: undoes 1 resource if it answers, else it stays there: file[/etc/a]\n" +
		"c: undoes 1 resource: file[/etc/a]"
	if got := strings.Join(l.ByNode(), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	l.Silent = []string{"a", "b", "c"}
	if got, want := l.Undone(), "forgets 3 nodes unless they answer: a, b, c"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A machine that may be a node at its new address is one machine with that node, and no loss.
func TestUnsureLosses(t *testing.T) {
	applied := planner.Applied{}
	cleanup := planner.Phase{TaskGroup: task.Cleanup}
	for _, node := range []string{"a", "a.old", "b", "b.old", "c", "d"} {
		applied[node] = map[resource.ID]string{"file[/etc/a]": "1"}
	}
	for _, node := range []string{"a.old", "b.old", "d"} {
		cleanup.Tasks = append(cleanup.Tasks, task.Task{Node: node, Group: task.Cleanup, Action: task.Forget})
	}
	l := (&planner.Plan{Phases: []planner.Phase{cleanup}}).Losses(applied, map[string]string{"a.old": "a", "b.old": "b"})
	if got, want := l.String(), "tears down 1 node: d; may tear down 2 nodes: a.old, b.old"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := l.ByNode()[0]; got != `a.old: undoes 1 resource unless it is node "a" at its new address: file[/etc/a]` {
		t.Error(got)
	}
	if errs := (planner.Protection{}).Check(l); len(errs) > 0 {
		t.Error(errs)
	}
	if got := (planner.Protection{TornDown: "0"}).Check(l).Error(); !strings.Contains(got, "tears down 1 of 4 nodes: d;") {
		t.Error(got)
	}
}

// The remedies of two limits do not exclude each other, and leave what else protect has.
func TestRemediesOfProtection(t *testing.T) {
	none := int64(0)
	l := losing(10, 4, 2)
	for want, p := range map[string]planner.Protection{
		"write protect = { max_torn_down_nodes = 4 } for this apply": {},
		"set max_torn_down_nodes = 4 in protect for this apply":      {Given: true, Removed: &none},
		"add --max-torn-down-nodes 4 for this apply":                 {Flag: true},
	} {
		if got := p.Check(l).Error(); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	got := planner.Protection{Given: true, Removed: &none}.Check(l).Error()
	if !strings.Contains(got, "set max_removed_resources = 2 in protect for this apply") || strings.Contains(got, "{") {
		t.Error(got)
	}
	if got := (planner.Protection{Given: true}).CheckReplacement(l).Error(); !strings.Contains(got, "set max_torn_down_nodes = 4 in protect") {
		t.Error(got)
	}
}

func TestProtection(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		nodes, torn, removed int
		limit                planner.Protection
		refused              string
	}{
		{2, 1, 0, planner.Protection{}, ""},
		{2, 2, 0, planner.Protection{}, "tears down 2 of 2 nodes: n0000, n0001; without protect.max_torn_down_nodes"},
		{19, 2, 0, planner.Protection{}, "tears down 2 of 19 nodes"},
		{20, 2, 0, planner.Protection{}, ""},
		{29, 3, 0, planner.Protection{}, "tears down 3 of 29 nodes"},
		{30, 3, 0, planner.Protection{}, ""},
		{1000, 101, 0, planner.Protection{}, "write protect = { max_torn_down_nodes = 101 }"},
		{10, 1, 0, planner.Protection{TornDown: "0"}, "max_torn_down_nodes is 0"},
		{10, 10, 0, planner.Protection{TornDown: "10"}, ""},
		{10, 10, 0, planner.Protection{TornDown: "100%"}, ""},
		{10, 4, 0, planner.Protection{TornDown: "35%"}, "max_torn_down_nodes is 35%"},
		{10, 3, 0, planner.Protection{TornDown: "35%"}, ""},
		{10, 0, 10, planner.Protection{}, ""},
		{10, 0, 4, planner.Protection{Removed: at(4)}, ""},
		{10, 0, 5, planner.Protection{Removed: at(4)},
			"removes 5 resources on 5 nodes: file[/etc/b]; protect.max_removed_resources is 4"},
		{10, 1, 0, planner.Protection{Removed: at(0)}, ""}, // what a tear-down undoes is counted by nodes
	} {
		errs := c.limit.Check(losing(c.nodes, c.torn, c.removed))
		if got := errs.Error(); (c.refused == "") != (got == "") || !strings.Contains(got, c.refused) {
			t.Errorf("%d nodes, %d torn down, %d removed, %+v: %q, want %q", c.nodes, c.torn, c.removed, c.limit, got,
				c.refused)
		}
	}
}

// Steps and losses list removals in one order: what lies below a mount before that, and the mount before its directory.
func TestRemovalsHaveOneOrder(t *testing.T) {
	applied := planner.Applied{"a": {"file[/mnt/b]": "1", "mount[/mnt/b]": "1", "file[/mnt/b/f]": "1", "file[/mnt/b/new]": "1",
		"file[/etc/f1]": "1", "file[/etc/f12]": "1", "file[/etc/f2]": "1"}}
	p, errs := planner.Make(site.Site{Name: "s", Nodes: []site.Node{{Name: "a"}}}, applied, nil)
	if len(errs.Errors()) > 0 {
		t.Fatal(errs)
	}
	want := "file[/mnt/b/new], file[/mnt/b/f], mount[/mnt/b], file[/mnt/b], file[/etc/f2], file[/etc/f12], file[/etc/f1]"
	if got := strings.Join(p.Lines(), "\n"); !strings.Contains(got, "remove "+want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	if got := p.Losses(applied, nil).ByNode()[0]; got != "a: removes 7 resources: "+want {
		t.Error(got)
	}
}
