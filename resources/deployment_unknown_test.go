package resources_test

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/provider"
)

// planning plans deployments through the provider's own protocol, without Terraform.
type planning struct {
	t      *testing.T
	server tfprotov6.ProviderServer
	typ    tftypes.Object
}

// mayApply configures the provider, which applying needs, and returns where its journals are.
func (p *planning) mayApply() (journals string) {
	p.t.Helper()
	schemas, err := p.server.GetProviderSchema(p.t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	typ, config := schemas.Provider.ValueType().(tftypes.Object), map[string]tftypes.Value{}
	for name, typ := range typ.AttributeTypes {
		config[name] = tftypes.NewValue(typ, nil)
	}
	journals = p.t.TempDir()
	config["journal_directory"] = valueOf(journals)
	value, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, config))
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := p.server.ConfigureProvider(p.t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &value})
	if err != nil {
		p.t.Fatal(err)
	}
	p.warnings(resp.Diagnostics)
	return journals
}

func newPlanning(t *testing.T) *planning {
	t.Helper()
	server, err := provider.NewServer(t.Context(), "test", &engine.Runs{})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	typ, ok := schemas.ResourceSchemas["slipway_deployment"].ValueType().(tftypes.Object)
	if !ok {
		t.Fatal("slipway_deployment is no object")
	}
	return &planning{t, server, typ}
}

// plan returns the planned attributes of a new deployment with the given configuration; what it leaves out is null.
func (p *planning) plan(config map[string]tftypes.Value) map[string]tftypes.Value {
	p.t.Helper()
	planned, _ := p.planAndWarnings(config)
	return planned
}

// planAndWarnings is plan, with the texts of the warnings.
func (p *planning) planAndWarnings(config map[string]tftypes.Value) (map[string]tftypes.Value, string) {
	p.t.Helper()
	planned, warnings, _ := p.planFrom(config, applied{tftypes.NewValue(p.typ, nil), nil})
	return planned, warnings
}

// applied is a deployment as Terraform saves it.
type applied struct {
	state   tftypes.Value
	private []byte
}

// configured returns the value of a configuration.
func (p *planning) configured(config map[string]tftypes.Value) tftypes.Value {
	given := map[string]tftypes.Value{}
	for name, typ := range p.typ.AttributeTypes {
		given[name] = tftypes.NewValue(typ, nil)
		if v, ok := config[name]; ok {
			given[name] = v
		}
	}
	return tftypes.NewValue(p.typ, given)
}

// planFrom plans what makes a configuration of a saved deployment. It returns the response too.
func (p *planning) planFrom(config map[string]tftypes.Value, prior applied) (map[string]tftypes.Value, string, *tfprotov6.PlanResourceChangeResponse) {
	p.t.Helper()
	given, before := map[string]tftypes.Value{}, map[string]tftypes.Value{}
	if err := errors.Join(p.configured(config).As(&given), prior.state.As(&before)); err != nil {
		p.t.Fatal(err)
	}
	computed := []string{"run", "steps", "last_run_steps", "digest", "changed_nodes", "status", "group_status", "node_status", "drift", "unreachable", "service_status", "service_values",
		"parallelism", "parallel_groups", "on_destroy", "drift_detection"}
	for _, name := range computed {
		if given[name] = tftypes.NewValue(p.typ.AttributeTypes[name], tftypes.UnknownValue); !prior.state.IsNull() {
			given[name] = before[name]
		}
	}
	resp, err := p.server.PlanResourceChange(p.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName:         "slipway_deployment",
		PriorState:       p.dynamic(prior.state),
		PriorPrivate:     prior.private,
		Config:           p.dynamic(p.configured(config)),
		ProposedNewState: p.dynamic(tftypes.NewValue(p.typ, given)),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	warnings := p.warnings(resp.Diagnostics)
	planned, err := resp.PlannedState.Unmarshal(p.typ)
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]tftypes.Value{}
	if err := planned.As(&out); err != nil {
		p.t.Fatal(err)
	}
	return out, warnings, resp
}

// apply makes a new deployment.
func (p *planning) apply(config map[string]tftypes.Value) applied {
	p.t.Helper()
	none := tftypes.NewValue(p.typ, nil)
	_, _, plan := p.planFrom(config, applied{none, nil})
	resp, err := p.server.ApplyResourceChange(p.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "slipway_deployment", PriorState: p.dynamic(none), PlannedState: plan.PlannedState, Config: p.dynamic(p.configured(config)), PlannedPrivate: plan.PlannedPrivate,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.warnings(resp.Diagnostics)
	state, err := resp.NewState.Unmarshal(p.typ)
	if err != nil {
		p.t.Fatal(err)
	}
	return applied{state, resp.Private}
}

// warnings returns the texts of warnings; an error ends the test.
func (p *planning) warnings(diagnostics []*tfprotov6.Diagnostic) string {
	p.t.Helper()
	var warnings strings.Builder
	for _, d := range diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			p.t.Fatalf("%s: %s", d.Summary, d.Detail)
		}
		warnings.WriteString(d.Detail + "\n")
	}
	return warnings.String()
}

