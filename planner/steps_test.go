package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// A step lists what it does in the order of execution, and cuts only what is of a kind that it shows.
func TestStepsAreInOrder(t *testing.T) {
	files := titles{}
	for i := range 14 {
		files[fmt.Sprintf("/srv/%02d", i)] = params{"content": "x"}
	}
	files["/a"] = params{"content": "x", "require": []any{"user[zed]"}}
	s := site.Site{
		Name: "s", Nodes: []site.Node{{Name: "a"}, {Name: "b", Tags: []string{"t"}}},
		Services: []site.Service{
			{Name: "files", Configuration: conf{"file": files,
				"user":    titles{"zed": {"require": []any{"package[tree]"}}},
				"package": titles{"tree": {"ensure": "installed"}}}},
			{Name: "last", Selectors: site.Selectors{{NodeTags: []string{"t"}}}, Configuration: conf{
				"sysctl": titles{"vm.swappiness": {"value": "1", "require": []any{"file[/a]"}}},
				"host":   titles{"db": {"ip": "192.0.2.7", "require": []any{"sysctl[vm.swappiness]"}}},
			}},
		},
	}
	p := mustMake(t, s, nil, nil)
	want := "2. default (critical): node phase: 36 changes on 2 nodes: create file[/srv/00] on 2, file[/srv/01] on 2, file[/srv/02] on 2, file[/srv/03] on 2, file[/srv/04] on 2, " +
		"file[/srv/05] on 2, file[/srv/06] on 2, file[/srv/07] on 2, file[/srv/08] on 2, file[/srv/09] on 2, file[/srv/10] on 2, file[/srv/11] on 2, " +
		"package[tree] on 2, user[zed] on 2, sysctl[vm.swappiness] on b, host[db] on b and 3 more (create 3 file)"
	if d := cmp.Diff(want, p.Steps()[1]); d != "" {
		t.Error(d)
	}
}

// A rolling group shows the order of its nodes, those that need no lock last. Only an order changes the digest.
func TestStepsShowTheOrderOfNodes(t *testing.T) {
	s := site.Site{
		Name: "s", Nodes: []site.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Services: []site.Service{{Name: "files", Configuration: conf{"file": titles{"/a": params{"content": "x"}}}}},
	}
	applied := planner.Applied{"a": {"file[/a]": "old"}, "b": {"file[/a]": "old"}}
	digests := make(map[string]bool)
	for order, want := range map[string]string{
		"":      "1 node at a time between lock and unlock, 1 new node (c) without: 3",
		"b * a": "1 node at a time between lock and unlock, 1 new node (c) without, in the order b, a, c: 3",
		"c a b": "1 node at a time between lock and unlock, 1 new node (c) without, in the order a, b, c: 3",
	} {
		s.Groups = []site.Group{{Name: "g", Rolling: &site.Rolling{MaxParallel: 1, Lock: "l", Unlock: "u", SpareNew: true,
			NodeOrder: strings.Fields(order)}}}
		p := mustMake(t, s, applied, nil)
		if !strings.HasPrefix(p.Steps()[1], "2. g: node phase, "+want) {
			t.Errorf("%q: got %s", order, p.Steps()[1])
		}
		digests[p.Digest] = true
	}
	if len(digests) != 3 {
		t.Errorf("got %d digests", len(digests))
	}
}

