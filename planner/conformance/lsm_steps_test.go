package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// lsmRun is an inventory during the steps of a vector.
type lsmRun struct {
	inventory *lifecycle.Inventory
	entities  map[string]vectorEntity
	touched   map[string]bool // services that a step was about
}

// lsmStep is one step, and what came of it.
type lsmStep struct {
	run  *lsmRun
	id   string // of the service that it is about
	args map[string]yaml.Node

	result  lifecycle.Result
	value   any // of an allocation
	refused error
}

func (s *lsmStep) call(t testing.TB) lifecycle.Call {
	return lifecycle.Call{ID: s.id, Version: number(t, s.args["version"])}
}

// lsmVerb is what a step does, with the arguments that it can have.
type lsmVerb struct {
	args []string
	do   func(t testing.TB, s *lsmStep)
}

// lsmVerbs is the table of verbs.
var lsmVerbs = map[string]lsmVerb{
	"create": {[]string{"entity", "attrs", "initial_state", "config"}, func(t testing.TB, s *lsmStep) {
		e := s.run.entities[text(t, s.args["entity"])]
		c := lifecycle.Create{ID: s.id, Entity: e.Entity, Config: e.Config, Initial: text(t, s.args["initial_state"]), Attributes: attributesOf(t, s.args["attrs"])}
		if config, ok := s.args["config"]; ok {
			c.Config = e.gates(decode[map[string]bool](t, config))
		}
		s.result, s.refused = s.run.inventory.Create(c)
	}},
	"update": {[]string{"version", "patch", "put", "edits", "ignore_read_only"}, func(t testing.TB, s *lsmStep) {
		in, _ := s.run.inventory.Instance(s.id)
		s.result, s.refused = s.run.inventory.Update(s.call(t), s.wanted(t, s.run.entities[in.Entity].Entity.Entity, in.Base()), "")
	}},
	"delete": {[]string{"version"}, func(t testing.TB, s *lsmStep) {
		s.result, s.refused = s.run.inventory.Delete(s.call(t))
	}},
	"set_state": {[]string{"version", "target"}, func(t testing.TB, s *lsmStep) {
		s.result, s.refused = s.run.inventory.SetState(s.call(t), text(t, s.args["target"]))
	}},
	"force_state": {[]string{"version", "state", "op"}, func(t testing.TB, s *lsmStep) {
		s.result, s.refused = s.run.inventory.ForceState(s.call(t), text(t, s.args["state"]), lifecycle.Operation(text(t, s.args["op"])))
	}},
	"config": {[]string{"version", "config", "values"}, func(t testing.TB, s *lsmStep) {
		s.result, s.refused = s.run.inventory.SetConfig(s.call(t), s.run.gates(s.id, s.gates(t)))
	}},
	"validation": {[]string{"ok", "allocated", "for_version"}, func(t testing.TB, s *lsmStep) {
		s.run.seeded(t, s.id)
		v := lifecycle.Validation{OK: flag(t, s.args["ok"]), ForVersion: number(t, s.args["for_version"])}
		if node, ok := s.args["allocated"]; ok {
			in, _ := s.run.inventory.Instance(s.id)
			v.Candidate = maps.Clone(in.Base())
			maps.Copy(v.Candidate, attributesOf(t, node))
		}
		s.result, s.refused = s.run.inventory.Validated(s.call(t), v)
	}},
	"resources": {[]string{"outcome", "dsv"}, func(t testing.TB, s *lsmStep) {
		s.result, s.refused = s.run.inventory.Deployed(s.call(t), outcomeOf(t, s.args["outcome"]), number(t, s.args["dsv"]))
	}},
	"restart": {nil, func(t testing.TB, s *lsmStep) {
		s.run.restart(t)
	}},
	"settle": {nil, func(t testing.TB, s *lsmStep) {
		s.result = s.run.settle(t, s.id)
	}},
	"allocate": {[]string{"entity", "attribute", "lower", "upper"}, replayAllocate},
	"query":    {nil, func(testing.TB, *lsmStep) {}},
}

// gates returns the gates that a step sets.
func (s *lsmStep) gates(t testing.TB) map[string]bool {
	for _, part := range []string{"config", "values"} {
		if node, ok := s.args[part]; ok {
			return decode[map[string]bool](t, node)
		}
	}
	return nil
}

