package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// ordered is a site of one group with two nodes; only b has the service of the entity nic.
func ordered(t testing.TB, rules string) site.Site {
	t.Helper()
	entities := entitiesOf(t, `
entities:
  interface: {abstract: true, section: network_interfaces}
  nic:
    extends: interface
    attributes: {name: string}
    tasks:
    - name: file
      config: {type: file, title: "/etc/net/${self.name}", parameters: {content: "up\n"}}
    - name: old
      config: {type: file, title: "/etc/net/${self.name}.old", parameters: {ensure: absent}}
    - name: check
      requires: [{task: file}]
      remote: {type: shell, parameters: {command: "ip link show", timeout: 5}}
`)
	all := site.Selectors{}
	s := site.Site{
		Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "b"}},
		Services: []site.Service{
			{Name: "base", Selectors: all, Configuration: conf{
				"package": titles{"mc": {"ensure": "installed"}, "vim": {"ensure": "installed"},
					"old": {"ensure": "absent"}},
				"file": titles{"/etc/repo": {"content": "r"}, "/opt/b": {"content": "b"}},
				"exec": titles{"/bin/true": {}},
			}},
			{Name: "eth0", Entity: entities["nic"], Attributes: map[string]any{"name": "eth0"},
				Selectors: site.Selectors{{NodeNames: []string{"b"}}}},
		},
	}
	if rules != "" {
		s.Ordering = orderingOf(t, rules)
	}
	return s
}

// orderingOf reads the rules of a catalog document; the entities that they name are there.
func orderingOf(t testing.TB, rules string) *catalog.Ordering {
	t.Helper()
	text := "entities: {interface: {abstract: true}, nic: {extends: interface}}\nordering:\n" + rules
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return &c.Catalog.Ordering
}

