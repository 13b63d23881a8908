package resources_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/provider"
	"github.com/slipway/terraform-provider-slipway/resources"
)

// planning plans deployments through the provider's own protocol, without Terraform.
type planning struct {
	t      *testing.T
	server tfprotov6.ProviderServer
	typ    tftypes.Object
}

func newPlanning(t *testing.T) *planning {
	t.Helper()
	server, err := provider.NewServer(t.Context(), "test", &resources.Runs{})
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
	given, proposed := map[string]tftypes.Value{}, map[string]tftypes.Value{}
	computed := map[string]bool{"run": true, "steps": true, "last_run_steps": true, "digest": true, "changed_nodes": true, "status": true, "group_status": true, "node_status": true, "drift": true, "unreachable": true, "service_status": true, "service_values": true,
		"parallelism": true, "parallel_groups": true, "on_destroy": true, "drift_detection": true}
	for name, typ := range p.typ.AttributeTypes {
		given[name] = tftypes.NewValue(typ, nil)
		if v, ok := config[name]; ok {
			given[name] = v
		}
		proposed[name] = given[name]
		if computed[name] {
			proposed[name] = tftypes.NewValue(typ, tftypes.UnknownValue)
		}
	}
	resp, err := p.server.PlanResourceChange(p.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName:         "slipway_deployment",
		PriorState:       p.dynamic(tftypes.NewValue(p.typ, nil)),
		Config:           p.dynamic(tftypes.NewValue(p.typ, given)),
		ProposedNewState: p.dynamic(tftypes.NewValue(p.typ, proposed)),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			p.t.Fatalf("%s: %s", d.Summary, d.Detail)
		}
	}
	var warnings strings.Builder
	for _, d := range resp.Diagnostics {
		warnings.WriteString(d.Detail + "\n")
	}
	planned, err := resp.PlannedState.Unmarshal(p.typ)
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]tftypes.Value{}
	if err := planned.As(&out); err != nil {
		p.t.Fatal(err)
	}
	return out, warnings.String()
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

// randomSite is a valid site of a few nodes, groups and services.
func randomSite(r *rand.Rand) map[string]tftypes.Value {
	var nodes, groups, services []any
	for i := range 1 + r.IntN(4) {
		nodes = append(nodes, map[string]any{
			"name": fmt.Sprintf("n%d", i), "rack": fmt.Sprintf("r%d", r.IntN(2)), "tags": []any{fmt.Sprintf("t%d", r.IntN(3))},
			"connect": map[string]any{"transport": "local", "root": fmt.Sprintf("/srv/n%d", i)},
		})
	}
	for i := range r.IntN(3) {
		g := map[string]any{"name": fmt.Sprintf("g%d", i), "critical": r.IntN(2) == 0, "selectors": []any{map[string]any{"node_tags": []any{fmt.Sprintf("t%d", r.IntN(3))}}}}
		if i > 0 {
			g["depends_on_groups"] = []any{"g0"}
		}
		groups = append(groups, g)
	}
	for i := range 1 + r.IntN(3) {
		services = append(services, map[string]any{"name": fmt.Sprintf("s%d", i), "selectors": []any{}, "configuration": map[string]any{
			"file": map[string]any{fmt.Sprintf("/etc/s%d", i): map[string]any{"content": fmt.Sprint(r.IntN(9)), "mode": "0644"}},
			"host": map[string]any{fmt.Sprintf("h%d", i): map[string]any{"ip": "192.0.2.1"}},
		}})
	}
	out := map[string]tftypes.Value{"site": valueOf("lon1"), "nodes": valueOf(nodes), "services": valueOf(services)}
	if groups != nil {
		out["groups"] = valueOf(groups)
	}
	return out
}

// Whatever part of the input is unknown: the plan succeeds, and when the value becomes known, no output that was known changes
// (terraform.md 6.3). Planning twice gives the same.
func TestUnknownToKnownNeverContradicts(t *testing.T) {
	t.Parallel()
	p := newPlanning(t)
	shown := 0
	defer func() {
		if shown == 0 {
			t.Error("no steps were shown while values were unknown")
		}
	}()
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		known := randomSite(r)
		partly := map[string]tftypes.Value{}
		hidden := 0
		for name, v := range known {
			hide := r.IntN(3) == 0
			v, err := tftypes.Transform(v, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
				if name != "site" && hide && len(at.Steps()) > 0 && r.IntN(6) == 0 {
					hidden++
					return tftypes.NewValue(v.Type(), tftypes.UnknownValue), nil
				}
				return v, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			partly[name] = v
		}
		before, warnings := p.planAndWarnings(partly)
		after, again := p.plan(known), p.plan(known)
		if hidden > 0 { // what is shown all the same is done
			done := after["steps"].String() + after["changed_nodes"].String()
			for _, what := range regexp.MustCompile(`(?:file|host)\[[^\]]*\]|\bn[0-9]\b`).FindAllString(warnings, -1) {
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
			if before[name].IsFullyKnown() && !before[name].Equal(after[name]) {
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
