package conformance

import (
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// replayMembership compares the nodes that selectors select.
func replayMembership(t testing.TB, f *file, v *vector) {
	v.inputs(t, "inventory", "selectors")
	nodes := inventory(t, f, v)
	selectors := v.keys["selectors"]
	text := func(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }
	group := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		text("name"), text("g"), text("critical"), text("true"), text("depends_on"), {Kind: yaml.SequenceNode}, text("selectors"), &selectors,
	}}
	list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{group}}
	parsed, err := parse(t, withoutEmptySelectors(yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("groups"), list}}))
	var plan *planner.Plan
	if err == nil {
		var errs invalid.Errors
		plan, errs = planner.Make(withWork(nodes, parsed, nil), nil, nil)
		err = orNil(errs)
	}
	if wantedError(t, v, err) {
		return
	}
	same(t, "members", append([]string{}, plan.Groups[0].Members...), decode[[]string](t, v.keys["expect"]))
}

// wantedError checks an error against a vector whose expectation may be `{error: kind}`, and reports whether that is so. An
// error that is not expected ends the test.
func wantedError(t testing.TB, v *vector, err error) bool {
	t.Helper()
	if expect := v.keys["expect"]; expect.Kind == yaml.MappingNode {
		want := decode[string](t, expectations(t, expect, "error")["error"])
		expectError(t, err, want)
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// replayValidate looks for the one kind of error that a strategy has, in one case or in several.
func replayValidate(t testing.TB, f *file, v *vector) {
	v.inputs(t, "inventory", "strategy", "cases")
	var nodes []site.Node
	if v.has("inventory") {
		nodes = inventory(t, f, v)
	}
	if v.has("strategy") {
		validate(t, named(t, f, v, "strategy", "strategies"), nodes, v.keys["expect"])
	}
	var cases []map[string]yaml.Node
	v.into(t, "cases", &cases)
	if len(cases) == 0 && !v.has("strategy") {
		t.Fatal("the vector has neither a strategy nor cases")
	}
	for i, c := range cases {
		one := &vector{id: v.id, kind: v.kind, keys: c}
		one.inputs(t, "strategy")
		expect, ok := c["expect"]
		if !ok {
			expect = v.keys["expect"]
		}
		why := c["why"]
		t.Logf("case %d %s", i, why.Value)
		validate(t, named(t, f, one, "strategy", "strategies"), nodes, expect)
	}
}

func validate(t testing.TB, strategy yaml.Node, nodes []site.Node, expected yaml.Node) {
	t.Helper()
	expect := expectations(t, expected, "ok", "error", "involves", "not_involves")
	groups, err := parse(t, strategy)
	if err == nil {
		_, errs := planner.Make(withWork(nodes, groups, nil), nil, nil)
		err = orNil(reachable(errs))
	}
	kind, hasError := expect["error"]
	if hasError == decode[bool](t, expect["ok"]) {
		t.Fatal("the vector must expect either ok: true or an error")
	}
	found := expectError(t, err, decode[string](t, kind))
	for _, name := range decode[[]string](t, expect["involves"]) {
		if !names(found, name) {
			t.Errorf("want %q named in %v", name, found)
		}
	}
	for _, name := range decode[[]string](t, expect["not_involves"]) {
		if names(found, name) {
			t.Errorf("want %q not named in %v", name, found)
		}
	}
}

// reachable leaves out that the criteria of a critical group cannot be met, which a plan refuses. What the vectors say of such groups, they say of their run.
func reachable(errs invalid.Errors) invalid.Errors {
	return slices.DeleteFunc(slices.Clone(errs), func(p invalid.Error) bool { return p.Code == invalid.UnreachableGoal })
}

// replayLabel splits labels.
func replayLabel(t testing.TB, _ *file, v *vector) {
	v.inputs(t, "cases")
	var cases []struct {
		In    string
		Out   []string
		Error string
	}
	v.into(t, "cases", &cases)
	if len(cases) == 0 {
		t.Fatal("the vector has no cases")
	}
	for _, c := range cases {
		key, value, err := site.ParseLabel(c.In)
		expectError(t, err, c.Error)
		if err == nil {
			same(t, c.In, []string{key, value}, c.Out)
		}
	}
}