func (p *planning) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	p.t.Helper()
	d, err := tfprotov6.NewDynamicValue(p.typ, v)
	if err != nil {
		p.t.Fatal(err)
	}
	return &d
}

// valueOf turns plain Go data into a Terraform value, maps into objects and slices into tuples.
func valueOf(v any) tftypes.Value {
	switch v := v.(type) {
	case tftypes.Value:
		return v
	case string:
		return tftypes.NewValue(tftypes.String, v)
	case bool:
		return tftypes.NewValue(tftypes.Bool, v)
	case int:
		return tftypes.NewValue(tftypes.Number, v)
	case []any:
		values, typ := make([]tftypes.Value, len(v)), tftypes.Tuple{ElementTypes: make([]tftypes.Type, len(v))}
		for i, e := range v {
			values[i] = valueOf(e)
			typ.ElementTypes[i] = values[i].Type()
		}
		return tftypes.NewValue(typ, values)
	case map[string]any:
		values, typ := map[string]tftypes.Value{}, tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
		for k, e := range v {
			values[k] = valueOf(e)
			typ.AttributeTypes[k] = values[k].Type()
		}
		return tftypes.NewValue(typ, values)
	}
	panic(fmt.Sprintf("no Terraform value for %T", v))
}

// randomSite is a valid site of a few nodes below a folder, groups, services and overrides.
func randomSite(t *testing.T, r *rand.Rand, folder string) map[string]tftypes.Value {
	t.Helper()
	var nodes, groups, services []any
	for i := range 1 + r.IntN(4) {
		nodes = append(nodes, map[string]any{
			"name": fmt.Sprintf("n%d", i), "rack": fmt.Sprintf("r%d", r.IntN(2)), "tags": []any{fmt.Sprintf("t%d", r.IntN(3))},
			"roles": []any{fmt.Sprintf("role%d", r.IntN(2))}, "labels": map[string]any{"of": fmt.Sprintf("l%d", r.IntN(2))},
			"connect": map[string]any{"transport": "local", "root": fmt.Sprintf("%s/n%d", folder, i)},
		})
	}
	for i := range r.IntN(3) {
		g := map[string]any{"name": fmt.Sprintf("g%d", i), "critical": r.IntN(2) == 0, "selectors": []any{map[string]any{"node_tags": []any{fmt.Sprintf("t%d", r.IntN(3))}}}}
		if i > 0 {
			g["depends_on_groups"] = []any{"g0"}
		}
		groups = append(groups, g)
	}
	if last := len(groups) - 1; last >= 0 && r.IntN(2) == 0 { // no other group depends on it
		g := groups[last].(map[string]any)
		g["critical"], g["success_criteria"] = false, map[string]any{"minimum_successful_nodes": 1 + r.IntN(2)}
	}
	for i := range 1 + r.IntN(3) {
		selectors := [][]any{{}, {}, {map[string]any{"rack_names": []any{"r0"}}}, {map[string]any{"node_labels": []any{"of:l0"}}}}[r.IntN(4)]
		services = append(services, map[string]any{"name": fmt.Sprintf("s%d", i), "selectors": selectors, "configuration": map[string]any{
			"file": map[string]any{fmt.Sprintf("/etc/s%d", i): map[string]any{"content": fmt.Sprint(r.IntN(9)), "mode": "0644"}},
			"host": map[string]any{fmt.Sprintf("h%d", i): map[string]any{"ip": "192.0.2.1"}},
		}})
	}
	if r.IntN(2) == 0 {
		services = probes(t, r, services)
	}
	out := map[string]tftypes.Value{"site": valueOf("lon1"), "nodes": valueOf(nodes), "services": valueOf(services)}
	if r.IntN(3) == 0 {
		o := map[string]any{"name": "o", "configuration": map[string]any{"file": map[string]any{"/etc/s0": map[string]any{"content": fmt.Sprint(r.IntN(3))}}}}
		if groups != nil && r.IntN(2) == 0 {
			o["groups"] = []any{"g0"}
		} else if r.IntN(2) == 0 {
			o["roles"] = []any{fmt.Sprintf("role%d", r.IntN(2))}
		}
		out["overrides"] = valueOf([]any{o})
	}
	if groups != nil {
		out["groups"] = valueOf(groups)
	}
	return out
}

