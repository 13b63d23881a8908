package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// shell makes a stage task that is right.
func shell(stage string, role ...string) site.Task {
	if len(role) == 0 {
		role = []string{AllRoles}
	}
	return site.Task{Role: role, Stage: stage, Type: Shell,
		Parameters: site.Parameters{"cmd": "./deploy.sh", "timeout": int64(42)}}
}

// codes lists errors as `attribute code`.
func codes(errs invalid.Errors) []string {
	var out []string
	for _, p := range errs {
		out = append(out, p.Attribute+" "+string(p.Code))
	}
	return out
}

// written lists tasks as `plugin stage`, the way the seed does.
func written(s Sequence) []string {
	var out []string
	for _, o := range s.Tasks {
		out = append(out, o.Plugin.Name+" "+o.Task.Stage)
	}
	return out
}

// Seed 003, acceptance criteria: the order that it prints.
func TestSeedExample(t *testing.T) {
	stages := func(name string, texts ...string) site.Plugin {
		p := site.Plugin{Name: name}
		for _, text := range texts {
			p.Tasks = append(p.Tasks, shell(text))
		}
		return p
	}
	sequences, errs := Order([]site.Plugin{
		stages("plugin2", "pre_deployment", "pre_deployment/100.0", "pre_deployment/-101", "pre_deployment/0"),
		stages("plugin1", "pre_deployment", "pre_deployment/100", "pre_deployment/-100", "pre_deployment/-99.9"),
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := []string{
		"plugin2 pre_deployment/-101", "plugin1 pre_deployment/-100", "plugin1 pre_deployment/-99.9",
		"plugin1 pre_deployment",
		"plugin2 pre_deployment", "plugin2 pre_deployment/0", "plugin1 pre_deployment/100",
		"plugin2 pre_deployment/100.0",
	}
	if d := cmp.Diff(want, written(sequences[0])); d != "" {
		t.Error(d)
	}
	if len(sequences) != 2 || sequences[0].Stage != PreDeployment || sequences[1].Stage != PostDeployment ||
		len(sequences[1].Tasks) != 0 {
		t.Errorf("got %v", sequences)
	}
}

func TestStageErrors(t *testing.T) {
	for text, want := range map[string]string{
		"pre_deployment:50":                          "the number comes after a slash, pre_deployment/50",
		"pre_deploymnet/1":                           "did you mean pre_deployment?",
		"POST_DEPLOYMENT":                            "did you mean post_deployment?",
		"pre_deployment/":                            "the number after the slash is missing",
		"pre_deployment/1\n":                         `"1\n" is not a number`,
		"pre_deployment/1e3":                         `"1e3" is not a number`,
		"pre_deployment/.":                           `"." is not a number`,
		"pre_deployment/-":                           `"-" is not a number`,
		"pre_deployment/1.5x":                        `"1.5x" is not a number`,
		"pre_deployment/x.5":                         `"x.5" is not a number`,
		"pre_deployment/٣":                           "is not a number",
		"deploy/5":                                   "write pre_deployment or post_deployment",
		"pre_deployment/" + strings.Repeat("9", 400): "too large",
	} {
		if _, err := ParseStage(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestOn(t *testing.T) {
	nodes := []site.Node{{Name: "b", Roles: []string{"web", "db"}}, {Name: "a", Roles: []string{"web"}}, {Name: "idle"}}
	tests := map[string]struct {
		role []string
		want []string
	}{
		"every node with a role":        {[]string{"*"}, []string{"a", "b"}},
		"the controller alone":          {[]string{"master"}, []string{"master"}},
		"both":                          {[]string{"db", "master"}, []string{"master", "b"}},
		"any of them":                   {[]string{"db", "web"}, []string{"a", "b"}},
		"anchored at the start":         {[]string{"/e/"}, []string{}},
		"not at the end":                {[]string{"/w/"}, []string{"a", "b"}},
		"alternatives are anchored too": {[]string{"/x|b/"}, []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			roles, err := ParseRoles(tt.role)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, roles.On(nodes).Names()); d != "" {
				t.Error(d)
			}
		})
	}
	for _, role := range [][]string{nil, {""}, {"/(/"}} {
		if _, err := ParseRoles(role); err == nil {
			t.Errorf("%q is let pass", role)
		}
	}
}

func TestTasksWithoutNodesAreWarnedOf(t *testing.T) {
	sequences, errs := Order([]site.Plugin{{Name: "p",
		Tasks: []site.Task{shell("pre_deployment", "web"), shell("pre_deployment", "mongo", "redis")}}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	placed, errs := sequences[0].On([]site.Node{{Name: "a", Roles: []string{"web"}}})
	if len(placed.Tasks) != 1 || len(errs) != 1 || !errs[0].Warning || len(sequences[0].Tasks) != 2 ||
		sequences[0].Tasks[0].Place.Nodes != nil {
		t.Fatalf("got %v, %v", placed, errs)
	}
	none := shell("pre_deployment")
	none.Role = nil
	if sequences, wrong := Order([]site.Plugin{{Name: "p", Tasks: []site.Task{none}}}); len(wrong) > 0 {
		t.Error(wrong)
	} else if placed, more := sequences[0].On([]site.Node{{Name: "a",
		Roles: []string{"web"}}}); len(placed.Tasks) != 0 || len(more) != 1 || !more[0].Warning {
		t.Errorf("got %v, %v", placed, more)
	}
	if want := `plugin "p": tasks[1].role: no node has the role mongo or redis, so the task is left out`; errs[0].Error() != want {
		t.Errorf("got %s", errs[0])
	}
}

func TestSettings(t *testing.T) {
	tests := map[string]struct {
		typ  string
		p    site.Parameters
		want Settings
	}{
		"shell, as little as possible": {Shell, site.Parameters{"cmd": "c", "timeout": int64(5)},
			Settings{Command: "c", Timeout: 5 * time.Second, Retries: 3, Interval: time.Second}},
		"shell, all": {Shell, site.Parameters{"cmd": "c", "timeout": int64(5), "retries": int64(0),
			"interval": int64(0), "cwd": "/srv"},
			Settings{Command: "c", Timeout: 5 * time.Second, Directory: "/srv"}},
		"puppet is not tried again": {Puppet, site.Parameters{"puppet_manifest": "m", "puppet_modules": "d",
			"timeout": int64(0)},
			Settings{Manifest: "m", Modules: "d", Interval: time.Second}},
		"reboot": {Reboot, site.Parameters{"timeout": int64(600)},
			Settings{Timeout: 10 * time.Minute, Interval: time.Second}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, SettingsOf(tt.typ, tt.p)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestTasksOfUnknownTypes: a stage task that nothing can do is left out with a warning (fuel.md F-07), also one of a
// type that only graph tasks have.
func TestTasksOfUnknownTypes(t *testing.T) {
	tasks := []site.Task{shell("pre_deployment/1", "web"), shell("pre_deployment/2", "web"),
		shell("pre_deployment/3", "web"), shell("pre_deployment/4", "web")}
	tasks[1].Type, tasks[2].Type = "shel", Skipped
	sequences, errs := Order([]site.Plugin{{Name: "p", Tasks: tasks}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	placed, errs := sequences[0].OnNodes([]site.Node{{Name: "a", Roles: []string{"web"}}})
	var ids []string
	for _, o := range placed.Tasks {
		ids = append(ids, o.ID())
	}
	if d := cmp.Diff([]string{"p[0]", "p[3]"}, ids); d != "" {
		t.Error(d)
	}
	if len(errs) != 2 || !errs[0].Warning || !errs[1].Warning ||
		errs[0].Error() != `plugin "p": tasks[1].type: the task is left out: there is no task type "shel"; did you mean "shell"?` {
		t.Errorf("got %v", errs)
	}
}

func TestValidate(t *testing.T) {
	good := site.Parameters{"cmd": "c", "timeout": int64(1)}
	stage := func(change func(*site.Task)) site.Plugin {
		task := shell("pre_deployment")
		task.Parameters = site.Parameters{"cmd": "c", "timeout": int64(1)}
		change(&task)
		return site.Plugin{Name: "p", Tasks: []site.Task{task}}
	}
	graph := func(tasks ...site.GraphTask) site.Plugin { return site.Plugin{Name: "p", GraphTasks: tasks} }
	tests := map[string]struct {
		plugin site.Plugin
		want   []string
	}{
		"nothing wrong": {stage(func(*site.Task) {}), nil},
		"name":          {site.Plugin{Name: "a b"}, []string{"name bad_name"}},
		"no name":       {site.Plugin{}, []string{"name bad_name"}},
		"long name":     {site.Plugin{Name: strings.Repeat("a", 254)}, []string{"name bad_name"}},
		"hidden name":   {site.Plugin{Name: ".p"}, []string{"name bad_name"}},
		"stage": {stage(func(t *site.Task) { t.Stage = "x" }),
			[]string{"tasks[0].stage bad_stage"}},
		"role": {stage(func(t *site.Task) { t.Role = []string{""} }),
			[]string{"tasks[0].role bad_value"}},
		// TestTasksWithoutNodesAreWarnedOf
		"no role": {stage(func(t *site.Task) { t.Role = nil }), nil},
		"no type": {stage(func(t *site.Task) { t.Type = "" }),
			[]string{"tasks[0].type unknown_type"}},
		"type": {stage(func(t *site.Task) { t.Type = "shel" }), nil}, // TestTasksOfUnknownTypes
		"type of a graph task": {graph(site.GraphTask{ID: "a", Type: "synch"}),
			[]string{"graph_tasks[0].type unknown_type"}},
		"type of a graph task that does nothing": {graph(site.GraphTask{ID: "a", Type: "sync"}), nil},
		"missing parameter": {stage(func(t *site.Task) { delete(t.Parameters, "timeout") }),
			[]string{"tasks[0].parameters.timeout missing_parameter"}},
		"puppet": {stage(func(t *site.Task) { t.Type = Puppet }),
			[]string{"tasks[0].parameters.puppet_manifest missing_parameter",
				"tasks[0].parameters.puppet_modules missing_parameter", "tasks[0].parameters.cmd unknown_parameter"}},
		"parameter of another type": {stage(func(t *site.Task) { t.Parameters["puppet_modules"] = "m" }),
			[]string{"tasks[0].parameters.puppet_modules unknown_parameter"}},
		"kind of text": {stage(func(t *site.Task) { t.Parameters["cmd"] = int64(1) }),
			[]string{"tasks[0].parameters.cmd bad_parameter"}},
		"empty text": {stage(func(t *site.Task) { t.Parameters["cmd"] = "" }),
			[]string{"tasks[0].parameters.cmd bad_parameter"}},
		"kind of number": {stage(func(t *site.Task) { t.Parameters["timeout"] = "1" }),
			[]string{"tasks[0].parameters.timeout bad_parameter"}},
		"negative": {stage(func(t *site.Task) { t.Parameters["retries"] = int64(-1) }),
			[]string{"tasks[0].parameters.retries bad_parameter"}},
		"more than a year": {stage(func(t *site.Task) { t.Parameters["interval"] = int64(1 << 40) }),
			[]string{"tasks[0].parameters.interval bad_parameter"}},
		"no id": {graph(site.GraphTask{Type: Skipped}),
			[]string{"graph_tasks[0].id missing_field"}},
		"id twice": {graph(site.GraphTask{ID: "a", Type: Skipped},
			site.GraphTask{ID: "a", Type: Skipped}), []string{"graph_tasks[1].id duplicate"}},
		"role of a graph task": {graph(site.GraphTask{ID: "a", Type: Shell, Parameters: good,
			Role: []string{"/(/"}}), []string{"graph_tasks[0].role bad_value"}},
		"groups": {graph(site.GraphTask{ID: "a", Type: Shell, Parameters: good,
			Groups: []string{"/(/"}}), []string{"graph_tasks[0].groups[0] bad_value"}},
		"tasks of no group": {graph(site.GraphTask{ID: "a", Type: Skipped, Tasks: []string{"b"}}),
			[]string{"graph_tasks[0].tasks bad_structure"}},
		"strategy of no group": {graph(site.GraphTask{ID: "a", Type: Skipped,
			Strategy: site.Strategy{OneByOne: true}}), []string{"graph_tasks[0].parameters.strategy bad_structure"}},
		"amount": {graph(site.GraphTask{ID: "a", Type: Group,
			Strategy: site.Strategy{OneByOne: true, Amount: 1}}),
			[]string{"graph_tasks[0].parameters.strategy.amount bad_value"}},
		"parameters of a group": {graph(site.GraphTask{ID: "a", Type: Group, Parameters: good}),
			[]string{"graph_tasks[0].parameters.cmd unknown_parameter",
				"graph_tasks[0].parameters.timeout unknown_parameter"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			errs := Validate(tt.plugin)
			if d := cmp.Diff(tt.want, codes(errs)); d != "" {
				t.Errorf("%s\n%v", d, errs)
			}
			if _, order := Order([]site.Plugin{tt.plugin}); len(order) != len(errs) {
				t.Errorf("Order reports %v", order)
			}
		})
	}
}

func TestPluginsTogether(t *testing.T) {
	_, errs := Order([]site.Plugin{{Name: "p", Version: "1"}, {Name: "p", Version: "2"}, {Name: "p", Version: "1"}})
	if d := cmp.Diff([]string{"name duplicate"}, codes(errs)); d != "" {
		t.Error(d)
	}
}

// The order does not depend on the order in which plugins of different names are given.
func TestOrderIsDeterministic(t *testing.T) {
	plugins := many(300)
	order := func() []string {
		sequences, errs := Order(plugins)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var out []string
		for _, s := range sequences {
			for _, task := range s.Tasks {
				out = append(out, task.ID()+" "+task.Task.Stage)
			}
		}
		return out
	}
	want := order()
	for range 5 {
		plugins = slices.Concat(plugins[7:], plugins[:7])
		if d := cmp.Diff(want, order()); d != "" {
			t.Fatal(d)
		}
	}
}

// many makes n tasks in plugins of ten tasks each.
func many(n int) []site.Plugin {
	out := make([]site.Plugin, n/10)
	for i := range out {
		out[i].Name = fmt.Sprintf("plugin-%d", i*7919%len(out))
		for j := range 10 {
			stage := fmt.Sprintf("%s/%d", Stages()[j%2], (i*31+j*17)%9000-500)
			out[i].Tasks = append(out[i].Tasks, shell(stage, fmt.Sprintf("role%d", (i+j)%50)))
		}
	}
	return out
}

func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		plugins := many(n)
		var nodes []site.Node
		for i := range 1000 {
			nodes = append(nodes, site.Node{Name: fmt.Sprintf("node%d", i),
				Roles: []string{fmt.Sprintf("role%d", i%50)}})
		}
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sequences, errs := Order(plugins)
				if len(errs) > 0 {
					b.Fatal(errs)
				}
				for _, s := range sequences {
					if placed, errs := s.On(nodes); len(placed.Tasks) != n/2 || len(errs) > 0 {
						b.Fatal(len(placed.Tasks), errs)
					}
				}
			}
		})
	}
}

func FuzzParseStage(f *testing.F) {
	for _, s := range []string{"pre_deployment", "post_deployment/-99.9", "pre_deployment/.5", "pre_deployment/1e3",
		"pre_deployment:50", "/", "pre_deployment/+"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStage(text)
		if err != nil {
			if (s != Stage{}) || !strings.Contains(err.Error(), "is not a stage") {
				t.Fatalf("%+v, %v", s, err)
			}
			return
		}
		if !strings.HasPrefix(text, s.Name) || !slices.Contains(Stages(), s.Name) || s.Priority != s.Priority {
			t.Fatalf("%q gives %+v", text, s)
		}
	})
}

func FuzzParseRoles(f *testing.F) {
	f.Add("*", "master", "web")
	f.Add("/.*controller/", "/(/", "primary-controller")
	f.Add("//", "", "/")
	f.Fuzz(func(t *testing.T, first, second, role string) {
		roles, err := ParseRoles([]string{first, second})
		if err != nil {
			return
		}
		place := roles.On([]site.Node{{Name: "n", Roles: []string{role}}, {Name: "idle"}})
		if slices.Contains(place.Nodes, "idle") {
			t.Fatalf("%q and %q select a node without roles", first, second)
		}
		if (first == role || first == AllRoles) && first != Controller && !strings.HasPrefix(first, "/") &&
			len(place.Nodes) != 1 {
			t.Fatalf("%q does not select a node with the role %q", first, role)
		}
	})
}
