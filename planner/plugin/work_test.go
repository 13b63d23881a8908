package plugin

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// doing makes a graph task that does something.
func doing(id string, role []string, requires, requiredFor, groups []string) site.GraphTask {
	return site.GraphTask{ID: id, Type: Shell, Role: role, Requires: requires, RequiredFor: requiredFor, Groups: groups,
		Parameters: site.Parameters{"cmd": id, "timeout": int64(1)}}
}

func TestSpansAndOrder(t *testing.T) {
	web := []string{"web"}
	g, errs := NewGraph([]site.Plugin{
		{Name: "p", GraphTasks: []site.GraphTask{
			doing("last", web, []string{"tie"}, nil, nil), doing("mid", web, []string{"first"}, nil, nil),
			doing("first", web, nil, []string{PreDeploymentEnd}, nil),
			{ID: "tie", Type: StageID, Requires: []string{PostDeploymentStart, "mid"}},
		}},
		{Name: "q", GraphTasks: []site.GraphTask{doing("between", web, []string{PreDeploymentEnd},
			[]string{DeployStart}, nil), doing("nowhere", []string{"db"}, []string{"first"}, nil, nil),
			doing("through", web, []string{"nowhere"}, nil, nil)}},
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	works, warnings := g.On([]site.Node{{Name: "n", Roles: web}})
	type found struct {
		Name  string
		Span  Span
		After []string
	}
	byID := map[string]found{}
	for _, w := range works {
		f := found{Name: w.Name(), Span: w.Span}
		for _, at := range w.After {
			f.After = append(f.After, works[at].Task.ID)
		}
		byID[w.Task.ID] = f
	}
	want := map[string]found{
		"first":   {"p/first", BeforeDeploy, nil},
		"between": {"q/between", BeforeDeploy, nil}, // the anchor between the two keeps them apart in every group
		"mid":     {"p/mid", InDeploy, []string{"first"}},
		"through": {"q/through", InDeploy, []string{"first"}},
		"last":    {"p/last", AfterDeploy, []string{"first", "mid"}},
	}
	if d := cmp.Diff(want, byID); d != "" {
		t.Error(d)
	}
	if len(warnings) != 1 || !warnings[0].Warning || warnings[0].Attribute != "graph_tasks[1].role" {
		t.Errorf("got %v", warnings)
	}
	for _, task := range g.Tasks() {
		if task.ID == DeployStart {
			t.Error("an anchor that no plugin brings is among the tasks")
		}
	}
	if d := cmp.Diff([]string{PreDeploymentEnd}, g.Before("between")); d != "" {
		t.Error(d)
	}
}

func TestAnchorsAreKnown(t *testing.T) {
	plugins := []site.Plugin{{Name: "p", GraphTasks: []site.GraphTask{doing("x", []string{"*"}, []string{DeployStart},
		nil, nil)}}}
	g, errs := NewGraph(plugins)
	if len(errs) > 0 {
		t.Fatalf("got %v", errs)
	}
	if got := ids(g); got != "x" {
		t.Errorf("tasks that no plugin brings are told: %s", got)
	}
}

func TestResources(t *testing.T) {
	p := site.Plugin{Name: "net", Version: "1.0", Files: map[string]string{"a": "eA=="}}
	o := Ordered{Plugin: p, Index: 1, Task: site.Task{Type: Shell,
		Parameters: site.Parameters{"cmd": "x", "timeout": int64(5), "cwd": "sub"}}}
	files := map[string]any{"a": "eA=="}
	for _, tt := range []struct{ got, want resource.Resource }{
		{o.Resource(), resource.Resource{Type: "shell", Title: "net-1.0/2", Parameters: resource.Parameters{
			"command": "x", "cwd": "sub", "timeout": int64(5), "retries": int64(3), "interval": int64(1),
			"files": files}}},
		{NodeTask{Plugin: p, Task: site.GraphTask{ID: "site", Type: Puppet,
			Parameters: site.Parameters{"puppet_manifest": "m", "puppet_modules": "d", "timeout": int64(0),
				"interval": int64(7)}}}.Resource(),
			resource.Resource{Type: "puppet", Title: "net-1.0/site", Parameters: resource.Parameters{
				"manifest": "m", "modules": "d", "timeout": int64(0), "retries": int64(0), "interval": int64(7),
				"files": files}}},
		{NodeTask{Plugin: p, Task: site.GraphTask{ID: "again", Type: Reboot,
			Parameters: site.Parameters{"timeout": int64(600)}}}.Resource(),
			resource.Resource{Type: "reboot", Title: "net-1.0/again",
				Parameters: resource.Parameters{"timeout": int64(600)}}},
	} {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Error(d)
		}
	}
	for ours, fuels := range map[string]string{"command": "cmd", "manifest": "puppet_manifest",
		"modules": "puppet_modules", "timeout": "timeout"} {
		if got := ParameterOf(ours); got != fuels {
			t.Errorf("%s is %s, want %s", ours, got, fuels)
		}
	}
}

func TestFiles(t *testing.T) {
	half := base64.StdEncoding.EncodeToString(make([]byte, MaxFiles/2))
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"none":          {nil, nil},
		"right":         {map[string]string{"a": "", "b/c.sh": "eA==", "..x": half, "y..": "eA=="}, nil},
		"exactly 1 MiB": {map[string]string{"a": half, "b": half}, nil},
		"too large":     {map[string]string{"a": half, "b": half, "c": "eA=="}, []string{"files bad_value"}},
		"outside": {map[string]string{"../a": "", "/a": "", "..": ""},
			[]string{`files[".."] bad_name`, `files["../a"] bad_name`, `files["/a"] bad_name`}},
		"not short": {map[string]string{"a//b": "", "./a": "", "a/../b": "", "a/": "", ".": "", "": ""},
			[]string{`files[""] bad_name`, `files["."] bad_name`, `files["./a"] bad_name`, `files["a/"] bad_name`,
				`files["a/../b"] bad_name`, `files["a//b"] bad_name`}},
		"strange": {map[string]string{"a\nb": "", "a\\b": "", strings.Repeat("x", 1025): ""},
			[]string{`files["a\nb"] bad_name`, `files["a\\b"] bad_name`, `files["` + strings.Repeat("x", 1025) +
				`"] bad_name`}},
		"below a file": {map[string]string{"a": "", "a/b/c": ""}, []string{`files["a/b/c"] duplicate`}},
		"no base64":    {map[string]string{"a": "x y"}, []string{`files["a"] bad_value`}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, codes(Validate(site.Plugin{Name: "p", Files: tt.files}))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAnIDIsNoPlaceOfAStageTask(t *testing.T) {
	p := site.Plugin{Name: "p", Tasks: []site.Task{shell("pre_deployment")},
		GraphTasks: []site.GraphTask{{ID: "1", Type: Skipped}, {ID: "2", Type: Skipped}, {ID: "01", Type: Skipped}}}
	if d := cmp.Diff([]string{"graph_tasks[0].id duplicate"}, codes(Validate(p))); d != "" {
		t.Error(d)
	}
}