// wanted returns the whole attributes that an update asks for, as a configuration has them. What a put leaves out is null, unless slipway's values are to
// be ignored: a configuration then says nothing of them.
func (s *lsmStep) wanted(t testing.TB, e *catalog.Entity, base map[string]any) map[string]any {
	t.Helper()
	out := maps.Clone(base)
	switch {
	case s.args["put"].Kind != 0:
		out = attributesOf(t, s.args["put"])
		ignored := flag(t, s.args["ignore_read_only"])
		for _, a := range e.Attributes {
			_, given := out[a.Name]
			switch {
			case a.Modifier != catalog.Allocated:
			case ignored:
				delete(out, a.Name)
			case !given:
				out[a.Name] = nil
			}
		}
	case s.args["edits"].Kind != 0:
		out, _ = plainOf(copied(base)).(map[string]any)
		for _, node := range items(t, s.args["edits"]) {
			edited(t, e.Structure, out, node)
		}
	default:
		if out == nil {
			out = make(map[string]any)
		}
		maps.Copy(out, attributesOf(t, s.args["patch"]))
	}
	return out
}

// outcomeOf is what tasks come to together: a word, or the states of resources as a run reports them.
func outcomeOf(t testing.TB, node yaml.Node) lifecycle.Outcome {
	t.Helper()
	if node.Kind != yaml.MappingNode {
		return lifecycle.Outcome(text(t, node))
	}
	var n rollout.NodeReport
	var tasks []task.Task
	for title, state := range decode[map[string]string](t, node) {
		of := task.Task{Node: "n", Resource: resource.Resource{Type: "file", Title: title}}
		tasks = append(tasks, of)
		switch state {
		case "deployed":
			n.Done = append(n.Done, of.Resource.ID())
		case "failed":
			n.Failures = append(n.Failures, rollout.Failure{Resource: of.Resource.ID()})
		case "skipped":
			n.Failures = append(n.Failures, rollout.Failure{Resource: of.Resource.ID(), Skipped: true})
		}
	}
	progress, _ := rollout.Report{Nodes: map[string]rollout.NodeReport{"n": n}}.Progress(tasks)
	return progress.Outcome()
}

// replayAllocate chooses a value for an attribute of the service, or of a new child of it (`files[].uid`).
func replayAllocate(t testing.TB, s *lsmStep) {
	name := text(t, s.args["entity"])
	own := *s.run.entities[name].Entity.Entity
	path := strings.Split(text(t, s.args["attribute"]), "[].")
	pool := catalog.Pool{Name: "pool", Integer: &catalog.IntegerPool{From: int64(number(t, s.args["lower"])), To: int64(number(t, s.args["upper"]))}}
	in, _ := s.run.inventory.Instance(s.id)
	candidate, _ := copied(in.Base()).(map[string]any)
	if candidate == nil {
		candidate = make(map[string]any)
	}
	within, child := &own.Structure, candidate
	for _, list := range path[:len(path)-1] {
		within.Embedded = slices.Clone(within.Embedded)
		i := slices.IndexFunc(within.Embedded, func(e catalog.Embedded) bool { return e.Name == list })
		children, _ := child[list].([]any)
		next := map[string]any{}
		child[list], child, within = append(children, next), next, &within.Embedded[i].Structure
	}
	attribute := path[len(path)-1]
	within.Attributes = slices.Clone(within.Attributes)
	i := slices.IndexFunc(within.Attributes, func(a catalog.Attribute) bool { return a.Name == attribute })
	if i < 0 {
		t.Fatalf("there is no attribute %s", attribute)
	}
	within.Attributes[i].Allocate = &catalog.Allocation{Pool: pool.Name, Own: &pool}
	var live []lifecycle.PoolUser
	for _, other := range s.run.inventory.Instances() {
		if other.Entity == name && !other.Deleted {
			live = append(live, lifecycle.PoolUser{Name: other.ID, Entity: &own, Sets: []map[string]any{other.Candidate, other.Active, other.Rollback}})
		}
	}
	got, errs := lifecycle.NewPoolUsage(live).Allocate(s.id, &own, nil, candidate)
	if len(errs) > 0 {
		s.refused = invalid.Errors(errs)
		return
	}
	for _, list := range path[:len(path)-1] {
		children, _ := got[list].([]any)
		got, _ = children[len(children)-1].(map[string]any)
	}
	s.value = got[attribute]
}

