package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// shell is the parameters of a shell task.
func shell(cmd string) site.Parameters { return site.Parameters{"cmd": cmd, "timeout": int64(60)} }

// withPlugins is lon1 with two plugins that do not know each other, and graph tasks across them.
func withPlugins() site.Site {
	s := lon1()
	s.Plugins = []site.Plugin{
		{
			Name: "net", Version: "1.0",
			Tasks: []site.Task{
				{Role: []string{"control", "compute"}, Stage: "pre_deployment/4100", Type: plugin.Shell,
					Parameters: shell("./bridges.sh"), FailOnError: true},
				{Role: []string{"compute"}, Stage: "post_deployment", Type: plugin.Reboot,
					Parameters: site.Parameters{"timeout": int64(600)}, FailOnError: true},
				{Role: []string{"master", "storage"}, Stage: "pre_deployment", Type: plugin.Shell,
					Parameters: shell("./nowhere.sh"), FailOnError: true},
			},
			GraphTasks: []site.GraphTask{
				{ID: "workers", Type: plugin.Group, Role: []string{"compute"}, Strategy: site.Strategy{Amount: 2}},
				{ID: "check", Type: plugin.Shell, Groups: []string{"workers"}, Requires: []string{"tune"},
					Parameters: shell("./check.sh"), FailOnError: true},
			},
			Files: map[string]string{"bridges.sh": "ZWNobyBicmlkZ2VzCg=="},
		},
		{
			Name:  "lma",
			Files: map[string]string{"site.pp": "", "modules/lma/manifests/init.pp": "", "report.sh": ""},
			Tasks: []site.Task{
				{Role: []string{"*"}, Stage: "pre_deployment/-5", Type: plugin.Puppet, FailOnError: false,
					Parameters: site.Parameters{"puppet_manifest": "site.pp", "puppet_modules": "modules",
						"timeout": int64(60)}},
				{Role: []string{"control"}, Stage: "post_deployment/-1", Type: plugin.Shell,
					Parameters: shell("./report.sh"), FailOnError: true},
			},
			GraphTasks: []site.GraphTask{
				{ID: "tune", Type: plugin.Shell, Role: []string{"compute"}, Parameters: shell("./tune.sh"),
					FailOnError: true},
				{ID: "drain", Type: plugin.Shell, Role: []string{"control"},
					RequiredFor: []string{"pre_deployment_end"}, Parameters: shell("./drain.sh"), FailOnError: true},
				{ID: "undrain", Type: plugin.Shell, Role: []string{"control"},
					Requires: []string{"post_deployment_start"}, Parameters: shell("./undrain.sh"), FailOnError: true},
			},
		},
	}
	return s
}

// one is a site with one group and one node for each role, on which nothing is applied by services.
func one(plugins ...site.Plugin) site.Site {
	return site.Site{Name: "s", Plugins: plugins, Groups: []site.Group{
		{Name: "first", Selectors: site.Selectors{{NodeTags: []string{"first"}}}},
		{Name: "second", DependsOn: []string{"first"}, Selectors: site.Selectors{{NodeTags: []string{"second"}}}},
	}, Nodes: []site.Node{
		{Name: "a1", Tags: []string{"first"}, Roles: []string{"a", "all"}},
		{Name: "a2", Tags: []string{"second"}, Roles: []string{"a", "all"}},
		{Name: "b1", Tags: []string{"first"}, Roles: []string{"b", "all"}},
		{Name: "c2", Tags: []string{"second"}, Roles: []string{"c", "all"}},
	}}
}

// remote lists the remote tasks of a plan, a line for each phase.
func remote(p *planner.Plan) []string {
	var out []string
	for _, phase := range p.Phases {
		var nodes []string
		for _, t := range phase.Tasks {
			if t.Kind == task.Remote {
				nodes = append(nodes, t.Node)
			}
		}
		if len(nodes) > 0 {
			t := phase.Tasks[0]
			out = append(out, fmt.Sprintf("%s: %s on %s", strings.TrimSpace(string(phase.TaskGroup)+" "+phase.Group),
				t.Name, strings.Join(nodes, " ")))
		}
	}
	return out
}

