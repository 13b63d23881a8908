//go:build unix

package provider

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// large is a site that is applied as it is wanted, as Terraform sends it to the provider: what `terraform plan` costs when nothing is
// to be done. 20 groups go by tag, 30 services by tag, label and role.
type large struct {
	server                  tfprotov6.ProviderServer
	node, deployment        tftypes.Object
	versions                map[string]int64 // of the schemas, by resource type
	nodes                   []tftypes.Value
	config, state, proposed map[string]tftypes.Value
	private                 []byte
}

const largeGroups, largeServices = 20, 30

func newLarge(tb testing.TB, nodes int) *large {
	tb.Helper()
	server, err := NewServer(tb.Context(), "test", &engine.Runs{})
	if err != nil {
		tb.Fatal(err)
	}
	l := &large{server: server, versions: map[string]int64{}}
	schemas, err := l.server.GetProviderSchema(tb.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		tb.Fatal(err)
	}
	typeOf := func(name string) tftypes.Object {
		typ, ok := schemas.ResourceSchemas[name].ValueType().(tftypes.Object)
		if !ok {
			tb.Fatalf("%s is no object", name)
		}
		return typ
	}
	for name, schema := range schemas.ResourceSchemas {
		l.versions[name] = schema.Version
	}
	l.node, l.deployment = typeOf("slipway_node"), typeOf("slipway_deployment")
	l.config = empty(l.deployment)
	l.config["site"] = text("lon1")
	l.config["drift_detection"] = text("off")
	for i := range nodes {
		n := empty(l.node)
		n["name"], n["address"], n["rack"] = text(fmt.Sprintf("node%04d", i)), text(fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)), text(fmt.Sprintf("rack%02d", i%40))
		n["connect"] = connecting(l.node.AttributeTypes["connect"], fmt.Sprintf("u%d", i))
		n["tags"] = collection(l.node.AttributeTypes["tags"], text(fmt.Sprintf("t%02d", i%largeGroups)), text("all"))
		n["roles"] = collection(l.node.AttributeTypes["roles"], text(fmt.Sprintf("r%d", i%5)))
		n["labels"] = tftypes.NewValue(l.node.AttributeTypes["labels"], map[string]tftypes.Value{"zone": text(fmt.Sprintf("z%d", i%3))}) // one: this encoder, unlike Terraform's, has no order for more
		l.nodes = append(l.nodes, tftypes.NewValue(l.node, n))
	}
	l.config["nodes"] = tupleOf(l.nodes)
	l.config["groups"] = objects(typeOf("slipway_group"), largeGroups, func(i int, g map[string]tftypes.Value, typ tftypes.Object) {
		g["name"], g["critical"] = text(fmt.Sprintf("g%02d", i)), tftypes.NewValue(tftypes.Bool, false)
		g["selectors"] = selecting(typ.AttributeTypes["selectors"], "node_tags", fmt.Sprintf("t%02d", i))
		if i > 0 {
			g["depends_on_groups"] = collection(typ.AttributeTypes["depends_on_groups"], text("g00"))
		}
	})
	l.config["services"] = objects(typeOf("slipway_service"), largeServices, func(i int, s map[string]tftypes.Value, typ tftypes.Object) {
		s["name"] = text(fmt.Sprintf("s%02d", i))
		s["selectors"] = []tftypes.Value{
			selecting(typ.AttributeTypes["selectors"], "node_tags", fmt.Sprintf("t%02d", i%largeGroups)),
			selecting(typ.AttributeTypes["selectors"], "node_labels", fmt.Sprintf("zone:z%d", i%3)),
			selecting(typ.AttributeTypes["selectors"], "rack_names", fmt.Sprintf("rack%02d", i)),
		}[i%3]
		s["configuration"] = objectOf(map[string]tftypes.Value{
			"package": objectOf(map[string]tftypes.Value{fmt.Sprintf("p%d", i): objectOf(map[string]tftypes.Value{"ensure": text("installed")})}),
			"file":    objectOf(map[string]tftypes.Value{fmt.Sprintf("/etc/s%d", i): objectOf(map[string]tftypes.Value{"content": text("x\n"), "mode": text("0644")})}),
		})
	})
	l.settle(tb)
	return l
}

