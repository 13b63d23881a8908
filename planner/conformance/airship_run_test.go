package conformance

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/simulate"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// calls are the nodes that were submitted, per group. A group for which no call was made is absent.
type calls map[string][]string

// failure is the first phase whose criteria a group did not meet.
type failure struct {
	Phase    string
	Criteria []string
}

// replayRun applies a site with the strategy, and simulates the same with the companion's means: groups and nodes must come to the same stages.
func replayRun(t testing.TB, f *file, v *vector) {
	v.inputs(t, "inventory", "strategy", "outcomes", "order_matters")
	expect := expectations(t, v.keys["expect"],
		"before", "groups", "nodes", "prepare", "deploy", "failed", "critical_failed", "order", "error")
	if len(expect) == 0 {
		t.Fatal("the vector expects nothing")
	}
	var script simulate.Outcomes
	v.into(t, "outcomes", &script)
	s := withWork(inventory(t, f, v), groups(t, f, v), script)
	foreseen, err := simulate.New(s, script, time.Time{})
	expectError(t, err, decode[string](t, expect["error"]))
	if err != nil {
		return
	}
	did, err := apply(t, s, script, nil)
	var errs invalid.Errors
	if errors.As(err, &errs) && len(reachable(errs.Errors())) == 0 { // what always fails has no plan
		same(t, "a critical group fails", foreseen.Status, simulate.Failed)
		did = asSimulated(foreseen)
	} else if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, g := range did.report.Groups {
		order = append(order, g.Name)
	}
	for key, want := range expect {
		switch key {
		case "groups":
			same(t, key, stagesOf(did.report.Groups), decode[map[string]string](t, want))
			same(t, "simulated "+key, stagesOf(foreseen.Report.Groups), decode[map[string]string](t, want))
		case "nodes":
			got := map[string]string{}
			for name, n := range did.report.Nodes {
				got[name] = string(n.Stage)
			}
			same(t, key, got, decode[map[string]string](t, want))
		case "prepare", "deploy":
			phase := simulate.Phase(key)
			want := sorted(decode[calls](t, want))
			same(t, "simulated "+key, callsOf(foreseen, phase), want)
			same(t, key, did.calls[phase], slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(want))...))))
		case "failed":
			want := decode[map[string]failure](t, want)
			for _, f := range want {
				slices.Sort(f.Criteria)
			}
			same(t, key, failures(did.report.Groups), want)
			same(t, "simulated "+key, failures(foreseen.Report.Groups), want)
		case "critical_failed":
			same(t, key, did.report.Status == rollout.StatusFailed, decode[bool](t, want))
			same(t, "simulated "+key, foreseen.Status == simulate.Failed, decode[bool](t, want))
		case "before":
			for _, pair := range decode[[][]string](t, want) {
				inOrder(t, order, pair)
			}
		case "order":
			same(t, key, order, decode[[]string](t, want))
		}
	}
	var matters []string
	v.into(t, "order_matters", &matters)
	inOrder(t, order, matters)
}

// asSimulated is a simulated run in the form of one that was made.
func asSimulated(run simulate.Run) applied {
	out := applied{report: rollout.Report{Groups: run.Report.Groups, Status: rollout.Status(run.Status), Nodes: map[string]rollout.NodeReport{}},
		calls: map[simulate.Phase][]string{}}
	for _, stage := range run.Report.Nodes {
		for _, node := range stage.Nodes {
			out.report.Nodes[node] = rollout.NodeReport{Stage: stage.Stage}
		}
	}
	for _, phase := range simulate.Phases() {
		out.calls[phase] = slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(callsOf(run, phase)))...)))
	}
	return out
}

func stagesOf(groups []strategy.GroupReport) map[string]string {
	out := map[string]string{}
	for _, g := range groups {
		out[g.Name] = string(g.Stage)
	}
	return out
}

// callsOf returns the nodes that a simulated run submits in a phase. A group without any is absent.
func callsOf(run simulate.Run, phase simulate.Phase) calls {
	out := calls{}
	for _, step := range run.Steps {
		if step.Phase == phase && len(step.Nodes) > 0 {
			out[step.Group] = step.Nodes
		}
	}
	return out
}