// replaySteps carries the steps out, and compares after each.
func replaySteps(t testing.TB, f *file, v *vector) {
	run := &lsmRun{inventory: lifecycle.NewInventory(), entities: entitiesOf(t, f, v), touched: make(map[string]bool)}
	for _, node := range items(t, v.keys["given"]) {
		run.given(t, node)
	}
	steps := items(t, v.keys["steps"])
	if len(steps) == 0 {
		t.Fatal("no steps")
	}
	for i, node := range steps {
		args := decode[map[string]yaml.Node](t, node)
		do := text(t, args["do"])
		subtest(t, fmt.Sprintf("%d_%s", i, do), func(t testing.TB) {
			verb, ok := lsmVerbs[do]
			if !ok {
				t.Fatalf("no code handles the step %q", do)
			}
			known(t, "step", node, append([]string{"do", "id", "expect"}, verb.args...)...)
			s := &lsmStep{run: run, id: "a", args: args}
			if id, ok := args["id"]; ok {
				s.id = text(t, id)
			}
			before := run.inventory.Instances()
			verb.do(t, s)
			if s.refused != nil {
				same(t, "services after a refusal", run.inventory.Instances(), before)
			}
			if do != "query" && do != "allocate" {
				run.touched[s.id] = true
			}
			s.compare(t)
		})
		if t.Failed() {
			t.Fatal("the steps after a failed one say nothing")
		}
	}
}

// given puts a service into the inventory.
func (r *lsmRun) given(t testing.TB, node yaml.Node) {
	t.Helper()
	in := instanceOf(t, node)
	e := r.entities[in.Entity]
	in.Config = e.gates(in.Config)
	if err := r.inventory.Load(in, e.Entity); err != nil {
		t.Fatal(err)
	}
}

// instanceOf reads a service that is given.
func instanceOf(t testing.TB, node yaml.Node) lifecycle.Instance {
	t.Helper()
	k := known(t, "given service", node, "id", "entity", "state", "version", "dsv", "candidate", "active", "rollback", "deleted", "last", "config")
	in := lifecycle.Instance{ID: text(t, k["id"]), Entity: text(t, k["entity"]), State: text(t, k["state"]), Version: number(t, k["version"]),
		DesiredVersion: number(t, k["version"]), Deleted: flag(t, k["deleted"]), Last: lifecycle.Outcome(text(t, k["last"]))}
	if dsv, ok := k["dsv"]; ok {
		in.DesiredVersion = number(t, dsv)
	}
	if config, ok := k["config"]; ok {
		in.Config = decode[map[string]bool](t, config)
	}
	for _, set := range lifecycle.AllSets() {
		if n, ok := k[string(set)]; ok {
			in.Sets = in.With(set, attributesOf(t, n))
		}
	}
	return in
}

// seeded begins the validation that a given service waits for, which was under way before the vector begins.
func (r *lsmRun) seeded(t testing.TB, id string) {
	t.Helper()
	in, ok := r.inventory.Instance(id)
	if !ok || r.touched[id] || in.Pending != nil {
		return
	}
	if auto, ok := r.entities[in.Entity].Machine.Transfer(in.State, lifecycle.Auto); ok && auto.Validate {
		r.settle(t, id)
	}
}

// gates returns the gates of a service, with those of its entity.
func (r *lsmRun) gates(id string, own map[string]bool) map[string]bool {
	in, _ := r.inventory.Instance(id)
	return r.entities[in.Entity].gates(own)
}