// settle makes the site one that was applied: state and private state as a run that went well leaves them.
func (l *large) settle(tb testing.TB) {
	tb.Helper()
	computed := map[string]bool{"run": true, "steps": true, "last_run_steps": true, "digest": true, "changed_nodes": true, "status": true, "group_status": true, "node_status": true, "drift": true, "unreachable": true,
		"service_status": true, "service_values": true, "node_facts": true}
	defaults := map[string]tftypes.Value{"parallelism": tftypes.NewValue(tftypes.Number, 10), "parallel_groups": tftypes.NewValue(tftypes.Number, 1), "on_destroy": text("teardown")}
	l.proposed = map[string]tftypes.Value{}
	for name, v := range l.config {
		l.proposed[name] = v
		if computed[name] {
			l.proposed[name] = tftypes.NewValue(l.deployment.AttributeTypes[name], tftypes.UnknownValue)
		}
		if v, ok := defaults[name]; ok {
			l.proposed[name] = v
		}
	}
	planned, err := l.plan(tb, nil).Unmarshal(l.deployment)
	if err == nil {
		err = planned.As(&l.state)
	}
	if err != nil {
		tb.Fatal(err)
	}
	status := map[string]tftypes.Value{}
	s := l.site(tb)
	for _, n := range s.Nodes {
		status[n.Name] = text("DEPLOYED")
	}
	l.state["status"] = text("deployed")
	l.state["node_status"] = tftypes.NewValue(l.deployment.AttributeTypes["node_status"], status)
	l.state["group_status"] = tftypes.NewValue(l.deployment.AttributeTypes["group_status"], map[string]tftypes.Value{})
	for _, name := range []string{"service_status", "service_values", "node_facts"} {
		l.state[name] = tftypes.NewValue(l.deployment.AttributeTypes[name], map[string]tftypes.Value{})
	}
	l.state["last_run_steps"] = l.state["steps"]
	l.state["unreachable"] = collection(l.deployment.AttributeTypes["unreachable"])
	for name := range computed {
		l.proposed[name] = l.state[name]
	}
	desired, errs := planner.Desired(s)
	if failures := errs.Errors(); len(failures) > 0 {
		tb.Fatal(failures)
	}
	applied := planner.Applied{}
	for node, tasks := range desired {
		applied[node] = map[resource.ID]string{}
		for _, t := range tasks {
			applied[node][t.Resource.ID()] = t.Digest
		}
	}
	raw, err := json.Marshal(map[string]any{"version": 1, "applied": applied})
	if err != nil {
		tb.Fatal(err)
	}
	if l.private, err = json.Marshal(map[string][]byte{"applied": raw}); err != nil {
		tb.Fatal(err)
	}
}

// site is what the configuration says.
func (l *large) site(tb testing.TB) (s site.Site) {
	tb.Helper()
	ctx := tb.Context()
	s.Name = "lon1"
	dynamic := func(name string) types.Dynamic {
		v, err := types.DynamicType.ValueFromTerraform(ctx, l.config[name])
		if err != nil {
			tb.Fatal(err)
		}
		return v.(types.Dynamic)
	}
	s.Nodes, _, _ = values.From(ctx, dynamic("nodes"), (*document.Values).Nodes)
	s.Groups, _, _ = values.From(ctx, dynamic("groups"), (*document.Values).Groups)
	s.Services, _, _ = values.From(ctx, dynamic("services"), (*document.Values).Services)
	if len(s.Nodes) != len(l.nodes) || len(s.Groups) != largeGroups || len(s.Services) != largeServices {
		tb.Fatalf("%d nodes, %d groups, %d services", len(s.Nodes), len(s.Groups), len(s.Services))
	}
	return s
}

// plan plans the deployment over a prior state, nil for none.
func (l *large) plan(tb testing.TB, prior map[string]tftypes.Value) *tfprotov6.DynamicValue {
	tb.Helper()
	state := tftypes.NewValue(l.deployment, nil)
	if prior != nil {
		state = tftypes.NewValue(l.deployment, prior)
	}
	resp, err := l.server.PlanResourceChange(tb.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "slipway_deployment", PriorState: sent(tb, l.deployment, state), PriorPrivate: l.private,
		Config: sent(tb, l.deployment, tftypes.NewValue(l.deployment, l.config)), ProposedNewState: sent(tb, l.deployment, tftypes.NewValue(l.deployment, l.proposed))})
	if err != nil {
		tb.Fatal(err)
	}
	fine(tb, resp.Diagnostics)
	return resp.PlannedState
}

// The plan of what is applied shows the state again, value by value: anything else would be a change.
func TestLargePlanIsEmpty(t *testing.T) {
	l := newLarge(t, 40)
	planned, err := l.plan(t, l.state).Unmarshal(l.deployment)
	if err != nil {
		t.Fatal(err)
	}
	if want := tftypes.NewValue(l.deployment, l.state); !planned.Equal(want) {
		differences, err := want.Diff(planned)
		t.Errorf("the plan changes something: %v, %v", differences, err)
	}
}

