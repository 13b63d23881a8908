package conformance

import (
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
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
				task["parameters"] = map[string]any{"cmd": "true", "timeout": 1}
				if task["type"] == "puppet" {
					task["parameters"] = map[string]any{"puppet_manifest": "site.pp", "puppet_modules": "modules", "timeout": 1}
				}
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

// replayOrdering puts the tasks of one stage in order and places them on nodes.
func replayOrdering(t testing.TB, f *file, v *vector) {
	v.inputs(t, "stage", "plugins", "uids", "nodes")
	node, ok := v.keys["nodes"]
	if !ok {
		node = f.root["nodes"]
	}
	var nodes []site.Node
	for _, n := range strictly[[]struct {
		UID   string
		Roles []string
	}](t, node) {
		nodes = append(nodes, site.Node{Name: n.UID, Roles: n.Roles})
	}
	read, err := plugins(t, v)
	if wantedError(t, v, err) {
		return
	}
	sequences, problems := plugin.Order(read)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	stage := decode[string](t, v.keys["stage"])
	i := slices.IndexFunc(sequences, func(s plugin.Sequence) bool { return s.Stage == stage })
	if i < 0 {
		t.Fatalf("there is no stage %q", stage)
	}
	placed, problems := sequences[i].On(nodes)
	if errs := problems.Errors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	same(t, "tasks left out that are warned of", len(problems), len(sequences[i].Tasks)-len(placed.Tasks))
	ids, commands := []string{}, []string{}
	places := map[string][]string{}
	for _, o := range placed.Tasks {
		o.Plugin.Version = "" // the vectors name tasks without it
		ids = append(ids, o.ID())
		places[o.ID()] = o.Place.Names()
		commands = append(commands, plugin.SettingsOf(o.Task.Type, o.Task.Parameters).Command)
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