// settle lets a service go on by itself: its gates are set as they are.
func (r *lsmRun) settle(t testing.TB, id string) lifecycle.Result {
	t.Helper()
	in, _ := r.inventory.Instance(id)
	result, err := r.inventory.SetConfig(lifecycle.Call{ID: id, Version: in.Version}, in.Config)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// restart goes on with what is written down of the services: as a next plan does, from the state that the run before it left.
func (r *lsmRun) restart(t testing.TB) {
	t.Helper()
	written, err := json.Marshal(services.Inventory{Records: records(r.inventory.Instances())})
	if err != nil {
		t.Fatal(err)
	}
	var state services.Inventory
	if err := json.Unmarshal(written, &state); err != nil {
		t.Fatal(err)
	}
	r.inventory = lifecycle.NewInventory()
	for id, record := range state.Records {
		if err := r.inventory.Load(record.Instance, r.entities[record.Entity].Entity); err != nil {
			t.Fatal(err)
		}
		if !record.Deleted {
			r.settle(t, id)
		}
		r.touched[id] = true
	}
}

func records(instances []lifecycle.Instance) map[string]services.Record {
	out := make(map[string]services.Record)
	for _, in := range instances {
		out[in.ID] = services.Record{Instance: in}
	}
	return out
}

// compare compares what the step expects with what came of it.
func (s *lsmStep) compare(t testing.TB) {
	t.Helper()
	expect := s.args["expect"]
	k := make(map[string]yaml.Node)
	if !expect.IsZero() {
		k = known(t, "expect", expect, "error", "path", "state", "version", "dsv", "candidate", "active", "rollback", "deleted", "pending",
			"trace", "events", "compiles", "export", "validate_members", "instances", "result")
	}
	s.compareError(t, k)
	if s.result.Stopped != nil {
		t.Logf("stopped: %v", s.result.Stopped)
	}
	compareInstance(t, s.run.inventory, s.id, k)
	for id, node := range mapping(t, k["instances"]) {
		compareInstance(t, s.run.inventory, id, known(t, "instance "+id, node, "state", "version", "dsv", "candidate", "active", "rollback", "deleted", "pending"))
	}
	for key, node := range k {
		if look, ok := lsmLooks[key]; ok {
			got := look(t, s)
			if d := cmp.Diff(plainValue(t, node), got); d != "" {
				t.Errorf("%s (-want +got):\n%s", key, d)
			}
		}
	}
}

func (s *lsmStep) compareError(t testing.TB, k map[string]yaml.Node) {
	t.Helper()
	want, path := text(t, k["error"]), text(t, k["path"])
	if want == "" {
		if s.refused != nil {
			t.Errorf("refused: %v", s.refused)
		}
		return
	}
	var refused invalid.Errors
	if !errors.As(s.refused, &refused) {
		t.Errorf("got the error %v, want %s", s.refused, want)
		return
	}
	t.Log(refused)
	if at := refused[0].Attribute; string(refused[0].Code) != want || path != "" && at != path && withoutPlaces(at) != path {
		t.Errorf("got %s %s, want %s %s", refused[0].Code, at, want, path)
	}
}

// lsmLooks is the table of what a step can expect beside errors and services, in the form of the vectors.
var lsmLooks = map[string]func(t testing.TB, s *lsmStep) any{
	"result": func(_ testing.TB, s *lsmStep) any { return s.value },
	"trace": func(_ testing.TB, s *lsmStep) any {
		out := []any{}
		for _, h := range s.result.Trace {
			if h.ID == s.id {
				out = append(out, []any{int64(h.Version), h.State})
			}
		}
		return out
	},
	"events": func(_ testing.TB, s *lsmStep) any {
		out := []any{}
		for _, e := range s.result.Events {
			if e.Service != s.id {
				continue
			}
			line := fmt.Sprintf("%d %s %s", e.Version, strings.TrimSuffix(string(e.Type), "_TRANSITION"), e.Step)
			if e.Error {
				line += "!"
			}
			out = append(out, line)
		}
		return out
	},
	"compiles": func(_ testing.TB, s *lsmStep) any {
		out := []any{}
		for _, e := range s.result.Events {
			if e.Step == lifecycle.Compiling {
				out = append(out, []any{e.Service, int64(e.Version + 1)})
			}
		}
		return out
	},
	"export": func(t testing.TB, s *lsmStep) any {
		members, err := s.run.inventory.Export()
		if err != nil {
			t.Error(err)
		}
		out := map[string]any{}
		for _, m := range members {
			out[m.ID] = map[string]any{"set": string(m.Set), "purge": m.Purge}
		}
		return out
	},
	"validate_members": func(t testing.TB, s *lsmStep) any {
		members, err := s.run.inventory.Validation(s.id)
		if err != nil {
			t.Error(err)
		}
		out := map[string]any{}
		for _, m := range members {
			out[m.ID] = string(m.Set)
		}
		return out
	},
}

// compareInstance compares a service with the parts that are expected of it.
func compareInstance(t testing.TB, inventory *lifecycle.Inventory, id string, k map[string]yaml.Node) {
	t.Helper()
	parts := map[string]func(in lifecycle.Instance) any{
		"state":     func(in lifecycle.Instance) any { return in.State },
		"version":   func(in lifecycle.Instance) any { return int64(in.Version) },
		"dsv":       func(in lifecycle.Instance) any { return int64(in.DesiredVersion) },
		"deleted":   func(in lifecycle.Instance) any { return in.Deleted },
		"candidate": func(in lifecycle.Instance) any { return anySet(in.Candidate) },
		"active":    func(in lifecycle.Instance) any { return anySet(in.Active) },
		"rollback":  func(in lifecycle.Instance) any { return anySet(in.Rollback) },
		"pending": func(in lifecycle.Instance) any {
			if in.Pending == nil {
				return nil
			}
			return []any{in.Pending.Target, in.Pending.Error}
		},
	}
	for key, part := range parts {
		node, expected := k[key]
		if !expected {
			continue
		}
		in, ok := inventory.Instance(id)
		if !ok {
			t.Errorf("there is no service %q", id)
			return
		}
		if d := cmp.Diff(plainValue(t, node), part(in)); d != "" {
			t.Errorf("%s of %s (-want +got):\n%s", key, id, d)
		}
	}
}

func anySet(attributes map[string]any) any {
	if attributes == nil {
		return nil
	}
	return attributes
}
