package conformance

import (
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// replayGraph plans a site with the graph tasks, which finds what is wrong, and looks at what the companion's order tells: their order, a part of them, or
// the waves of groups.
func replayGraph(t testing.TB, f *file, v *vector) {
	v.inputs(t, "tasks", "start", "end", "nodes")
	var tasks []site.GraphTask
	node := v.keys["tasks"]
	if node.Kind == yaml.ScalarNode {
		node = named(t, f, v, "tasks", "graph_tasks")
	}
	for _, item := range strictly[[]struct {
		ID, Type, Strategy      string
		Amount                  int
		Requires, Groups, Tasks []string
		RequiredFor             []string `yaml:"required_for"`
	}](t, node) {
		g := site.GraphTask{ID: item.ID, Type: item.Type, Requires: item.Requires, RequiredFor: item.RequiredFor, Groups: item.Groups, Tasks: item.Tasks,
			Strategy: site.Strategy{OneByOne: item.Strategy == "one_by_one", Amount: item.Amount}}
		switch g.Type { // what the vectors leave out
		case "":
			g.Type = plugin.Skipped
		case plugin.Shell:
			g.Parameters = site.Parameters{"cmd": "true", "timeout": int64(1)}
		case plugin.Puppet:
			g.Parameters = site.Parameters{"puppet_manifest": "/srv/site.pp", "puppet_modules": "/srv/modules", "timeout": int64(1)}
		}
		tasks = append(tasks, g)
	}
	made := []site.Plugin{{Name: "vectors", GraphTasks: tasks}}
	_, errs := planner.Make(site.Site{Name: "vectors", Nodes: []site.Node{{Name: "n", Roles: []string{"any"}}}, Plugins: made}, nil, nil)
	graph, _ := plugin.NewGraph(made)
	var start, end string
	v.into(t, "start", &start)
	v.into(t, "end", &end)
	if expect := v.keys["expect"]; expect.Kind == yaml.MappingNode {
		if graph != nil && start+end != "" {
			if _, err := graph.Part(start, end); err != nil {
				errs = invalid.Errors{{Object: "part", Code: plugin.UnknownTask, Message: err.Error()}}
			}
		}
		want := expectations(t, expect, "error", "unknown", "users")
		found := expectError(t, orNil(errs), decode[string](t, want["error"]))
		for _, key := range []string{"unknown", "users"} {
			for _, name := range decode[[]string](t, want[key]) {
				if !names(found, name) {
					t.Errorf("want %q named in %v", name, found)
				}
			}
		}
		return
	}
	if failures := errs.Errors(); len(failures) > 0 {
		t.Fatal(failures)
	}
	checked := false
	if v.has("expect") {
		checked = true
		got, err := graph.Part(start, end)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tasks", slices.Sorted(slices.Values(idsOf(got))), slices.Sorted(slices.Values(decode[[]string](t, v.keys["expect"]))))
	}
	if v.has("expect_order") {
		checked = true
		same(t, "order", idsOf(graph.Tasks()), decode[[]string](t, v.keys["expect_order"]))
	}
	if v.has("nodes") {
		checked = replayWaves(t, v, graph)
	}
	if !checked {
		t.Fatal("the vector expects nothing")
	}
}

func idsOf(tasks []site.GraphTask) []string {
	ids := make([]string, len(tasks))
	for i, task := range tasks {
		ids[i] = task.ID
	}
	return ids
}

// turn is when a node has its turn in a group; the vectors count the steps 100, 200, 300.
type turn struct {
	node, group string
	priority    int
}

func replayWaves(t testing.TB, v *vector, graph *plugin.Graph) (checked bool) {
	t.Helper()
	members := map[string][]string{}
	for _, pair := range decode[[][]string](t, v.keys["nodes"]) {
		members[pair[1]] = append(members[pair[1]], pair[0])
	}
	got := map[turn]bool{}
	byNode := map[string][]int{}
	for i, step := range graph.Waves(members) {
		for _, m := range step {
			priority := 100 * (i + 1)
			got[turn{m.Node, m.Group, priority}] = true
			if !slices.Contains(byNode[m.Node], priority) {
				byNode[m.Node] = append(byNode[m.Node], priority)
			}
		}
	}
	if v.has("expect_priority") {
		checked = true
		want := map[turn]bool{}
		for _, row := range decode[[][]yaml.Node](t, v.keys["expect_priority"]) {
			want[turn{row[0].Value, row[1].Value, decode[int](t, row[2])}] = true
		}
		same(t, "priorities", got, want)
	}
	if v.has("expect_priority_set") {
		checked = true
		want := decode[map[string][]int](t, v.keys["expect_priority_set"])
		for _, sets := range []map[string][]int{byNode, want} {
			for _, set := range sets {
				slices.Sort(set)
			}
		}
		same(t, "priorities of nodes", byNode, want)
	}
	return checked
}
