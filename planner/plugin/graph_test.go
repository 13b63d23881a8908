package plugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// graphOf makes a plugin of lines such as `id requires=a,b groups=g`; `type=` is skipped by default.
func graphOf(name string, lines ...string) site.Plugin {
	p := site.Plugin{Name: name}
	for _, line := range lines {
		words := strings.Fields(line)
		t := site.GraphTask{ID: words[0], Type: Skipped}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			list := strings.Split(value, ",")
			switch key {
			case "requires":
				t.Requires = list
			case "required_for":
				t.RequiredFor = list
			case "groups":
				t.Groups = list
			case "tasks":
				t.Tasks = list
			case "role":
				t.Role = list
			case "type":
				t.Type = value
			}
		}
		p.GraphTasks = append(p.GraphTasks, t)
	}
	return p
}

func ids(g *Graph) string { return idsOf(g.Tasks()) }

func idsOf(tasks []site.GraphTask) string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.ID)
	}
	return strings.Join(out, " ")
}

func TestGraphOrder(t *testing.T) {
	tests := map[string]struct {
		plugins []site.Plugin
		want    string
	}{
		"as given":         {[]site.Plugin{graphOf("p", "c", "a", "b")}, "c a b"},
		"requires":         {[]site.Plugin{graphOf("p", "a requires=c", "b", "c")}, "b c a"},
		"required_for":     {[]site.Plugin{graphOf("p", "a", "b", "c required_for=a")}, "b c a"},
		"tasks of a group": {[]site.Plugin{graphOf("p", "g type=group tasks=b", "a", "b")}, "a b g"},
		"groups of a task": {[]site.Plugin{graphOf("p", "g type=group", "a groups=g")}, "a g"},
		"groups by pattern": {[]site.Plugin{graphOf("p", "ctl-a type=group", "ctl-b type=group",
			"a-ctl type=group", "a groups=/ctl/")}, "a-ctl a ctl-a ctl-b"},
		"the same edge twice": {[]site.Plugin{graphOf("p", "a requires=b,b", "b required_for=a")}, "b a"},
		"across plugins": {[]site.Plugin{graphOf("p", "a requires=b"), graphOf("q", "b", "c required_for=b")},
			"c b a"},
		"lowest first, not FIFO": {[]site.Plugin{graphOf("p", "z", "a requires=y", "b", "y requires=z")}, "z b y a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g, errs := NewGraph(tt.plugins)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if got := ids(g); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestGraphErrors(t *testing.T) {
	tests := map[string]struct {
		plugins []site.Plugin
		want    []string
	}{
		"unknown": {[]site.Plugin{graphOf("p", "web", "a requires=wbe required_for=ghost")}, []string{
			`plugin "p": graph_tasks[1].requires[0]: the task "a" requires "wbe", which does not exist; did you mean "web"?`,
			`plugin "p": graph_tasks[1].required_for[0]: the task "a" is required for "ghost", which does not exist; no plugin brings such a task`}},
		"unknown task of a group": {[]site.Plugin{graphOf("p", "g type=group tasks=ghost")}, []string{
			`plugin "p": graph_tasks[0].tasks[0]: the task "g" has the task "ghost", which does not exist; no plugin brings such a task`}},
		"unknown group": {[]site.Plugin{graphOf("p", "a groups=ghost")}, []string{
			`plugin "p": graph_tasks[0].groups[0]: the task "a" is a part of "ghost", which does not exist; no plugin brings such a task`}},
		"no group matches": {[]site.Plugin{graphOf("p", "g type=group", "a groups=/none/")}, []string{
			`plugin "p": graph_tasks[1].groups[0]: the task "a" is a part of "/none/", which does not exist; no plugin brings such a task`}},
		"one id in two plugins": {[]site.Plugin{graphOf("p", "a"), graphOf("q", "a")}, []string{
			`plugin "q": graph_tasks[0].id: the plugin "p" has a task "a" too; give each an id of its own`}},
		"one id twice in one plugin": {[]site.Plugin{graphOf("p", "a", "a")}, []string{
			`plugin "p": graph_tasks[1].id: another task of the plugin has the id "a"; give each an id of its own`}},
		"cycle, with what hangs on it": {[]site.Plugin{graphOf("p", "before", "x requires=c", "a requires=c,before",
			"b requires=a", "c requires=b", "after requires=x")}, []string{
			`plugin "p": graph_tasks[2].requires: tasks wait for each other: "a" before "b" before "c" before "a"; remove one of these relations`}},
		"two cycles": {[]site.Plugin{graphOf("p", "a requires=b", "b requires=a", "c requires=c")}, []string{
			`plugin "p": graph_tasks[0].requires: tasks wait for each other: "a" before "b" before "a"; remove one of these relations`,
			`plugin "p": graph_tasks[2].requires: tasks wait for each other: "c" before "c"; remove one of these relations`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g, errs := NewGraph(tt.plugins)
			if g != nil {
				t.Error("there is a graph")
			}
			if d := cmp.Diff(tt.want, strings.Split(errs.Error(), "\n")); d != "" {
				t.Error(d)
			}
		})
	}
	g, errs := NewGraph([]site.Plugin{graphOf("p", "b", "a groups=b")})
	if g == nil || len(errs) != 1 || !errs[0].Warning {
		t.Errorf("a pattern without groups gives %v", errs)
	}
}

func TestPart(t *testing.T) {
	g, errs := NewGraph([]site.Plugin{graphOf("p", "a", "b requires=a", "c requires=b", "d")})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, tt := range []struct{ start, end, want string }{
		{"", "", "a b c d"}, {"b", "", "b c"}, {"", "b", "a b"}, {"b", "b", "b"}, {"c", "a", ""},
	} {
		got, err := g.Part(tt.start, tt.end)
		if err != nil || idsOf(got) != tt.want {
			t.Errorf("from %q to %q: got %v, %v", tt.start, tt.end, got, err)
		}
	}
	if _, err := g.Part("", "ghost"); err == nil || !strings.Contains(err.Error(), `"ghost"`) {
		t.Errorf("got %v", err)
	}
}

func steps(waves [][]Member) string {
	var out []string
	for _, step := range waves {
		var names []string
		for _, m := range step {
			names = append(names, m.Group+":"+m.Node)
		}
		out = append(out, strings.Join(names, " "))
	}
	return strings.Join(out, " | ")
}

func TestWaves(t *testing.T) {
	group := func(id string, s site.Strategy, requires ...string) site.GraphTask {
		return site.GraphTask{ID: id, Type: Group, Strategy: s, Requires: requires}
	}
	one := site.Strategy{OneByOne: true}
	tests := map[string]struct {
		tasks   []site.GraphTask
		members map[string][]string
		want    string
	}{
		"one by one, by amount, together": {
			[]site.GraphTask{group("all", site.Strategy{}), group("two", site.Strategy{Amount: 2}), group("one", one)},
			map[string][]string{"all": {"a", "b"}, "two": {"c", "d", "e"}, "one": {"f", "g"}},
			"one:f | one:g | two:c two:d | two:e | all:a all:b",
		},
		"a node in three groups": {
			[]site.GraphTask{group("x", site.Strategy{}), group("y", site.Strategy{}), group("z", site.Strategy{})},
			map[string][]string{"x": {"a", "b"}, "y": {"a"}, "z": {"a", "b"}},
			"x:a x:b | y:a z:b | z:a",
		},
		"an order that goes through other tasks": {
			[]site.GraphTask{group("x", site.Strategy{}), {ID: "t", Type: Skipped, Requires: []string{"x"}},
				group("y", site.Strategy{}, "t")},
			map[string][]string{"y": {"b"}, "x": {"a"}}, "x:a | y:b",
		},
		"an order that goes through a group without nodes": {
			[]site.GraphTask{group("x", site.Strategy{}), group("none", site.Strategy{}, "x"),
				group("y", site.Strategy{}, "none")},
			map[string][]string{"y": {"b"}, "x": {"a"}}, "x:a | y:b",
		},
		"a group without nodes is done from the start": {
			[]site.GraphTask{group("x", site.Strategy{}), group("none", site.Strategy{}),
				group("y", site.Strategy{}, "none")},
			map[string][]string{"y": {"b"}, "x": {"a"}}, "x:a y:b",
		},
		"nothing": {[]site.GraphTask{group("x", one)}, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g, errs := NewGraph([]site.Plugin{{Name: "p", GraphTasks: tt.tasks}})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if got := steps(g.Waves(tt.members)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	g, errs := NewGraph([]site.Plugin{graphOf("p", "web type=group", "data type=group role=db,/cache/", "t")})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := g.Members([]site.Node{{Name: "b", Roles: []string{"web", "cache1"}}, {Name: "a", Roles: []string{"db"}}})
	if d := cmp.Diff(map[string][]string{"web": {"b"}, "data": {"a", "b"}}, got); d != "" {
		t.Error(d)
	}
}

func BenchmarkGraph(b *testing.B) {
	p := site.Plugin{Name: "p"}
	for i := range 10000 {
		t := site.GraphTask{ID: fmt.Sprint(i), Type: Skipped}
		for _, back := range []int{1, 7, 100} {
			if i >= back {
				t.Requires = append(t.Requires, fmt.Sprint(i-back))
			}
		}
		p.GraphTasks = append(p.GraphTasks, t)
	}
	b.ReportAllocs()
	for b.Loop() {
		if g, errs := NewGraph([]site.Plugin{p}); len(errs) > 0 || len(g.Tasks()) != len(p.GraphTasks) {
			b.Fatal(errs)
		}
	}
}

// fuels makes a plugin of [graphOf] one of Fuel, whose tasks may name tasks that no plugin brings.
func fuels(name string, lines ...string) site.Plugin {
	p := graphOf(name, lines...)
	p.AllowUnknownTasks = true
	return p
}

func TestGraphOfFuel(t *testing.T) {
	tests := map[string]struct {
		plugins  []site.Plugin
		want     string
		warnings []string
	}{
		"unknown tasks": {[]site.Plugin{fuels("p", "c requires=x,b", "b required_for=x", "g type=group tasks=x")}, "b c g", []string{
			`plugin "p": graph_tasks[0].requires[0]: no plugin brings the task "x"; what names it orders nothing: requires of "c", required_for of "b", tasks of "g"`}},
		"a misspelt one": {[]site.Plugin{fuels("p", "web", "a requires=wbe")}, "web a", []string{
			`plugin "p": graph_tasks[1].requires[0]: no plugin brings the task "wbe"; did you mean "web"?; what names it orders nothing: requires of "a"`}},
		"another plugin brings it": {[]site.Plugin{fuels("p", "a requires=x"), graphOf("q", "x")}, "x a", nil},
		"an unknown group": {[]site.Plugin{fuels("p", "a groups=web")}, "a", []string{
			`plugin "p": graph_tasks[0].groups[0]: no plugin brings the group "web"; it stands for the nodes with that role: groups of "a"`}},
		"expressions": {[]site.Plugin{graphOf("p", "c requires=/a|b/", "a required_for=/.*/", "b")}, "a b c", nil},
		"a task and its own group": {[]site.Plugin{fuels("p", "g type=group", "a groups=g requires=g")}, "a g", []string{
			`plugin "p": graph_tasks[1].requires[0]: what the task "a" says of a group would make tasks wait for each other: it orders nothing, as in Fuel since version 9`}},
		"types that do nothing": {[]site.Plugin{fuels("p", "b requires=a", "a type=upload_file")}, "a b", []string{
			`plugin "p": graph_tasks[1].type: the task "a" has the type upload_file, which slipway does not carry out: it only keeps its place in the order`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g, errs := NewGraph(tt.plugins)
			if len(errs.Errors()) > 0 {
				t.Fatal(errs)
			}
			if got := ids(g); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			var warnings []string
			for _, w := range errs {
				warnings = append(warnings, w.Error())
			}
			if d := cmp.Diff(tt.warnings, warnings); d != "" {
				t.Error(d)
			}
		})
	}
	for name, p := range map[string]site.Plugin{
		"a cycle of tasks":   fuels("p", "a requires=b", "b requires=a"),
		"of groups":          fuels("p", "a type=group requires=b", "b type=group requires=a"),
		"not one of Fuel":    graphOf("p", "g type=group", "a groups=g requires=g"),
		"a bad expression":   fuels("p", "a requires=/(/"),
		"an id of two of it": {Name: "p", AllowUnknownTasks: true, GraphTasks: []site.GraphTask{{ID: "a", Type: Skipped}, {ID: "a", Type: Skipped}}},
	} {
		if _, errs := NewGraph([]site.Plugin{p}); len(errs.Errors()) == 0 {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A task of Fuel runs on the nodes with the roles of groups that no plugin brings, and its own strategy bounds it.
func TestNodesOfUnknownGroups(t *testing.T) {
	p := site.Plugin{Name: "p", AllowUnknownTasks: true, GraphTasks: []site.GraphTask{
		doing("a", nil, nil, nil, []string{"primary-web", "/web$/", "lb"}), {ID: "lb", Type: Group},
		doing("b", []string{"db"}, nil, nil, []string{"primary-web"})}}
	p.GraphTasks[0].Strategy = site.Strategy{Amount: 2}
	g, errs := NewGraph([]site.Plugin{p})
	if len(errs.Errors()) > 0 {
		t.Fatal(errs)
	}
	works, _ := g.On([]site.Node{{Name: "n1", Roles: []string{"primary-web"}}, {Name: "n2", Roles: []string{"web"}},
		{Name: "n3", Roles: []string{"db"}}, {Name: "n4", Roles: []string{"lb"}}})
	var got []string
	for _, w := range works {
		got = append(got, fmt.Sprint(w.Task.ID, w.Nodes, w.Limit))
	}
	if d := cmp.Diff([]string{"a[n1 n2 n4] 2", "b[n3] 0"}, got); d != "" {
		t.Error(d)
	}
}
