package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// replayStageStrings reads the texts that are stages, and those that are not.
func replayStageStrings(t testing.TB, _ *file, v *vector) {
	v.inputs(t, "valid", "invalid")
	valid, invalid := decode[[][]yaml.Node](t, v.keys["valid"]), decode[[][]yaml.Node](t, v.keys["invalid"])
	if len(valid) == 0 || len(invalid) == 0 {
		t.Fatal("the vector has no texts")
	}
	for _, row := range valid {
		want := plugin.Stage{Name: decode[string](t, row[1]), Priority: decode[float64](t, row[2])}
		got, err := plugin.ParseStage(row[0].Value)
		if err != nil {
			t.Errorf("%q: %v", row[0].Value, err)
			continue
		}
		same(t, row[0].Value, got, want)
	}
	for _, row := range invalid {
		_, err := plugin.ParseStage(row[0].Value)
		expectError(t, err, string(plugin.BadStage))
	}
}

// pluginOf is a plugin as the vectors write it, with its tasks as documents have them.
type pluginOf struct {
	Name     string
	FullName string `yaml:"full_name"`
	Key      string // tells two versions apart
	DBID     int    `yaml:"db_id"` // the order of installation, which does not count (F-02)
	Tasks    []map[string]any
}

// usual are the parameters that the vectors leave out, by the type of the task.
var usual = map[string]map[string]any{
	"shell": {"cmd": "true", "timeout": 1}, "reboot": {"timeout": 1},
	"puppet": {"puppet_manifest": "/srv/site.pp", "puppet_modules": "/srv/modules", "timeout": 1},
}

// plugins reads the plugins of a vector from documents; what the vectors leave out of a task is filled in.
func plugins(t testing.TB, v *vector) ([]site.Plugin, error) {
	t.Helper()
	var out []site.Plugin
	for _, p := range strictly[[]pluginOf](t, v.keys["plugins"]) {
		for _, task := range p.Tasks {
			for key, value := range map[string]any{"type": "shell", "role": "*"} {
				if _, given := task[key]; !given {
					task[key] = value
				}
			}
			if _, given := task["parameters"]; !given {
				task["parameters"] = usual[fmt.Sprint(task["type"])]
			}
		}
		version := p.FullName
		if version != "" {
			version = version[len(p.Name)+1:]
		}
		data, err := yaml.Marshal(map[string]any{"name": p.Name, "version": version, "tasks": p.Tasks})
		if err != nil {
			t.Fatal(err)
		}
		read, err := document.ParsePlugin([]document.Source{{Name: "tasks.yaml", Data: data}}, "")
		if err != nil {
			return nil, err
		}
		out = append(out, read.Plugin)
	}
	return out, nil
}

// ran is a task of a plugin in a plan.
type ran struct {
	id    string // plugin[index], as the vectors name it
	task  task.Task
	nodes []string
}

// ranIn returns the tasks of plugins that a plan runs in a task group, in their order.
func ranIn(plan *planner.Plan, group task.Group) []ran {
	out := []ran{}
	for _, ph := range plan.Phases {
		if ph.TaskGroup != group {
			continue
		}
		for _, t := range ph.Tasks {
			if t.Action != task.Run {
				continue
			}
			i := slices.IndexFunc(out, func(r ran) bool { return r.task.Name == t.Name })
			if i < 0 {
				i = len(out)
				out = append(out, ran{task: t})
			}
			out[i].nodes = append(out[i].nodes, t.Node)
		}
	}
	return out
}

// rendered is what a task does, with all that counts where the vector says nothing, in the words of Fuel.
func rendered(r ran) map[string]any {
	parameters := map[string]any{"cwd": "/plugins/" + strings.Split(r.id, "[")[0]} // the folder of the plugin, which a task runs in
	for name, value := range r.task.Resource.Parameters {
		parameters[plugin.ParameterOf(name)] = value
	}
	return map[string]any{"type": r.task.Resource.Type, "fail_on_error": !r.task.Tolerate, "parameters": parameters}
}

// replayOrdering plans a site with the plugins. What the function stage_order of the provider says must be the same, with the tasks of the controller,
// which no run has.
func replayOrdering(t testing.TB, f *file, v *vector) {
	v.inputs(t, "stage", "plugins", "uids", "nodes", "rendered", "warnings")
	node, ok := v.keys["nodes"]
	if !ok {
		node = f.root["nodes"]
	}
	s := site.Site{Name: "vectors"}
	for _, n := range strictly[[]struct {
		UID   string
		Roles []string
	}](t, node) {
		s.Nodes = append(s.Nodes, site.Node{Name: n.UID, Roles: n.Roles})
	}
	var err error
	s.Plugins, err = plugins(t, v)
	if wantedError(t, v, err) {
		return
	}
	plan, errs := planner.Make(s, nil, nil)
	if plan == nil {
		t.Fatal(errs)
	}
	stage := decode[string](t, v.keys["stage"])
	group, ok := map[string]task.Group{plugin.PreDeployment: task.PreNode, plugin.PostDeployment: task.PostCluster}[stage]
	if !ok {
		t.Fatalf("there is no stage %q", stage)
	}
	planned := ranIn(plan, group)
	sequences, errs2 := plugin.Order(s.Plugins)
	if len(errs2) > 0 {
		t.Fatal(errs2)
	}
	sequence, warnings := sequences[slices.Index(plugin.Stages(), stage)].On(s.Nodes)
	ids, commands := []string{}, []string{}
	places := map[string][]string{}
	for _, o := range sequence.Tasks {
		name := o.Name()
		o.Plugin.Version = "" // the vectors name tasks without it
		ids = append(ids, o.ID())
		places[o.ID()] = o.Place.Names()
		commands = append(commands, plugin.SettingsOf(o.Task.Type, o.Task.Parameters).Command)
		if o.Place.Controller && len(o.Place.Nodes) == 0 {
			continue
		}
		if len(planned) == 0 || planned[0].task.Name != name {
			t.Fatalf("the plan does not have %s in its place", name)
		}
		planned[0].id = o.ID()
		same(t, "nodes of "+name+" in the plan", slices.Sorted(slices.Values(planned[0].nodes)), slices.Sorted(slices.Values(o.Place.Nodes)))
		if want, ok := mapping(t, v.keys["rendered"])[o.ID()]; ok {
			same(t, o.ID(), plain(t, rendered(planned[0])), plain(t, decode[any](t, want)))
		}
		planned = planned[1:]
	}
	same(t, "other tasks in the plan", len(planned), 0)
	if v.has("warnings") {
		same(t, "warnings", len(warnings), decode[int](t, v.keys["warnings"]))
		for _, w := range warnings {
			if !slices.Contains(errs, w) {
				t.Errorf("the plan does not say: %v", w)
			}
		}
	}
	if v.has("expect") {
		same(t, "order", ids, decode[[]string](t, v.keys["expect"]))
	}
	if v.has("expect_cmds") {
		same(t, "commands", commands, decode[[]string](t, v.keys["expect_cmds"]))
	}
	if !v.has("expect") && !v.has("expect_cmds") {
		t.Fatal("the vector expects nothing")
	}
	for id, want := range decode[map[string][]string](t, v.keys["uids"]) {
		slices.Sort(places[id])
		slices.Sort(want) // a set
		same(t, "nodes of "+id, places[id], want)
	}
}