// phasesOf gives each phase behind prepare on one line: the resources of each node in order.
func phasesOf(p *planner.Plan) []string {
	var out []string
	for _, phase := range p.Phases {
		if phase.TaskGroup == task.Prepare {
			continue
		}
		var parts []string
		node := "-"
		for _, t := range phase.Tasks {
			if t.Node != node {
				node = t.Node
				parts = append(parts, node+":")
			}
			parts = append(parts, string(t.Resource.ID()))
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

// on keeps what phases hold for one node.
func on(node string, p *planner.Plan) []string {
	var out []string
	for _, phase := range phasesOf(p) {
		if _, own, ok := strings.Cut(phase, node+": "); ok {
			own, _, _ = strings.Cut(own, " b: ")
			out = append(out, own)
		}
	}
	return out
}

func TestOrdering(t *testing.T) {
	const rest = "exec[/bin/true] file[/etc/repo] file[/opt/b]"
	tests := map[string]struct {
		rules string
		a, b  []string
	}{
		"none": {"", []string{rest + " package[mc] package[old] package[vim]"},
			[]string{"package[old] file[/etc/net/eth0] file[/etc/net/eth0.old]", "shell[eth0/check]",
				"package[mc] package[vim] " + rest}},
		"matches nothing": {"  classes: [{name: first, tasks: {types: [cron]}}]",
			[]string{rest + " package[mc] package[old] package[vim]"},
			[]string{"package[old] file[/etc/net/eth0] file[/etc/net/eth0.old]", "shell[eth0/check]",
				"package[mc] package[vim] " + rest}},
		"a class by type, which waits for earlier sections": {"  classes: [{name: first, tasks: {types: [package]}}]",
			[]string{"package[mc] package[vim]", rest + " package[old]"},
			[]string{"package[old] file[/etc/net/eth0] file[/etc/net/eth0.old]", "shell[eth0/check]",
				"package[mc] package[vim]", rest}},
		"a class by section": {"  classes: [{name: net, tasks: {sections: [network_interfaces]}}]",
			[]string{rest + " package[mc] package[old] package[vim]"},
			[]string{"file[/etc/net/eth0]", "package[old] file[/etc/net/eth0.old]", "shell[eth0/check]",
				"package[mc] package[vim] " + rest}},
		"a class by an ancestor": {"  classes: [{name: net, tasks: {entities: [interface], types: [file]}}]",
			[]string{rest + " package[mc] package[old] package[vim]"},
			[]string{"file[/etc/net/eth0]", "shell[eth0/check]", "package[old] package[mc] package[vim] " + rest +
				" file[/etc/net/eth0.old]"}},
		"classes in turn": {"  classes:\n  - {name: files, tasks: {types: [file]}}\n  - {name: rest, tasks: {types: [exec, file]}}",
			[]string{"file[/etc/repo] file[/opt/b]", "exec[/bin/true]", "package[mc] package[old] package[vim]"}, nil},
		"waits": {"  waits: [{tasks: {types: [file]}, for: {types: [package]}}]",
			[]string{"exec[/bin/true] package[mc] package[old] package[vim] file[/etc/repo] file[/opt/b]"}, nil},
		"waits against the sections": {"  waits: [{tasks: {types: [shell]}, for: {types: [exec]}}]", nil,
			[]string{"package[old] file[/etc/net/eth0] package[mc] package[vim] " + rest + " file[/etc/net/eth0.old]",
				"shell[eth0/check]"}},
		"what matches both does not wait": {"  waits: [{tasks: {types: [file, exec]}, for: {types: [file]}}]",
			[]string{"file[/etc/repo] file[/opt/b] exec[/bin/true] package[mc] package[old] package[vim]"}, nil},
		"unordered": {"  unordered: [file]", nil,
			[]string{"package[old] file[/etc/net/eth0] file[/etc/net/eth0.old]", "shell[eth0/check]",
				"file[/etc/repo] file[/opt/b] exec[/bin/true] package[mc] package[vim]"}},
		"counts as": {"  counts_as: [{tasks: {types: [exec]}, section: system}, {tasks: {types: [exec]}, section: os}]",
			[]string{"exec[/bin/true] package[old] package[mc] package[vim] file[/etc/repo] file[/opt/b]"},
			[]string{"exec[/bin/true] package[old] file[/etc/net/eth0] file[/etc/net/eth0.old]", "shell[eth0/check]",
				"package[mc] package[vim] file[/etc/repo] file[/opt/b]"}},
		"a class of what counts as another section": {"  counts_as: [{tasks: {types: [exec]}, section: system}]\n  classes: [{name: first, tasks: {sections: [system]}}]",
			[]string{"exec[/bin/true]", "package[old] package[mc] package[vim] file[/etc/repo] file[/opt/b]"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := mustMake(t, ordered(t, tt.rules), nil, nil)
			for node, want := range map[string][]string{"a": tt.a, "b": tt.b} {
				if d := cmp.Diff(want, on(node, p)); want != nil && d != "" {
					t.Errorf("on node %s: %s", node, d)
				}
			}
		})
	}
}

// What is no longer wanted goes before what is of a class.
func TestOrderingAndRemovals(t *testing.T) {
	s := ordered(t, "  classes: [{name: first, tasks: {types: [package]}}]")
	p := mustMake(t, s, planner.Applied{"a": {"file[/gone]": "x"}}, nil)
	if got := on("a", p); len(got) != 3 || got[0] != "file[/gone]" || got[1] != "package[mc] package[vim]" {
		t.Errorf("got %q", got)
	}
}

// What rules change counts in the digest; a rule that changes nothing does not.
func TestOrderingCountsInTheDigest(t *testing.T) {
	plain := mustMake(t, ordered(t, ""), nil, nil).Digest
	for rules, changes := range map[string]bool{
		"  classes: [{name: first, tasks: {types: [package]}}]":        true,
		"  waits: [{tasks: {types: [file]}, for: {types: [package]}}]": true,
		"  waits: [{tasks: {types: [exec]}, for: {types: [shell]}}]":   false, // it does so because of its section
		"  unordered: [file]":    true,
		"  unordered: [package]": false,
		"  counts_as: [{tasks: {types: [exec]}, section: system}]":        true,
		"  counts_as: [{tasks: {types: [exec]}, section: items}]":         false,
		"  classes: [{name: first, tasks: {types: [cron, mount, host]}}]": false,
	} {
		if p := mustMake(t, ordered(t, rules), nil, nil); (p.Digest != plain) != changes {
			t.Errorf("%s: the digest changes: %t, want %t", rules, p.Digest != plain, changes)
		}
	}
}

func TestOrderingThatCannotBeKept(t *testing.T) {
	tests := map[string]struct {
		rules  string
		change func(*site.Site)
		want   string
	}{
		"a wait against a relation": {"  waits: [{tasks: {types: [cron]}, for: {types: [exec]}}, {tasks: {types: [package]}, for: {types: [file]}}]",
			func(s *site.Site) { s.Services[0].Configuration["file"]["/opt/b"]["require"] = "package[vim]" },
			`deployment "lon1": ordering.waits[1]: resources wait for each other: package[vim] requires file[/opt/b] requires package[vim], where package[vim] requires file[/opt/b] because of this rule; ` +
				`remove one of the other relations, or let the rule match less (on all 2 nodes)`},
		"waits against each other": {"  waits: [{tasks: {types: [exec]}, for: {types: [shell]}}, {tasks: {types: [shell]}, for: {types: [exec]}}]", nil,
			`deployment "lon1": ordering.waits[0]: resources wait for each other: exec[/bin/true] requires shell[eth0/check] requires exec[/bin/true], where exec[/bin/true] requires shell[eth0/check] because of this rule`},
		"a wait against the order of task groups": {"  waits: [{tasks: {types: [shell]}, for: {types: [exec]}}]",
			func(s *site.Site) {
				e := *s.Services[1].Entity
				e.Tasks = slices.Clone(e.Tasks)
				e.Tasks[2].Tag = task.PreNode
				e.Tasks[2].Requires = nil
				s.Services[1].Entity = &e
			},
			`deployment "lon1": ordering.waits[0]: shell[eth0/check], in the task group pre_node, requires exec[/bin/true], in the task group node, which comes later; ` +
				`give one of them another tag, or let the rule match less (on node b)`},
		"an unknown type": {"  waits: [{tasks: {types: [exec, packag]}, for: {types: [x]}}]\n  unordered: [shell]\n  classes: [{name: c, tasks: {types: [y]}}]\n  counts_as: [{tasks: {types: [z]}, section: os}]", nil,
			`deployment "lon1": ordering.classes[0].tasks.types[0]: there is no type "y" of tasks
deployment "lon1": ordering.counts_as[0].tasks.types[0]: there is no type "z" of tasks
deployment "lon1": ordering.unordered[0]: there is no type "shell" of tasks
deployment "lon1": ordering.waits[0].for.types[0]: there is no type "x" of tasks
deployment "lon1": ordering.waits[0].tasks.types[1]: there is no type "packag" of tasks; did you mean "package"?`},
		"a wait that does too much": {"  waits: [{tasks: {types: [file]}, for: {types: [exec]}}]", func(s *site.Site) {
			for i := range 400 {
				s.Services[0].Configuration["file"][fmt.Sprint("/f", i)] = params{"content": "x"}
				s.Services[0].Configuration["exec"][fmt.Sprint("/e", i)] = params{}
			}
		}, `deployment "lon1": ordering.waits[0]: makes 161202 requirements; 100000 is the most on one node`},
		"no selector": {"", func(
			s *site.Site) {
			s.Ordering = &catalog.Ordering{Classes: []catalog.Class{{Name: "c"}}}
		},
			`deployment "lon1": ordering.classes[0].tasks: selects nothing; give types, entities or sections`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := ordered(t, tt.rules)
			if tt.change != nil {
				tt.change(&s)
			}
			p, errs := planner.Make(s, nil, nil)
			if p != nil || !strings.Contains(errs.Errors().Error(), tt.want) {
				t.Errorf("got:\n%v\nwant:\n%s", errs, tt.want)
			}
		})
	}
}

// A wait that closes a cycle through a callback of a service as a whole is named with it.
func TestOrderingAndCallbacks(t *testing.T) {
	entities := entitiesOf(t, `
entities:
  x:
    tasks:
    - name: one
      config: {type: file, title: /one, parameters: {content: a}}
    - name: call
      tag: node
      requires: [{task: one}]
      callback: {type: command, parameters: {argv: [x]}}
    - name: two
      requires: [{task: call}]
      config: {type: exec, title: /bin/two}
`)
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}},
		Services: []site.Service{{Name: "x", Entity: entities["x"], Selectors: site.Selectors{}}}}
	s.Ordering = orderingOf(t, "  classes: [{name: calls, tasks: {types: [command]}}]")
	if d := cmp.Diff([]string{"a: file[/one]", ": command[x/call]", "a: exec[/bin/two]"},
		phasesOf(mustMake(t, s, nil, nil))); d != "" {
		t.Error(d)
	}
	s.Ordering = orderingOf(t, "  waits: [{tasks: {types: [file]}, for: {types: [exec]}}]")
	p, errs := planner.Make(s, nil, nil)
	if p != nil || !strings.Contains(errs.Error(),
		"command[x/call] requires file[/one] requires exec[/bin/two] requires command[x/call]; leave one of these requirements out, or change the rule waits[0] of the ordering") {
		t.Errorf("got %v", errs)
	}
}