func TestSeedsExampleIsTheOrderOfPhases(t *testing.T) {
	stages := func(name string, stages ...string) site.Plugin {
		p := site.Plugin{Name: name}
		for _, stage := range stages {
			p.Tasks = append(p.Tasks, site.Task{Role: []string{"all"}, Stage: stage, Type: plugin.Shell,
				Parameters: shell(stage), FailOnError: true})
		}
		return p
	}
	s := one(
		stages("plugin2", "pre_deployment", "pre_deployment/100.0", "pre_deployment/-101", "pre_deployment/0"),
		stages("plugin1", "pre_deployment", "pre_deployment/100", "pre_deployment/-100", "pre_deployment/-99.9"))
	s.Groups = nil
	var got []string
	for _, phase := range mustMake(t, s, nil, nil).Phases {
		if phase.TaskGroup == task.PreNode {
			got = append(got, phase.Tasks[0].Resource.Parameters.String("command")+" "+phase.Tasks[0].Name)
			if len(phase.Tasks) != 4 {
				t.Errorf("%d tasks in one phase, want one on each node", len(phase.Tasks))
			}
		}
	}
	want := []string{
		"pre_deployment/-101 plugin2/3", "pre_deployment/-100 plugin1/3", "pre_deployment/-99.9 plugin1/4",
		"pre_deployment plugin1/1",
		"pre_deployment plugin2/1", "pre_deployment/0 plugin2/4", "pre_deployment/100 plugin1/2",
		"pre_deployment/100.0 plugin2/2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWhenTasksOfPluginsRun(t *testing.T) {
	stage := func(s string) site.Task {
		return site.Task{Role: []string{"all"}, Stage: s, Type: plugin.Shell, Parameters: shell("x"), FailOnError: true}
	}
	base := func() site.Site {
		s := one(site.Plugin{Name: "p", Tasks: []site.Task{stage("pre_deployment"), stage("post_deployment")}})
		s.Services = []site.Service{{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "x"}}}}}
		return s
	}
	tests := map[string]struct {
		change func(s *site.Site, applied planner.Applied)
		drift  planner.Drift
		want   []string // remote tasks
		work   []string // everything else but preparing
	}{
		"nothing to do": {func(*site.Site, planner.Applied) {}, nil, nil, nil},
		"never ran": {func(_ *site.Site, a planner.Applied) { delete(a["a1"], "shell[p/1]") }, nil,
			[]string{"pre_node first: p/1 on a1"}, nil},
		"begun": {func(_ *site.Site, a planner.Applied) { a["a1"]["shell[p/2]"] = "" }, nil,
			[]string{"post_cluster: p/2 on a1"}, nil},
		"otherwise": {func(_ *site.Site, a planner.Applied) { a["a2"]["shell[p/1]"] = "x" }, nil,
			[]string{"pre_node second: p/1 on a2"}, nil},
		"with other work of the node": {func(_ *site.Site, a planner.Applied) { delete(a["b1"], "file[/etc/motd]") },
			nil,
			[]string{"pre_node first: p/1 on b1", "post_cluster: p/2 on b1"}, []string{"create file[/etc/motd]"}},
		"with a repair": {func(*site.Site, planner.Applied) {}, planner.Drift{"c2": {"file[/etc/motd]"}},
			[]string{"pre_node second: p/1 on c2", "post_cluster: p/2 on c2"}, []string{"repair file[/etc/motd]"}},
		"with a removal": {func(_ *site.Site, a planner.Applied) { a["c2"]["file[/x]"] = "d" }, nil,
			[]string{"pre_node second: p/1 on c2", "post_cluster: p/2 on c2"}, []string{"remove file[/x]"}},
		"an entry alone is no drift": {func(*site.Site, planner.Applied) {}, planner.Drift{"a1": {"shell[p/1]"}}, nil,
			nil},
		"a task that is gone is forgotten, and nothing runs for it": {func(s *site.Site,
			_ planner.Applied) {
			s.Plugins[0].Tasks = s.Plugins[0].Tasks[:1]
		}, nil, nil,
			[]string{"remove shell[p/2]", "remove shell[p/2]", "remove shell[p/2]", "remove shell[p/2]"}},
		"a node left locked is unlocked, and nothing runs for it": {func(_ *site.Site,
			a planner.Applied) {
			a["a2"][task.LeftLocked] = ""
		}, nil, nil, []string{"unlock"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := base()
			applied := allApplied(t, s)
			tt.change(&s, applied)
			p := mustMake(t, s, applied, tt.drift)
			if d := cmp.Diff(tt.want, remote(p)); d != "" {
				t.Error(d)
			}
			var others []string
			for _, w := range work(p) {
				if !strings.HasPrefix(w, "run ") {
					others = append(others, w)
				}
			}
			if d := cmp.Diff(tt.work, others); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestUnlockingEndsPreNode(t *testing.T) {
	s := withPlugins()
	applied := allApplied(t, s)
	applied["ctl2"] = map[resource.ID]string{task.LeftLocked: ""}
	p := mustMake(t, s, applied, nil)
	last := -1 // of pre_node
	for i, ph := range p.Phases {
		if ph.TaskGroup == task.PreNode {
			last = i
		}
	}
	if last < 2 || p.Phases[last].Tasks[0].Action != task.Unlock || len(p.Phases[last].Tasks) != 1 {
		t.Fatalf("got %v", p.Steps())
	}
	if want := "5. control-nodes (critical): pre_node: unlock 1 node (ctl2), left locked by an earlier run"; p.Steps()[last] != want {
		t.Errorf("got %s", p.Steps()[last])
	}
}

func TestWhereGraphTasksRun(t *testing.T) {
	graph := func(id, role string, requires, requiredFor []string) site.GraphTask {
		return site.GraphTask{ID: id, Type: plugin.Shell, Role: []string{role}, Requires: requires,
			RequiredFor: requiredFor, Parameters: shell(id), FailOnError: true}
	}
	tests := map[string]struct {
		tasks []site.GraphTask
		want  []string
		error string
	}{
		"free": {[]site.GraphTask{graph("x", "all", nil, nil)},
			[]string{"cluster first: p/x on a1 b1", "cluster second: p/x on a2 c2"}, ""},
		"before and after": {
			[]site.GraphTask{
				graph("last", "all", []string{"post_deployment_start"}, nil),
				graph("first", "a", nil, []string{"pre_deployment_end"}), graph("start", "a", nil, []string{"first"}),
				graph("in", "a", []string{"deploy_start"}, []string{"deploy_end"}),
			},
			[]string{"pre_node first: p/start on a1", "pre_node first: p/first on a1", "cluster first: p/in on a1",
				"pre_node second: p/start on a2", "pre_node second: p/first on a2",
				"cluster second: p/in on a2", "post_cluster: p/last on a1 a2 b1 c2"}, "",
		},
		"a node that runs both goes by itself": {[]site.GraphTask{graph("x", "all", []string{"y"}, nil),
			graph("y", "all", nil, nil)},
			[]string{"cluster first: p/y on a1 b1", "cluster first: p/x on a1 b1", "cluster second: p/y on a2 c2",
				"cluster second: p/x on a2 c2"}, ""},
		"a later group may wait": {[]site.GraphTask{graph("x", "c", []string{"y"}, nil), graph("y", "b", nil, nil)},
			[]string{"cluster first: p/y on b1", "cluster second: p/x on c2"}, ""},
		"an earlier group cannot": {[]site.GraphTask{graph("x", "b", []string{"y"}, nil), graph("y", "c", nil, nil)},
			nil,
			`plugin "p": graph_tasks[0].requires: the task "x" of node b1, in the group "first", must come after the task "y" of node c2, in the group "second", but that group is rolled out later`},
		"nor before the deployment": {[]site.GraphTask{graph("x", "b", []string{"y"}, []string{"deploy_start"}),
			graph("y", "c", nil, nil)}, nil,
			`the task "x" of node b1, in the group "first", must come after the task "y" of node c2`},
		"nor through what does nothing": {[]site.GraphTask{graph("x", "b", []string{"tie"}, nil),
			{ID: "tie", Type: plugin.Skipped, Requires: []string{"y"}}, graph("y", "c", nil, nil)}, nil,
			`the task "x" of node b1, in the group "first", must come after the task "y" of node c2`},
		"after all groups it can": {[]site.GraphTask{graph("x", "b", []string{"y", "deploy_end"}, nil),
			graph("y", "c", nil, nil)},
			[]string{"cluster second: p/y on c2", "post_cluster: p/x on b1"}, ""},
		"anchors of one group do not wait for those of another": {[]site.GraphTask{graph("x", "all",
			[]string{"deploy_start"}, nil), graph("y", "all", nil, []string{"deploy_start"})},
			[]string{"pre_node first: p/y on a1 b1", "cluster first: p/x on a1 b1", "pre_node second: p/y on a2 c2",
				"cluster second: p/x on a2 c2"}, ""},
		"an anchor that a plugin brings": {[]site.GraphTask{{ID: "deploy_end", Type: plugin.StageID},
			graph("x", "b", []string{"deploy_end"}, nil)},
			[]string{"post_cluster: p/x on b1"}, ""},
		"an anchor that does work": {[]site.GraphTask{graph("deploy_end", "b", nil, nil)}, nil,
			`graph_tasks[0].type: "deploy_end" is a point in the order of every run`},
		"a manifest that is not in the files": {[]site.GraphTask{{ID: "x", Type: plugin.Puppet, Role: []string{"b"},
			Parameters: site.Parameters{
				"puppet_manifest": "site.pp", "puppet_modules": "/etc/puppet/modules", "timeout": int64(1)}}},
			nil, `plugin "p": graph_tasks[0].parameters.puppet_manifest: there is no file "site.pp" in files`},
		"a cycle through anchors": {[]site.GraphTask{graph("x", "b", []string{"deploy_end"}, []string{"deploy_start"})},
			nil,
			`tasks wait for each other: "x" before "deploy_start" before "deploy_end" before "x"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, errs := planner.Make(one(site.Plugin{Name: "p", GraphTasks: tt.tasks}), nil, nil)
			if tt.error != "" {
				if p != nil || !strings.Contains(errs.Error(), tt.error) {
					t.Errorf("got %v", errs)
				}
				return
			}
			if p == nil || len(errs) > 0 {
				t.Fatal(errs)
			}
			if d := cmp.Diff(tt.want, remote(p)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestGroupsOfGraphTasksGiveNodesAndLimits(t *testing.T) {
	task := func(id string, groups ...string) site.GraphTask {
		return site.GraphTask{ID: id, Type: plugin.Shell, Groups: groups, Parameters: shell(id), FailOnError: true}
	}
	s := one(site.Plugin{Name: "p", GraphTasks: []site.GraphTask{
		{ID: "a", Type: plugin.Group, Strategy: site.Strategy{Amount: 3}},
		{ID: "bc", Type: plugin.Group, Role: []string{"b", "c"}, Strategy: site.Strategy{OneByOne: true},
			Tasks: []string{"named"}},
		{ID: "none", Type: plugin.Group},
		task("x", "a"), task("y", "/a|bc/"), task("named"), task("idle", "none"), task("lost"),
	}})
	s.Groups = nil
	p, errs := planner.Make(s, nil, nil)
	if d := cmp.Diff([]string{"cluster default: p/x on a1 a2", "cluster default: p/y on a1 a2 b1 c2",
		"cluster default: p/named on b1 c2"}, remote(p)); d != "" {
		t.Error(d)
	}
	var limits []int
	for _, phase := range p.Phases {
		if phase.TaskGroup != "prepare" {
			limits = append(limits, phase.Tasks[0].Limit)
		}
	}
	if d := cmp.Diff([]int{3, 1, 1}, limits); d != "" {
		t.Error(d)
	}
	var warned []string
	for _, p := range errs {
		warned = append(warned, fmt.Sprint(p.Warning, " ", p.Attribute, ": ", p.Message))
	}
	if d := cmp.Diff([]string{
		`true graph_tasks[6].groups: no group that the task "idle" is a part of has a node, so it is left out`,
		`true graph_tasks[7].groups: the task "lost" has neither a role nor a group, so it is left out; give it a role, or "*" for all nodes that have one`,
	}, warned); d != "" {
		t.Error(d)
	}
	if want := "3. default (critical): cluster: run shell p/y on 4 nodes, 1 node at a time"; p.Steps()[2] != want {
		t.Errorf("got %s", p.Steps()[2])
	}
}

func TestDigestCoversTasksOfPlugins(t *testing.T) {
	base := mustMake(t, withPlugins(), nil, nil).Digest
	for name, change := range map[string]func(s *site.Site){
		"a command":         func(s *site.Site) { s.Plugins[0].Tasks[0].Parameters["cmd"] = "x" },
		"a file":            func(s *site.Site) { s.Plugins[0].Files["bridges.sh"] = "" },
		"tolerance":         func(s *site.Site) { s.Plugins[0].Tasks[0].FailOnError = false },
		"a limit":           func(s *site.Site) { s.Plugins[0].GraphTasks[0].Strategy = site.Strategy{OneByOne: true} },
		"an order":          func(s *site.Site) { s.Plugins[0].Tasks[0].Stage = "pre_deployment/-6" },
		"a stage":           func(s *site.Site) { s.Plugins[0].Tasks[0].Stage = "post_deployment" },
		"a plugin's number": func(s *site.Site) { s.Plugins[0].Version = "1.1" },
	} {
		s := withPlugins()
		change(&s)
		if mustMake(t, s, nil, nil).Digest == base {
			t.Errorf("%s does not change the digest", name)
		}
	}
	s := withPlugins()
	slices.Reverse(s.Plugins)
	if mustMake(t, s, nil, nil).Digest != base {
		t.Error("the order of plugins changes the digest")
	}
}

// TestPlansWithPlugins: whatever is applied, a plan does not depend on the order of plugins; each action of it stands
// once for each node, and after the run nothing is left to do.
func TestPlansWithPlugins(t *testing.T) {
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		applied, drift := anyStateOf(t, r, withPlugins())
		for _, node := range sortedKeys(applied) {
			if node != "gone" && r.IntN(8) == 0 {
				applied[node][task.LeftLocked] = ""
			}
		}
		p, errs := planner.Make(withPlugins(), applied, drift)
		s := withPlugins()
		mix(r, s.Plugins)
		mix(r, s.Nodes)
		again, errsAgain := planner.Make(s, applied, drift)
		if d := cmp.Diff(text(p, errs), text(again, errsAgain)); d != "" {
			t.Fatal(d)
		}
		ran := map[string]bool{}
		for _, phase := range p.Phases {
			for _, task := range phase.Tasks {
				if key := task.Node + " " + task.Name; task.Name != "" && ran[key] {
					t.Errorf("%s runs twice", key)
				} else {
					ran[key] = true
				}
				apply(applied, task)
			}
		}
		if p := mustMake(t, withPlugins(), applied, nil); !p.Empty() {
			t.Errorf("after a whole run there is work left: %v", p.Steps())
		}
	})
}