// moved returns nodes some of which are at other addresses: two have changed theirs, or some are at new ones.
func moved(t *testing.T, r *rand.Rand, nodes tftypes.Value) tftypes.Value {
	t.Helper()
	swap := r.IntN(2) == 0
	nodes, err := tftypes.Transform(nodes, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		var root string
		if given := v.As(&root) == nil; !given || at.LastStep() != tftypes.AttributeName("root") {
			return v, nil
		}
		folder, name := filepath.Split(root)
		switch {
		case swap && name == "n0":
			name = "n1"
		case swap && name == "n1":
			name = "n0"
		case !swap && r.IntN(2) == 0:
			name += "new"
		}
		return valueOf(folder + name), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// hide returns a site with some of its values unknown, and how many are; often it is one parameter of a configuration
// resource only.
func hide(t *testing.T, r *rand.Rand, known map[string]tftypes.Value) (partly map[string]tftypes.Value, hidden int) {
	t.Helper()
	partly = map[string]tftypes.Value{}
	contents := r.IntN(2) == 0
	for _, name := range slices.Sorted(maps.Keys(known)) {
		some := r.IntN(3) == 0
		var places []string
		hides := make(map[string]bool)
		err := tftypes.Walk(known[name], func(at *tftypes.AttributePath, _ tftypes.Value) (bool, error) {
			last := at.LastStep()
			if contents && last == tftypes.AttributeName("content") || !contents && name != "site" && some && len(at.Steps()) > 0 {
				places = append(places, at.String())
			}
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(places) // Terraform's library has no order for attributes, and a seed gives one site
		for _, place := range places {
			hides[place] = r.IntN(6) == 0 || contents && r.IntN(4) == 0
		}
		partly[name], err = tftypes.Transform(known[name], func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
			if !hides[at.String()] {
				return v, nil
			}
			hidden++
			return tftypes.NewValue(v.Type(), tftypes.UnknownValue), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return partly, hidden
}

// certain returns what a warning says of steps that are certain.
func certain(warnings string) string {
	_, steps, _ := strings.Cut(warnings, "certain of run ")
	_, steps, _ = strings.Cut(steps, "\n\n")
	steps, _, _ = strings.Cut(steps, "\n\n")
	return steps
}

// agrees reports whether a value is what it was when less was known (Terraform's "inconsistent final plan"): what was
// known is the same, and a map has the keys that it had.
func agrees(before, after tftypes.Value) bool {
	if !before.IsKnown() {
		return true
	}
	var was, is map[string]tftypes.Value
	if before.Type().Is(tftypes.Map{}) && !before.IsNull() && before.As(&was) == nil && after.As(&is) == nil {
		for key, v := range was {
			if now, there := is[key]; !there || !agrees(v, now) {
				return false
			}
		}
		return len(was) == len(is)
	}
	return before.IsFullyKnown() && before.Equal(after) || !before.IsFullyKnown()
}

// checkCalls checks that callbacks of whole services that are certain are called, in the same group, and returns how many
// there are.
func (p *planning) checkCalls(name, warnings string, after map[string]tftypes.Value) (called int) {
	p.t.Helper()
	var steps []tftypes.Value
	if err := after["steps"].As(&steps); err != nil {
		p.t.Fatal(err)
	}
	var lines strings.Builder
	for _, step := range steps {
		var line string
		if err := step.As(&line); err != nil {
			p.t.Fatal(err)
		}
		lines.WriteString(line + "\n")
	}
	done := calls(lines.String())
	for _, call := range calls(certain(warnings)) {
		called++
		if !slices.Contains(done, call) {
			p.t.Errorf("%s: %q is certain, and not among what is called: %q\n%s", name, call, done, warnings)
		}
	}
	return called
}

// Whatever part of the input is unknown: the plan succeeds, and when the value becomes known, no output that was known
// changes (terraform.md 6.3). Planning twice gives the same.
func TestUnknownToKnownNeverContradicts(t *testing.T) {
	t.Parallel()
	p := newPlanning(t)
	shown, called := 0, 0
	defer func() {
		if shown == 0 || called == 0 {
			t.Errorf("%d steps and %d callbacks were shown while values were unknown", shown, called)
		}
	}()
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		known := randomSite(t, r, "/srv")
		partly, hidden := hide(t, r, known)
		before, warnings := p.planAndWarnings(partly)
		after, again := p.plan(known), p.plan(known)
		if hidden > 0 { // what is shown all the same is done
			done := after["steps"].String() + after["changed_nodes"].String()
			called += p.checkCalls(fmt.Sprintf("seed %d", seed), warnings, after)
			for _, what := range regexp.MustCompile(`(?:file|host)\[[^\]]*\]|\bn[0-9]\b`).FindAllString(certain(warnings), -1) {
				shown++
				if !strings.Contains(done, what) {
					t.Errorf("seed %d: %s is shown while %d values are unknown, and is not among what is done: %s\n%s", seed, what, hidden, done, warnings)
				}
			}
		}
		for name := range after {
			if !after[name].Equal(again[name]) {
				t.Fatalf("seed %d: %s is planned as %s and as %s", seed, name, after[name], again[name])
			}
			if _, configured := known[name]; configured {
				continue
			}
			if !agrees(before[name], after[name]) {
				t.Errorf("seed %d: %s was %s while %d values were unknown, and is %s", seed, name, before[name], hidden, after[name])
			}
		}
		for _, name := range []string{"steps", "digest", "changed_nodes"} {
			if hidden > 0 && before[name].IsKnown() {
				t.Errorf("seed %d: %s is known although %d inputs are not", seed, name, hidden)
			}
			if !after[name].IsFullyKnown() {
				t.Errorf("seed %d: %s is not known although everything is", seed, name)
			}
		}
	}
}

// The same for a site that is there already: nodes, groups, services and contents change, or nothing does, and some of
// it is not known when it is planned.
func TestUnknownToKnownNeverContradictsAState(t *testing.T) {
	t.Parallel()
	p := newPlanning(t)
	p.mayApply()
	elements, updates, steady, called := 0, 0, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		folder := t.TempDir()
		for i := range 4 {
			if err := os.MkdirAll(fmt.Sprintf("%s/n%d/etc", folder, i), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		first := randomSite(t, r, folder)
		prior := p.apply(first)
		known := randomSite(t, r, folder)
		known["protect"] = tftypes.NewValue(p.typ.AttributeTypes["protect"], map[string]tftypes.Value{
			"max_torn_down_nodes": valueOf("100%"), "max_removed_resources": tftypes.NewValue(tftypes.Number, nil), "destroy": tftypes.NewValue(tftypes.Bool, nil)})
		switch r.IntN(4) {
		case 0:
			known = first
		case 1:
			known["nodes"] = first["nodes"]
		case 2:
			known["services"], known["overrides"], known["groups"] = first["services"], first["overrides"], first["groups"]
		}
		for name, v := range known {
			if v.Type() == nil {
				delete(known, name)
			}
		}
		if r.IntN(3) == 0 {
			known = maps.Clone(known)
			known["nodes"] = moved(t, r, known["nodes"])
		}
		partly, hidden := hide(t, r, known)
		if hidden == 0 {
			continue
		}
		before, warnings, _ := p.planFrom(partly, prior)
		after, _, _ := p.planFrom(known, prior)
		for name := range after {
			if _, configured := known[name]; configured {
				continue
			}
			if !agrees(before[name], after[name]) {
				t.Errorf("seed %d: %s was %s while %d values were unknown, and is %s\n%s", seed, name, before[name], hidden, after[name], warnings)
			}
			var m map[string]tftypes.Value
			if before[name].Type().Is(tftypes.Map{}) && before[name].IsKnown() && !before[name].IsFullyKnown() && before[name].As(&m) == nil {
				elements++
				for _, v := range m {
					if v.IsKnown() {
						steady++
					}
				}
			}
		}
		done := after["steps"].String() + after["changed_nodes"].String()
		called += p.checkCalls(fmt.Sprintf("seed %d", seed), warnings, after)
		for _, what := range regexp.MustCompile(`(?:file|host)\[[^\]]*\]|\bn[0-9]\b`).FindAllString(certain(warnings), -1) {
			updates++
			if !strings.Contains(done, what) {
				t.Errorf("seed %d: %s is shown while %d values are unknown, and is not among what is done: %s\n%s", seed, what, hidden, done, warnings)
			}
		}
	}
	t.Logf("%d maps known in part, %d known elements, %d steps, %d callbacks", elements, steady, updates, called)
	if elements == 0 || updates == 0 || steady == 0 || called == 0 {
		t.Errorf("%d maps were known in part, with %d known elements, and %d steps and %d callbacks shown: this tests nothing", elements, steady, updates, called)
	}
}

// What of a node decides about its groups is not known, or the selectors of a group are not: the nodes and groups that
// do not depend on it stay known, in a plan without other work and in one with it.
func TestUnknownMembershipHidesOnlyWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	p := newPlanning(t)
	p.mayApply()
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	folder := t.TempDir()
	node := func(name, rack string, tags any) map[string]any {
		if err := os.MkdirAll(filepath.Join(folder, name, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"name": name, "rack": rack, "tags": tags, "labels": map[string]any{"of": rack},
			"connect": map[string]any{"transport": "local", "root": filepath.Join(folder, name)}}
	}
	group := func(name, criterion string, values ...any) map[string]any {
		return map[string]any{"name": name, "critical": false, "selectors": []any{map[string]any{criterion: values}},
			"success_criteria": map[string]any{"minimum_successful_nodes": 1}}
	}
	site := func(late map[string]any, content string, selected any) map[string]tftypes.Value {
		return map[string]tftypes.Value{"site": valueOf("lon1"),
			"nodes": valueOf([]any{node("a", "r1", []any{"x"}), node("b", "r2", []any{"y"}), late, node("d", "r4", []any{})}),
			"groups": valueOf([]any{group("first", "rack_names", "r1"), group("second", "node_tags", selected),
				group("third", "rack_names", "r3")}),
			"services": valueOf([]any{map[string]any{"name": "s", "selectors": []any{}, "configuration": map[string]any{
				"file": map[string]any{"/etc/s": map[string]any{"content": content}}}}}),
		}
	}
	late := func(attribute string, v any) map[string]any {
		n := node("c", "r3", []any{"z"})
		n[attribute] = v
		return n
	}
	prior := p.apply(site(late("rack", "r3"), "one", "y"))
	for name, c := range map[string]struct {
		config        map[string]tftypes.Value
		nodes, groups string
	}{
		"tags":      {site(late("tags", []any{unknown}), "one", "y"), "a=DEPLOYED b=DEPLOYED c=? d=NO_GROUP", "first=DEPLOYED second=? third=?"},
		"rack":      {site(late("rack", unknown), "one", "y"), "a=DEPLOYED b=DEPLOYED c=? d=NO_GROUP", "first=? second=DEPLOYED third=?"},
		"labels":    {site(late("labels", unknown), "one", "y"), "a=DEPLOYED b=DEPLOYED c=? d=NO_GROUP", "first=DEPLOYED second=DEPLOYED third=?"},
		"zone":      {site(late("zone", unknown), "one", "y"), "a=DEPLOYED b=DEPLOYED c=DEPLOYED d=NO_GROUP", "first=DEPLOYED second=DEPLOYED third=DEPLOYED"},
		"selectors": {site(late("rack", "r3"), "one", unknown), "a=DEPLOYED b=? c=DEPLOYED d=?", "first=DEPLOYED second=? third=DEPLOYED"},
		// Terraform takes a map with the keys only that it has in the end.
		"name":      {site(late("name", unknown), "one", "y"), "?", "first=? second=? third=?"},
		"with work": {site(late("tags", []any{unknown}), "two", "y"), "a=? b=? c=? d=NO_GROUP", "first=? second=? third=?"},
	} {
		planned, warnings, _ := p.planFrom(c.config, prior)
		if got := shortly(t, planned["node_status"]); got != c.nodes {
			t.Errorf("%s: node_status is %s, want %s", name, got, c.nodes)
		}
		if got := shortly(t, planned["group_status"]); got != c.groups {
			t.Errorf("%s: group_status is %s, want %s", name, got, c.groups)
		}
		changed := regexp.MustCompile(`=[A-Z]\S*`).ReplaceAllString(strings.ReplaceAll(c.nodes, "NO_GROUP", "0"), "=1")
		if name == "with work" {
			changed = "a=2 b=2 c=? d=0"
			if !strings.Contains(warnings, "create file[/etc/s]") && !strings.Contains(warnings, "update file[/etc/s]") {
				t.Errorf("%s: no step of the others in:\n%s", name, warnings)
			}
		}
		if got := shortly(t, planned["changed_nodes"]); got != changed {
			t.Errorf("%s: changed_nodes is %s, want %s", name, got, changed)
		}
	}
}

// shortly returns a map in one line; "?" is what is not known.
func shortly(t *testing.T, v tftypes.Value) string {
	t.Helper()
	if !v.IsKnown() {
		return "?"
	}
	var entries map[string]tftypes.Value
	if err := v.As(&entries); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		var text string
		var number big.Float
		switch e := entries[key]; {
		case !e.IsKnown():
			text = "?"
		case e.As(&text) == nil:
		case e.As(&number) == nil:
			text = number.String()
		}
		out = append(out, key+"="+text)
	}
	return strings.Join(out, " ")
}