// Groups that do not depend on each other go one after the other where their tasks do.
func TestGroupsThatComeAfterOthers(t *testing.T) {
	const catalog = `
entities:
  tunnel:
    attributes: {vni: {type: int, modifier: r}}
    tasks:
    - {name: allocate, tag: %s, callback: {type: command, parameters: {argv: [x]}, returns: {vni: stdout}}}
    - {name: configuration, config: {type: file, title: /etc/tunnel, parameters: {content: "${self.vni}"}}}
  report:
    tasks:
    - {name: call, tag: cluster, requires: [{service: tunnel}], callback: {type: command, parameters: {argv: [y]}}}
`
	pick := func(names ...string) site.Selectors { return site.Selectors{{NodeNames: names}} }
	tests := map[string]struct {
		tag     string
		report  bool
		plugins []site.Plugin
		want    string
	}{
		"before all groups":             {tag: "management", want: "a[] b[] c[] d[]"},
		"after all groups":              {tag: "post_cluster", want: "a[] b[] c[] d[]"},
		"in the first group":            {tag: "pre_node", want: "a[] b[] c[a] d[]"},
		"in the last group":             {tag: "cluster", want: "a[] b[] c[a] d[]"},
		"a callback of another service": {tag: "management", report: true, want: "a[] b[] c[] d[a c]"},
		"tasks of plugins": {tag: "management", want: "a[] b[] c[] d[a b]",
			plugins: []site.Plugin{{Name: "p", GraphTasks: []site.GraphTask{
				graphTask("first", "early", nil), graphTask("second", "late", []string{"first"}),
			}}}},
		"tasks of plugins after all groups": {tag: "management", want: "a[] b[] c[] d[]",
			plugins: []site.Plugin{{Name: "p", GraphTasks: []site.GraphTask{
				graphTask("first", "early", nil), graphTask("second", "late",
					[]string{"first", "post_deployment_start"}),
			}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			entities := entitiesOf(t, fmt.Sprintf(catalog, tt.tag))
			s := site.Site{Name: "lon1", Plugins: tt.plugins,
				Services: []site.Service{{Name: "tunnel", Entity: entities["tunnel"], Selectors: pick("a", "c")}}}
			for _, name := range []string{"a", "b", "c", "d"} {
				n := site.Node{Name: name}
				switch name {
				case "a", "b":
					n.Roles = []string{"early"}
				case "d":
					n.Roles = []string{"late"}
				}
				s.Nodes = append(s.Nodes, n)
				s.Groups = append(s.Groups, site.Group{Name: name, Selectors: pick(name)})
			}
			if tt.report {
				s.Services = append(s.Services, site.Service{Name: "report", Entity: entities["report"],
					Selectors: pick("d")})
			}
			var got []string
			for _, g := range mustMake(t, s, nil, nil).Groups {
				got = append(got, fmt.Sprint(g.Name, g.After))
			}
			if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

func graphTask(id, role string, requires []string) site.GraphTask {
	return site.GraphTask{ID: id, Type: plugin.Shell, Role: []string{role},
		Parameters: site.Parameters{"cmd": id, "timeout": int64(5)}, Requires: requires, FailOnError: true}
}
