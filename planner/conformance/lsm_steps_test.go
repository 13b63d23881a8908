package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/allocation"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/edit"
)

// lsmRun is an inventory during the steps of a vector.
type lsmRun struct {
	inventory *lifecycle.Inventory
	optimised bool
	partial   bool
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
		c := lifecycle.Create{ID: s.id, Entity: text(t, s.args["entity"]), Initial: text(t, s.args["initial_state"]), Attributes: attributesOf(t, s.args["attrs"])}
		if config, ok := s.args["config"]; ok {
			c.Config = decode[map[string]bool](t, config)
		}
		s.result, s.refused = s.run.inventory.Create(c)
	}},
	"update": {[]string{"version", "patch", "put", "edits", "ignore_read_only"}, func(t testing.TB, s *lsmStep) {
		change := lifecycle.Change{IgnoreReadOnly: flag(t, s.args["ignore_read_only"])}
		for key, into := range map[string]*map[string]any{"patch": &change.Patch, "put": &change.Put} {
			if node, ok := s.args[key]; ok {
				*into = attributesOf(t, node)
			}
		}
		for _, node := range items(t, s.args["edits"]) {
			k := known(t, "edit", node, "edit_id", "operation", "target", "value")
			e := edit.Edit{ID: text(t, k["edit_id"]), Operation: text(t, k["operation"]), Target: text(t, k["target"])}
			if value, ok := k["value"]; ok {
				e.Value = plainValue(t, value)
			}
			change.Edits = append(change.Edits, e)
		}
		s.result, s.refused = s.run.inventory.Update(s.call(t), change)
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
	"config": {[]string{"version", "config"}, func(t testing.TB, s *lsmStep) {
		s.result, s.refused = s.run.inventory.SetConfig(s.call(t), decode[map[string]bool](t, s.args["config"]))
	}},
	"validation": {[]string{"ok", "allocated", "for_version"}, func(t testing.TB, s *lsmStep) {
		s.run.seeded(t, s.id)
		v := lifecycle.Validation{OK: flag(t, s.args["ok"]), ForVersion: number(t, s.args["for_version"])}
		if node, ok := s.args["allocated"]; ok {
			v.Allocated = attributesOf(t, node)
		}
		s.result, s.refused = s.run.inventory.Validated(s.call(t), v)
	}},
	"resources": {[]string{"outcome", "dsv"}, func(t testing.TB, s *lsmStep) {
		s.result, s.refused = s.run.inventory.Deployed(s.call(t), lifecycle.Outcome(text(t, s.args["outcome"])), number(t, s.args["dsv"]))
	}},
	"restart": {nil, func(t testing.TB, s *lsmStep) {
		s.result, s.refused = s.run.inventory.Restart(s.call(t).At)
		for _, in := range s.run.inventory.Instances() {
			s.run.touched[in.ID] = true
		}
	}},
	"allocate": {[]string{"entity", "attribute", "lower", "upper"}, replayAllocate},
	"query":    {nil, func(testing.TB, *lsmStep) {}},
}

// replayAllocate chooses a value for an attribute of the service, or of all children of its kind.
func replayAllocate(t testing.TB, s *lsmStep) {
	e, ok := s.run.inventory.Entity(text(t, s.args["entity"]), nil)
	if !ok {
		t.Fatal("there is no such entity")
	}
	name := text(t, s.args["attribute"])
	pattern, err := edit.ParsePattern(name)
	if err != nil {
		t.Fatal(err)
	}
	pool := catalog.Pool{Integer: &catalog.IntegerPool{From: int64(number(t, s.args["lower"])), To: int64(number(t, s.args["upper"]))}}
	entity := *e.Entity
	entity.Attributes = slices.Clone(entity.Attributes)
	own := slices.IndexFunc(entity.Attributes, func(a catalog.Attribute) bool { return a.Name == name })
	if own >= 0 {
		entity.Attributes[own].Allocate = &catalog.Allocation{Pool: name, Own: &pool}
	}
	var live []allocation.Service
	var used []any
	for _, in := range s.run.inventory.Instances() {
		if in.Entity != e.Name || in.Deleted {
			continue
		}
		sets := []map[string]any{in.Candidate, in.Active, in.Rollback}
		live = append(live, allocation.Service{ID: in.ID, Name: in.ID, Entity: &entity, Sets: sets})
		used = append(used, allocation.Values(pattern, sets...)...)
	}
	refused := func(kind catalog.Code, path, message string) {
		s.refused = &lifecycle.Error{Kind: lifecycle.Kind(kind), Service: s.id, Path: path, Message: message}
	}
	in, there := s.run.inventory.Instance(s.id)
	if own < 0 || !there {
		var exhausted *allocation.Exhausted
		if s.value, err = allocation.Pick(pool, "", used); errors.As(err, &exhausted) {
			refused(catalog.PoolExhausted, name, err.Error())
		} else if err != nil {
			t.Fatal(err)
		}
		return
	}
	request := allocation.Request{Service: allocation.Service{ID: s.id, Name: s.id, Entity: &entity}, Candidate: in.Base()}
	candidate, _, mistakes := allocation.NewBook(live).Allocate(request)
	s.value = candidate[name]
	if len(mistakes) > 0 {
		refused(mistakes[0].Code, mistakes[0].Path, mistakes[0].Message)
	}
}

// replaySteps carries the steps out, and compares after each.
func replaySteps(t testing.TB, f *file, v *vector) {
	run := &lsmRun{optimised: flag(t, v.keys["optimize"]), partial: flag(t, v.keys["partial"]), touched: make(map[string]bool)}
	run.inventory = lifecycle.NewInventory(lifecycle.Settings{Optimise: run.optimised, Partial: run.partial})
	entitiesOf(t, f, v, run.inventory)
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
	if err := r.inventory.Load(in); err != nil {
		t.Fatal(err)
	}
}

// seeded begins the validation that a given service waits for, which was under way before the vector begins.
func (r *lsmRun) seeded(t testing.TB, id string) {
	t.Helper()
	in, ok := r.inventory.Instance(id)
	if !ok || r.touched[id] || in.Pending != nil {
		return
	}
	e, _ := r.inventory.Entity(in.Entity, &in.EntityVersion)
	if auto, ok := e.Machine.Transfer(in.State, lifecycle.Auto); !ok || !auto.Validate {
		return
	}
	if _, err := r.inventory.Settle(lifecycle.Call{ID: id}); err != nil {
		t.Fatal(err)
	}
}

// compare compares what the step expects with what came of it.
func (s *lsmStep) compare(t testing.TB) {
	t.Helper()
	expect := s.args["expect"]
	k := make(map[string]yaml.Node)
	if !expect.IsZero() {
		k = known(t, "expect", expect, "error", "path", "state", "version", "dsv", "candidate", "active", "rollback", "deleted", "pending",
			"trace", "events", "compiles", "export", "validate_members", "resource_sets", "instances", "result")
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
	var refused *lifecycle.Error
	if !errors.As(s.refused, &refused) {
		t.Errorf("got the error %v, want %s", s.refused, want)
		return
	}
	t.Log(refused)
	if string(refused.Kind) != want || path != "" && refused.Path != path {
		t.Errorf("got %s %s, want %s %s", refused.Kind, refused.Path, want, path)
	}
}

// lsmLooks is the table of what a step can expect beside errors and services, in the form of the vectors.
var lsmLooks = map[string]func(t testing.TB, s *lsmStep) any{
	"result": func(_ testing.TB, s *lsmStep) any { return s.value },
	"trace": func(_ testing.TB, s *lsmStep) any {
		out := []any{}
		for _, h := range s.result.Trace {
			if h.Service == s.id {
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
		for _, c := range s.result.Compiles {
			row := []any{c.Service, int64(c.Version)}
			if s.run.partial {
				row = append(row, listOf(c.Scope))
			}
			out = append(out, row)
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
	"resource_sets": func(_ testing.TB, s *lsmStep) any {
		out := map[string]any{}
		for root, members := range s.run.inventory.ResourceSets() {
			out[root] = listOf(members)
		}
		return out
	},
}

func listOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
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