// Many groups in a row that do the same share a line, which has the names of all of them. A group that does something
// else, or does it otherwise, has lines of its own.
func TestStepsOfGroupsThatDoTheSame(t *testing.T) {
	s := site.Site{Name: "s", Services: []site.Service{
		{Name: "files", Configuration: conf{"file": titles{"/a": params{"content": "x"}}}},
		{Name: "more", Selectors: site.Selectors{{NodeNames: []string{"e1"}}},
			Configuration: conf{"file": titles{"/b": params{"content": "x"}}}},
	}}
	for _, g := range strings.Split("abcdefghijklmno", "") {
		tag := g
		if g == "a" {
			g = strings.Repeat("a", 50)
		}
		group := site.Group{Name: g, Critical: true, Selectors: site.Selectors{{NodeTags: []string{tag}}}}
		switch g {
		case "j":
			group.Critical = false
		case "k", "l", "m", "n":
			group.Rolling = &site.Rolling{MaxParallel: 1, Lock: "l", Unlock: "u"}
		}
		s.Groups = append(s.Groups, group)
		for i := 1; i <= 2+int(g[0])%2; i++ {
			s.Nodes = append(s.Nodes, site.Node{Name: tag + fmt.Sprint(i), Tags: []string{tag}})
		}
	}
	want := []string{
		"1. " + strings.Repeat("a", 50) + ", b, c, d (critical), each by itself: prepare 10 nodes (a1, a2, a3, b1, b2, c1, c2, c3 and 2 more); then node phase: 10 changes on 10 nodes: create file[/a] on 10",
		"2. e (critical): prepare 3 nodes (e1, e2, e3)",
		"3. e (critical): node phase: 4 changes on 3 nodes: create file[/a] on 3, file[/b] on e1",
		"4. f, g, h, i (critical), each by itself: prepare 10 nodes (f1, f2, g1, g2, g3, h1, h2, i1 and 2 more); then node phase: 10 changes on 10 nodes: create file[/a] on 10",
		"5. j: prepare 2 nodes (j1, j2)",
		"6. j: node phase: 2 changes on 2 nodes: create file[/a] on 2",
		"7. k, l, m, n (critical), each by itself: prepare 10 nodes (k1, k2, k3, l1, l2, m1, m2, m3 and 2 more); then node phase, 1 node at a time between lock and unlock: 10 changes on 10 nodes: create file[/a] on 10",
		"8. o (critical): prepare 3 nodes (o1, o2, o3)",
		"9. o (critical): node phase: 3 changes on 3 nodes: create file[/a] on 3",
	}
	p := mustMake(t, s, nil, nil)
	if d := cmp.Diff(want, p.Steps()); d != "" {
		t.Error(d)
	}
	var three []string // the first three of them
	part := p.Part(func(t task.Task) bool { return t.Node < "d" })
	for _, line := range part.Lines() {
		three = append(three, line[:strings.Index(line, ":")])
	}
	if d := cmp.Diff(strings.Fields("a a b b c c"), three, cmp.Transformer("", func(s string) string { return s[:1] })); d != "" {
		t.Errorf("three groups: %s", d)
	}
}

// A command is run, not created, updated or repaired; one that only a notification runs is refreshed where something
// notifies it, or did so before a run ended, and recorded where nothing does. Neither is a change of its own.
func TestStepsOfCommands(t *testing.T) {
	s := site.Site{
		Name: "s", Nodes: []site.Node{{Name: "a"}},
		Services: []site.Service{{Name: "commands", Configuration: conf{
			"exec": titles{"init": params{}, "load": params{"refreshonly": true}, "look": params{"noop": true}},
			"file": titles{"/a": params{"content": "x", "notify": []any{"exec[load]"}}},
		}}},
	}
	of := func(init, load, look, file string) planner.Applied {
		return planner.Applied{"a": {"exec[init]": init, "exec[load]": load, "exec[look]": look, "file[/a]": file}}
	}
	now, errs := planner.AppliedAfter(s)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	is := now["a"]
	for name, tt := range map[string]struct {
		applied planner.Applied
		drift   []resource.ID
		want    string
	}{
		"all are new":      {nil, nil, "2 changes on node a: run exec[init], check exec[look] (noop), create file[/a], refresh exec[load]"},
		"one has changed":  {of("old", is["exec[load]"], is["exec[look]"], is["file[/a]"]), nil, "1 change on node a: run exec[init]"},
		"one has drifted":  {now, []resource.ID{"exec[init]"}, "1 change on node a: run exec[init]"},
		"one is notified":  {of(is["exec[init]"], is["exec[load]"], is["exec[look]"], "old"), nil, "1 change on node a: update file[/a], refresh exec[load]"},
		"one is otherwise": {of(is["exec[init]"], "old", is["exec[look]"], is["file[/a]"]), nil, "record exec[load] (only a notification runs it) on node a"},
		"one was notified": {of(is["exec[init]"], "", is["exec[look]"], is["file[/a]"]), nil, "refresh exec[load] on node a"},
		"one is new":       {planner.Applied{"a": {"exec[init]": is["exec[init]"], "exec[look]": is["exec[look]"], "file[/a]": is["file[/a]"]}}, nil, "record exec[load] (only a notification runs it) on node a"},
	} {
		steps := mustMake(t, s, tt.applied, planner.Drift{"a": tt.drift}).Steps()
		if got := steps[len(steps)-1]; !strings.HasSuffix(got, "node phase: "+tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	delete(s.Services[0].Configuration["exec"], "init")
	if steps := mustMake(t, s, now, nil).Steps(); !strings.HasSuffix(steps[1], "1 change on node a: remove exec[init]") {
		t.Errorf("a command that goes: %s", steps)
	}
}
