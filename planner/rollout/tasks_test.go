package rollout_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// phaseDocument is one phase of a tasks file. Exactly one of Files, Packages, Remote, Callback, and the flags Prepare,
// Unlock and Forget says what its tasks are; all but callbacks are repeated for each node. Names of remote tasks may
// have a type before a colon: puppet:p/t.
type phaseDocument struct {
	In       task.Group
	Group    string
	Nodes    []string
	Files    []string
	Packages []string
	Remote   []string
	Callback []string
	Prepare  bool
	Unlock   bool
	Check    bool
	Forget   bool
	Limit    int
	Tolerate bool
	Remove   bool   // instead of what is done to a resource
	Late     string // service/name: the content of files, read when the phase starts
}

// tasks replaces the phases of the plan.
func tasks(ts *testscript.TestScript, _ bool, args []string) {
	var docs []phaseDocument
	decoder := yaml.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	decoder.KnownFields(true)
	ts.Check(decoder.Decode(&docs))
	p := on(ts).plan
	p.Phases = nil
	for _, doc := range docs {
		ph := planner.Phase{TaskGroup: doc.In, Group: doc.Group}
		nodes := doc.Nodes
		if len(nodes) == 0 {
			nodes = []string{""}
		}
		for _, n := range nodes {
			for _, t := range doc.tasks() {
				t.Node, t.Group, t.Limit, t.Tolerate = n, doc.In, doc.Limit, doc.Tolerate
				t.Digest = resource.Digest(t.Resource)
				if doc.Remove {
					t.Action = task.Remove
				}
				ph.Tasks = append(ph.Tasks, t)
			}
		}
		p.Phases = append(p.Phases, ph)
	}
}

func (d phaseDocument) tasks() []task.Task {
	var out []task.Task
	for flag, action := range map[task.Action]bool{task.PrepareNode: d.Prepare, task.Unlock: d.Unlock,
		task.HealthCheck: d.Check, task.Forget: d.Forget} {
		if action {
			out = append(out, task.Task{Action: flag})
		}
	}
	for _, f := range d.Files {
		r := resource.Resource{Type: "file", Title: f, Parameters: resource.Parameters{"content": "x\n"}}
		if d.Late != "" {
			r.Parameters["late"] = d.Late
		}
		out = append(out, task.Task{Action: task.Create, Resource: r})
	}
	for _, p := range d.Packages {
		r := resource.Resource{Type: "package", Title: p, Parameters: resource.Parameters{"ensure": "installed"}}
		out = append(out, task.Task{Action: task.Create, Resource: r})
	}
	for _, name := range d.Remote {
		typ, rest, typed := strings.Cut(name, ":")
		if !typed {
			typ, rest = "shell", name
		}
		out = append(out, task.Task{Kind: task.Remote, Name: rest, Action: task.Run,
			Resource: resource.Resource{Type: typ, Title: rest}})
	}
	for _, name := range d.Callback {
		out = append(out, task.Task{Kind: task.Callback, Name: name, Action: task.Run,
			Resource: resource.Resource{Type: "command", Title: name}})
	}
	return out
}

// late stands for the resolver: a file whose parameter late names a value gets it as its content.
func late(_ *planner.Plan, t task.Task, values rollout.Values) (task.Task, error) {
	name, ok := t.Resource.Parameters["late"].(string)
	if !ok {
		return t, nil
	}
	service, key, _ := strings.Cut(name, "/")
	value, ok := values[service][key]
	if !ok {
		return t, fmt.Errorf("there is no value %s", name)
	}
	t.Resource.Parameters = resource.Parameters{"content": value}
	return t, nil
}

func yields(ts *testscript.TestScript, _ bool, args []string) {
	values := map[string]any{}
	for _, pair := range args[1:] {
		key, value, _ := strings.Cut(pair, "=")
		values[key] = value
	}
	on(ts).operator.yields[args[0]] = values
}

// values shows what the report keeps of callbacks, and what the nodes were given of it.
func values(ts *testscript.TestScript, _ bool, _ []string) {
	r := on(ts).report
	for _, service := range slices.Sorted(maps.Keys(r.Values)) {
		for _, name := range slices.Sorted(maps.Keys(r.Values[service])) {
			fmt.Fprintf(ts.Stdout(), "%s/%s = %v\n", service, name, r.Values[service][name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Callbacks)) {
		fmt.Fprintf(ts.Stdout(), "%s %s\n", name, map[bool]string{true: "ran", false: "began"}[r.Callbacks[name] != ""])
	}
	for _, got := range slices.SortedFunc(slices.Values(on(ts).fake.contents), cmp.Compare) {
		fmt.Fprintln(ts.Stdout(), got)
	}
}

// again makes ready for the next run on the same nodes.
func again(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	f := newFaulty()
	f.ledgers, f.locked, f.knows, f.unchecked = s.fake.ledgers, s.fake.locked, s.fake.knows, s.fake.unchecked
	s.fake, s.diary, s.run, s.cut = f, &diary{}, args[0], nil
	s.operator.faults, s.operator.calls = map[string]string{}, nil
}