// BenchmarkLargePlan is the provider's part of `terraform plan` when nothing is to be done, drift detection off: all calls that Terraform makes,
// one after the other, with the time of each.
func BenchmarkLargePlan(b *testing.B) {
	for _, nodes := range []int{125, 250, 500, 1000} {
		l := newLarge(b, nodes)
		config := sent(b, l.deployment, tftypes.NewValue(l.deployment, l.config))
		state := tftypes.NewValue(l.deployment, l.state)
		sentState, proposed := sent(b, l.deployment, state), sent(b, l.deployment, tftypes.NewValue(l.deployment, l.proposed))
		saved := &tfprotov6.RawState{JSON: savedState(b, state)}
		b.Run(fmt.Sprintf("deployment-%d", nodes), func(b *testing.B) {
			times, start := laps{}, processorTime(b)
			for b.Loop() {
				times.call(b, "validate", func() ([]*tfprotov6.Diagnostic, error) {
					resp, err := l.server.ValidateResourceConfig(b.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: "slipway_deployment", Config: config})
					return resp.Diagnostics, err
				})
				times.call(b, "upgrade", func() ([]*tfprotov6.Diagnostic, error) {
					resp, err := l.server.UpgradeResourceState(b.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: "slipway_deployment", Version: l.versions["slipway_deployment"], RawState: saved})
					return resp.Diagnostics, err
				})
				times.call(b, "read", func() ([]*tfprotov6.Diagnostic, error) {
					resp, err := l.server.ReadResource(b.Context(), &tfprotov6.ReadResourceRequest{TypeName: "slipway_deployment", CurrentState: sentState, Private: l.private})
					return resp.Diagnostics, err
				})
				times.call(b, "plan", func() ([]*tfprotov6.Diagnostic, error) {
					resp, err := l.server.PlanResourceChange(b.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "slipway_deployment", PriorState: sentState, PriorPrivate: l.private, Config: config, ProposedNewState: proposed})
					return resp.Diagnostics, err
				})
			}
			times.report(b, start)
		})
		b.Run(fmt.Sprintf("nodes-%d", nodes), func(b *testing.B) {
			raw := make([]*tfprotov6.DynamicValue, nodes)
			saved := make([]*tfprotov6.RawState, nodes)
			for i, n := range l.nodes {
				raw[i], saved[i] = sent(b, l.node, n), &tfprotov6.RawState{JSON: savedState(b, n)}
			}
			times, start := laps{}, processorTime(b)
			for b.Loop() {
				for i := range nodes {
					times.call(b, "validate", func() ([]*tfprotov6.Diagnostic, error) {
						resp, err := l.server.ValidateResourceConfig(b.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: "slipway_node", Config: raw[i]})
						return resp.Diagnostics, err
					})
					times.call(b, "upgrade", func() ([]*tfprotov6.Diagnostic, error) {
						resp, err := l.server.UpgradeResourceState(b.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: "slipway_node", Version: l.versions["slipway_node"], RawState: saved[i]})
						return resp.Diagnostics, err
					})
					times.call(b, "read", func() ([]*tfprotov6.Diagnostic, error) {
						resp, err := l.server.ReadResource(b.Context(), &tfprotov6.ReadResourceRequest{TypeName: "slipway_node", CurrentState: raw[i]})
						return resp.Diagnostics, err
					})
					times.call(b, "plan", func() ([]*tfprotov6.Diagnostic, error) {
						resp, err := l.server.PlanResourceChange(b.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "slipway_node", PriorState: raw[i], Config: raw[i], ProposedNewState: raw[i]})
						return resp.Diagnostics, err
					})
				}
			}
			times.report(b, start)
		})
		b.Run(fmt.Sprintf("select_nodes-%d", nodes), func(b *testing.B) {
			arguments := []*tfprotov6.DynamicValue{sent(b, tftypes.DynamicPseudoType, l.config["nodes"]),
				sent(b, tftypes.DynamicPseudoType, tupleOf([]tftypes.Value{objectOf(map[string]tftypes.Value{"node_tags": tupleOf([]tftypes.Value{text("t01")})})}))}
			for b.Loop() {
				resp, err := l.server.CallFunction(b.Context(), &tfprotov6.CallFunctionRequest{Name: "select_nodes", Arguments: arguments})
				if err != nil || resp.Error != nil {
					b.Fatal(err, resp.Error)
				}
			}
		})
	}
}

// laps are the times of the calls of a benchmark, by call.
type laps map[string]time.Duration

