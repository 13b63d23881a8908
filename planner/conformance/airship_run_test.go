package conformance

import (
	"reflect"
	"slices"
	"testing"

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

// replayRun drives a strategy with scripted outcomes and compares the final stages and the calls on the way.
func replayRun(t testing.TB, f *file, v *vector) {
	v.inputs(t, "inventory", "strategy", "outcomes", "order_matters")
	expect := expectations(t, v.keys["expect"],
		"before", "groups", "nodes", "prepare", "deploy", "failed", "critical_failed", "order", "error")
	if len(expect) == 0 {
		t.Fatal("the vector expects nothing")
	}
	var outcomes struct{ Prepare, Deploy map[string]string }
	v.into(t, "outcomes", &outcomes)
	machine, err := strategy.New(groups(t, f, v), inventory(t, f, v), nil)
	expectError(t, err, decode[string](t, expect["error"]))
	if err != nil {
		return
	}
	prepare, deploy := drive(t, machine, outcomes.Prepare, outcomes.Deploy)
	report := machine.Report()

	for key, want := range expect {
		switch key {
		case "groups":
			got := map[string]string{}
			for _, g := range report.Groups {
				got[g.Name] = string(g.Stage)
			}
			same(t, key, got, decode[map[string]string](t, want))
		case "nodes":
			got := map[string]string{}
			for _, s := range report.Nodes {
				for _, node := range s.Nodes {
					got[node] = string(s.Stage)
				}
			}
			same(t, key, got, decode[map[string]string](t, want))
		case "prepare":
			same(t, key, prepare, sorted(decode[calls](t, want)))
		case "deploy":
			same(t, key, deploy, sorted(decode[calls](t, want)))
		case "failed":
			same(t, key, failures(report), decode[map[string]failure](t, want))
		case "critical_failed":
			same(t, key, machine.CriticalFailed(), decode[bool](t, want))
			same(t, "report's critical_failed", report.CriticalFailed, decode[bool](t, want))
		case "before":
			for _, pair := range decode[[][]string](t, want) {
				inOrder(t, machine.Order(), pair)
			}
		case "order":
			same(t, key, machine.Order(), decode[[]string](t, want))
		}
	}
	var order []string
	v.into(t, "order_matters", &order)
	inOrder(t, machine.Order(), order)
}

// drive walks all groups, as rollout does.
func drive(t testing.TB, m *strategy.Machine, prepareOutcomes, deployOutcomes map[string]string) (prepare, deploy calls) {
	t.Helper()
	prepare, deploy = calls{}, calls{}
	call := func(into calls, group string, todo []string, outcomes map[string]string) (succeeded []string) {
		if len(todo) > 0 {
			into[group] = todo
		}
		for _, node := range todo {
			switch outcome := outcomes[node]; outcome {
			case "", "success":
				succeeded = append(succeeded, node)
			case "failure", "timeout": // a node that was not done in time has not succeeded; those that were have (D-14)
			default:
				t.Fatalf("node %s: there is no outcome %q", node, outcome)
			}
		}
		return succeeded
	}
	for {
		group, ok := m.Next()
		if !ok {
			break
		}
		todo := m.StartPrepare(group)
		if shortfalls, _ := m.FinishPrepare(group, call(prepare, group, todo, prepareOutcomes)); len(shortfalls) > 0 {
			continue
		}
		todo = m.StartDeploy(group)
		m.FinishDeploy(group, call(deploy, group, todo, deployOutcomes))
	}
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	return prepare, deploy
}

func failures(r strategy.Report) map[string]failure {
	out := map[string]failure{}
	for _, g := range r.Groups {
		if len(g.Shortfalls) == 0 {
			continue
		}
		failed := failure{Phase: string(g.Shortfalls[0].Phase)}
		for _, s := range g.Shortfalls {
			failed.Criteria = append(failed.Criteria, s.Criterion)
		}
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

// replayCriteria judges groups on given node stages.
func replayCriteria(t testing.TB, f *file, v *vector) {
	v.inputs(t, "inventory", "strategy", "node_stages", "phase", "group")
	machine, err := strategy.New(groups(t, f, v), inventory(t, f, v), nil)
	if err != nil {
		t.Fatal(err)
	}
	var stages map[string]string
	v.into(t, "node_stages", &stages)
	for node, stage := range stages {
		if e := machine.SetNode(node, strategy.Stage(stage)); e != nil {
			err = e
		}
	}
	var phase string
	v.into(t, "phase", &phase)
	type shortfall struct {
		Criteria string
		Needed   int
		Actual   float64
	}
	expect := decode[map[string]any](t, v.keys["expect"])
	if kind, ok := expect["error"].(string); ok {
		judged := machine.Order()
		if v.has("group") {
			judged = []string{decode[string](t, v.keys["group"])}
		}
		for _, group := range judged {
			if _, e := machine.Judge(group, strategy.Stage(phase)); e != nil {
				err = e
			}
		}
		expectError(t, err, kind)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(expect) == 0 {
		t.Fatal("the vector expects nothing")
	}
	for group, want := range decode[map[string][]shortfall](t, v.keys["expect"]) {
		shortfalls, err := machine.Judge(group, strategy.Stage(phase))
		if err != nil {
			t.Error(err)
			continue
		}
		got := []shortfall{}
		for _, s := range shortfalls {
			got = append(got, shortfall{s.Criterion, s.Needed, float64(s.Actual)})
		}
		for i := range want {
			want[i].Actual = float64(int(want[i].Actual)) // slipway rounds percentages down
		}
		same(t, group, got, want)
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
	if hasError == decode[bool](t, expect["ok"]) {
		t.Fatal("the vector must expect either ok: true or an error")
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

// replayOrder compares the processing order.
func replayOrder(t testing.TB, f *file, v *vector) {
	v.inputs(t, "inventory", "strategy")
	got, err := strategy.Order(groups(t, f, v))
	if wantedError(t, v, err) {
		return
	}
	same(t, "order", got, decode[[]string](t, v.keys["expect"]))
}