func failures(groups []strategy.GroupReport) map[string]failure {
	out := map[string]failure{}
	for _, g := range groups {
		if len(g.Shortfalls) == 0 {
			continue
		}
		failed := failure{Phase: string(g.Shortfalls[0].Phase)}
		for _, s := range g.Shortfalls {
			failed.Criteria = append(failed.Criteria, s.Criterion)
		}
		slices.Sort(failed.Criteria)
		out[g.Name] = failed
	}
	return out
}

func sorted(c calls) calls {
	out := calls{}
	for group, nodes := range c {
		out[group] = slices.Sorted(slices.Values(nodes))
	}
	return out
}

// inOrder checks that the names stand in an order of groups one after the other.
func inOrder(t testing.TB, order, names []string) {
	t.Helper()
	last := -1
	for _, name := range names {
		at := slices.Index(order, name)
		if at <= last {
			t.Errorf("the order is %v, want %v in it in this order", order, names)
			return
		}
		last = at
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// replayCriteria applies a site with one group after the other, whose nodes come to the stages that are given: those that are deployed have nothing to
// do, and those whose stage is no success in the phase fail there.
func replayCriteria(t testing.TB, f *file, v *vector) {
	v.inputs(t, "inventory", "strategy", "node_stages", "phase", "group")
	var stages map[string]strategy.Stage
	v.into(t, "node_stages", &stages)
	phase := decode[strategy.Stage](t, v.keys["phase"])
	nodes, all := inventory(t, f, v), groups(t, f, v)
	if kind, ok := decode[map[string]any](t, v.keys["expect"])["error"].(string); ok {
		judgeError(t, v, withWork(nodes, all, nil), stages, phase, kind)
		return
	}
	script := simulate.Outcomes{simulate.Prepare: {}, simulate.Deploy: {}}
	for _, n := range nodes {
		switch stage := stages[n.Name]; {
		case stage == strategy.Deployed, stage == phase:
		case phase == strategy.Prepared:
			script.Add(simulate.Prepare, n.Name, simulate.Failure)
		default:
			script.Add(simulate.Deploy, n.Name, simulate.Failure)
		}
	}
	type shortfall struct {
		Criteria string
		Needed   int
		Actual   float64
	}
	expect := decode[map[string][]shortfall](t, v.keys["expect"])
	if len(expect) == 0 {
		t.Fatal("the vector expects nothing")
	}
	for name, want := range expect {
		i := slices.IndexFunc(all, func(g site.Group) bool { return g.Name == name })
		if i < 0 {
			t.Fatalf("there is no group %q", name)
		}
		alone := all[i]
		alone.DependsOn = nil
		s := withWork(nodes, []site.Group{alone}, script)
		before, errs := planner.AppliedAfter(s)
		if before == nil {
			t.Fatal(errs)
		}
		maps.DeleteFunc(before, func(node string, _ map[resource.ID]string) bool { return stages[node] != strategy.Deployed })
		did, err := apply(t, s, script, before)
		if err != nil {
			t.Error(err)
			continue
		}
		got := []shortfall{}
		for _, s := range did.report.Groups[0].Shortfalls {
			same(t, name+": phase", s.Phase, phase)
			got = append(got, shortfall{s.Criterion, s.Needed, float64(s.Actual)})
		}
		for i := range want {
			want[i].Actual = float64(int(want[i].Actual)) // slipway rounds percentages down
		}
		same(t, name, got, want)
	}
}

// judgeError looks for the error of a question that no run asks: about nodes, a group or a phase that do not exist.
func judgeError(t testing.TB, v *vector, s site.Site, stages map[string]strategy.Stage, phase strategy.Stage, kind string) {
	t.Helper()
	script := simulate.Outcomes{}
	for node := range stages {
		script.Add(simulate.Prepare, node, simulate.Success)
	}
	run, err := simulate.New(s, script, time.Time{})
	machine, invalid := strategy.New(s.Groups, s.Nodes, nil)
	if invalid != nil {
		t.Fatal(invalid)
	}
	var asked []string
	for _, g := range run.Report.Groups {
		asked = append(asked, g.Name)
	}
	if v.has("group") {
		asked = []string{decode[string](t, v.keys["group"])}
	}
	for _, group := range asked {
		if _, wrong := machine.Judge(group, phase); wrong != nil {
			err = wrong
		}
	}
	expectError(t, err, kind)
}

// replayCounts decides whether a group of so many nodes, of which so many succeed, meets a percentage.
func replayCounts(t testing.TB, _ *file, v *vector) {
	v.inputs(t, "cases")
	cases := decode[[]struct {
		Total, Successful, Percent int
		OK                         bool
	}](t, v.keys["cases"])
	if len(cases) == 0 {
		t.Fatal("the vector has no cases")
	}
	for _, c := range cases {
		var nodes []site.Node
		script := simulate.Outcomes{}
		for i := range c.Total {
			nodes = append(nodes, site.Node{Name: fmt.Sprintf("n%03d", i)})
			if i >= c.Successful {
				script.Add(simulate.Deploy, nodes[i].Name, simulate.Failure)
			}
		}
		group := site.Group{Name: "g", SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: &c.Percent}}
		did, err := apply(t, withWork(nodes, []site.Group{group}, script), script, nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("%d of %d at %d percent", c.Successful, c.Total, c.Percent), did.report.Groups[0].Stage == strategy.Deployed, c.OK)
	}
}

// replayTransition applies group stages one after the other, from NOT_STARTED.
func replayTransition(t testing.TB, _ *file, v *vector) {
	v.inputs(t, "steps")
	expect := expectations(t, v.keys["expect"], "ok", "error", "at", "stage", "final")
	var steps []string
	v.into(t, "steps", &steps)
	stage, failedAt := strategy.NotStarted, -1
	var err error
	for i, step := range steps {
		if err = strategy.Transition(stage, strategy.Stage(step)); err != nil {
			failedAt = i
			break
		}
		stage = strategy.Stage(step)
	}
	kind, hasError := expect["error"]
	if ok := decode[bool](t, expect["ok"]); len(expect) == 0 || ok && hasError {
		t.Fatal("the vector expects nothing, or both that it goes well and an error")
	}
	expectError(t, err, decode[string](t, kind))
	if at, ok := expect["at"]; ok {
		same(t, "at", failedAt, decode[int](t, at))
	}
	for _, key := range []string{"stage", "final"} {
		if want, ok := expect[key]; ok {
			same(t, key, string(stage), decode[string](t, want))
		}
	}
}

// replayDefault compares a generated strategy.
func replayDefault(t testing.TB, _ *file, v *vector) {
	v.inputs(t, "target_nodes")
	expect := expectations(t, v.keys["expect"], "groups", "error")
	got := strategy.Default()
	var err error
	if v.has("target_nodes") {
		got, err = strategy.Targets(decode[[]string](t, v.keys["target_nodes"]))
	}
	expectError(t, err, decode[string](t, expect["error"]))
	if _, ok := expect["groups"]; !ok {
		return
	}
	want, err := parse(t, withoutEmptySelectors(v.keys["expect"]))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]site.Group{got, want} {
		for i := range list { // absent and empty mean the same (airship.md 3)
			list[i].DependsOn = append([]string{}, list[i].DependsOn...)
			for j, s := range list[i].Selectors {
				list[i].Selectors[j] = site.Selector{
					NodeNames: append([]string{}, s.NodeNames...), NodeTags: append([]string{}, s.NodeTags...),
					NodeLabels: append([]string{}, s.NodeLabels...), RackNames: append([]string{}, s.RackNames...),
				}
			}
		}
	}
	same(t, "groups", got, want)
}

// replayOrder compares the processing order that a plan has.
func replayOrder(t testing.TB, f *file, v *vector) {
	v.inputs(t, "inventory", "strategy")
	plan, errs := planner.Make(withWork(inventory(t, f, v), groups(t, f, v), nil), nil, nil)
	if wantedError(t, v, orNil(errs)) {
		return
	}
	var got []string
	for _, g := range plan.Groups {
		got = append(got, g.Name)
	}
	same(t, "order", got, decode[[]string](t, v.keys["expect"]))
}

// orNil returns errors as an error, nil when none is one.
func orNil(errs invalid.Errors) error {
	if failures := errs.Errors(); len(failures) > 0 {
		return failures
	}
	return nil
}