func (l laps) call(b *testing.B, name string, f func() ([]*tfprotov6.Diagnostic, error)) {
	start := time.Now()
	diags, err := f()
	l[name] += time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	fine(b, diags)
}

// report tells the time of each call, and the processor time of all, which other work on the machine changes less.
func (l laps) report(b *testing.B, start time.Duration) {
	b.ReportMetric(float64((processorTime(b)-start).Milliseconds())/float64(b.N), "cpu-ms/op")
	for name, t := range l {
		b.ReportMetric(t.Seconds()*1000/float64(b.N), name+"-ms/op")
	}
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func fine(tb testing.TB, diags []*tfprotov6.Diagnostic) {
	tb.Helper()
	for _, d := range diags {
		tb.Fatalf("%s: %s", d.Summary, d.Detail)
	}
}

// sent is a value as it goes over the wire.
func sent(tb testing.TB, typ tftypes.Type, v tftypes.Value) *tfprotov6.DynamicValue {
	tb.Helper()
	d, err := tfprotov6.NewDynamicValue(typ, v)
	if err != nil {
		tb.Fatal(err)
	}
	return &d
}

// savedState is a value as a state file holds it: what the schema calls dynamic has its type beside it.
func savedState(tb testing.TB, v tftypes.Value) []byte {
	tb.Helper()
	var attributes map[string]tftypes.Value
	if err := v.As(&attributes); err != nil {
		tb.Fatal(err)
	}
	declared, ok := v.Type().(tftypes.Object)
	if !ok {
		tb.Fatal("no object")
	}
	out := map[string]any{}
	for name, a := range attributes {
		out[name] = written(tb, a)
		if declared.AttributeTypes[name].Is(tftypes.DynamicPseudoType) && !a.IsNull() {
			typ, err := json.Marshal(a.Type())
			if err != nil {
				tb.Fatal(err)
			}
			out[name] = map[string]any{"type": json.RawMessage(typ), "value": out[name]}
		}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// written is a known value in JSON.
func written(tb testing.TB, v tftypes.Value) any {
	tb.Helper()
	value, err := values.Known(v)
	if err != nil {
		tb.Fatal(err)
	}
	var members map[string]tftypes.Value
	if v.IsNull() || v.As(&members) != nil {
		return value
	}
	out := map[string]any{} // plain leaves null members out, a state file does not
	for name, m := range members {
		out[name] = written(tb, m)
	}
	return out
}

func empty(typ tftypes.Object) map[string]tftypes.Value {
	out := make(map[string]tftypes.Value, len(typ.AttributeTypes))
	for name, a := range typ.AttributeTypes {
		out[name] = tftypes.NewValue(a, nil)
	}
	return out
}

func objects(typ tftypes.Object, count int, fill func(int, map[string]tftypes.Value, tftypes.Object)) tftypes.Value {
	var out []tftypes.Value
	for i := range count {
		attributes := empty(typ)
		fill(i, attributes, typ)
		out = append(out, objectOf(attributes))
	}
	return tupleOf(out)
}

func objectOf(attributes map[string]tftypes.Value) tftypes.Value {
	typ := tftypes.Object{AttributeTypes: make(map[string]tftypes.Type, len(attributes))}
	for name, v := range attributes {
		typ.AttributeTypes[name] = v.Type()
	}
	return tftypes.NewValue(typ, attributes)
}

func tupleOf(elements []tftypes.Value) tftypes.Value {
	typ := tftypes.Tuple{ElementTypes: make([]tftypes.Type, len(elements))}
	for i, e := range elements {
		typ.ElementTypes[i] = e.Type()
	}
	return tftypes.NewValue(typ, elements)
}

// collection is a list or set of what is given.
func collection(typ tftypes.Type, elements ...tftypes.Value) tftypes.Value {
	if elements == nil {
		elements = []tftypes.Value{}
	}
	return tftypes.NewValue(typ, elements)
}

// connecting is a connection with a user and port of its own.
func connecting(typ tftypes.Type, user string) tftypes.Value {
	object := typ.(tftypes.Object) //nolint:forcetypeassert // the schema says so
	c := empty(object)
	c["user"], c["port"] = text(user), tftypes.NewValue(tftypes.Number, 2222)
	return tftypes.NewValue(object, c)
}

// selecting is a list of one selector of one criterion of one value.
func selecting(list tftypes.Type, criterion, value string) tftypes.Value {
	typ := list.(tftypes.List).ElementType.(tftypes.Object) //nolint:forcetypeassert // the schema says so
	selector := empty(typ)
	selector[criterion] = collection(typ.AttributeTypes[criterion], text(value))
	return collection(list, tftypes.NewValue(typ, selector))
}
