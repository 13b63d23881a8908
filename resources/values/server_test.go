package values

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
)

// toy is a provider with one resource, toy_thing, whose two attributes of any type are opaque or, for comparison, not.
type toy struct {
	provider.Provider
	opaque bool
}

func (toy) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "toy"
}
func (toy) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (toy) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (toy) DataSources(context.Context) []func() datasource.DataSource                        { return nil }
func (p toy) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return thing{p.opaque} }}
}

// thing keeps what it is given; it complains of a place inside its first attribute.
type thing struct{ opaque bool }

var (
	_ resource.ResourceWithModifyPlan  = thing{}
	_ resource.ResourceWithImportState = thing{}
)

func (thing) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_thing"
}

func (t thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	var needed, extra schema.Attribute = schema.DynamicAttribute{Required: true}, schema.DynamicAttribute{Optional: true}
	if t.opaque {
		needed, extra = schema.StringAttribute{Required: true, CustomType: OpaqueType{}}, schema.StringAttribute{Optional: true, CustomType: OpaqueType{}}
	}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"needed": needed, "extra": extra,
		"open":     schema.DynamicAttribute{Optional: true},
		"number":   schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(7)},
		"computed": schema.StringAttribute{Computed: true},
		"secret":   schema.StringAttribute{Optional: true, WriteOnly: true},
	}}
}

func (thing) ModifyPlan(_ context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	resp.Diagnostics.AddAttributeWarning(path.Root("needed").AtListIndex(3).AtName("address"), "here", "")
	resp.RequiresReplace = path.Paths{path.Root("needed").AtMapKey("k")}
	if !req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(context.Background(), path.Root("computed"), types.StringValue("planned"))...)
	}
}

func (thing) Create(_ context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
}

func (thing) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}

func (thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse)       {}
func (thing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
func (thing) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("computed"), req, resp)
}

var thingType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
	"needed": tftypes.DynamicPseudoType, "extra": tftypes.DynamicPseudoType, "open": tftypes.DynamicPseudoType,
	"number": tftypes.Number, "computed": tftypes.String, "secret": tftypes.String,
}}

// pair is the same provider opaque and open.
type pair struct {
	*testing.T
	opaque, open tfprotov6.ProviderServer
}

func newPair(t *testing.T) pair {
	t.Helper()
	s, err := NewServer(t.Context(), toy{opaque: true})
	if err != nil {
		t.Fatal(err)
	}
	return pair{t, s, providerserver.NewProtocol6(toy{})()}
}

// dynamic is an object as Terraform sends it.
func (p pair) dynamic(members map[string]tftypes.Value) *tfprotov6.DynamicValue {
	p.Helper()
	v := tftypes.NewValue(thingType, nil)
	if members != nil {
		v = tftypes.NewValue(thingType, members)
	}
	d, err := tfprotov6.NewDynamicValue(thingType, v)
	if err != nil {
		p.Fatal(err)
	}
	return &d
}

// agree reports where opaque and open answers differ.
func (p pair) agree(what string, opaque, open *tfprotov6.DynamicValue, got, expected []*tfprotov6.Diagnostic) {
	p.Helper()
	if d := cmp.Diff(expected, got, cmp.Comparer(func(a, b *tftypes.AttributePath) bool { return a.Equal(b) })); d != "" {
		p.Errorf("%s: diagnostics (-open +opaque):\n%s", what, d)
	}
	if opaque == nil || open == nil {
		if opaque != open {
			p.Errorf("%s: %v is opaque and %v is open", what, opaque, open)
		}
		return
	}
	a, err := opaque.Unmarshal(thingType)
	if err != nil {
		p.Fatalf("%s: %v", what, err)
	}
	b, err := open.Unmarshal(thingType)
	if err != nil {
		p.Fatalf("%s: %v", what, err)
	}
	if !a.Equal(b) {
		p.Errorf("%s:\nopen   %s\nopaque %s", what, b, a)
	}
}

// Terraform cannot distinguish a provider with opaque attributes from one without: not by schemas, nor by any answer to any call, whatever the values.
func TestTerraformSeesNoDifference(t *testing.T) {
	p := newPair(t)
	ctx := t.Context()
	var schemas [2]*tfprotov6.GetProviderSchemaResponse
	for i, server := range []tfprotov6.ProviderServer{p.open, p.opaque} {
		var err error
		if schemas[i], err = server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(schemas[0], schemas[1], cmp.Comparer(func(a, b tftypes.Type) bool { return a.Equal(b) })); d != "" {
		t.Errorf("schemas (-open +opaque):\n%s", d)
	}
	for seed := range uint64(400) {
		r := random{rand.New(rand.NewPCG(seed, 3)), true}
		config := r.thing()
		prior := random{r.Rand, false}.thing()
		if r.IntN(4) == 0 { // nothing changes
			config = maps.Clone(prior)
		}
		prior["number"], prior["computed"], prior["secret"] = tftypes.NewValue(tftypes.Number, 7), tftypes.NewValue(tftypes.String, "before"), tftypes.NewValue(tftypes.String, nil)
		proposed := maps.Clone(config)
		proposed["computed"] = prior["computed"]
		proposed["number"] = prior["number"]
		p.validate(ctx, config)
		p.upgrade(ctx, random{r.Rand, false}.thing(), seed%2 == 0)
		p.read(ctx, prior)
		p.change(ctx, nil, config, proposed)
		p.change(ctx, prior, config, proposed)
		p.change(ctx, prior, nil, nil)
		if t.Failed() {
			t.Fatalf("seed %d: configuration %s, prior state %s", seed, config, prior)
		}
	}
	p.imported(ctx)
}

// thing is the configuration of a toy_thing.
func (r random) thing() map[string]tftypes.Value {
	return map[string]tftypes.Value{"needed": r.any(), "extra": r.any(), "open": r.any(), "number": tftypes.NewValue(tftypes.Number, nil),
		"computed": tftypes.NewValue(tftypes.String, nil), "secret": r.value(tftypes.String)}
}

func (p pair) validate(ctx context.Context, config map[string]tftypes.Value) {
	p.Helper()
	req := tfprotov6.ValidateResourceConfigRequest{TypeName: "toy_thing", Config: p.dynamic(config), ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true}}
	before := *req.Config
	a, err := p.opaque.ValidateResourceConfig(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	if !bytes.Equal(before.MsgPack, req.Config.MsgPack) {
		p.Error("the request was changed")
	}
	b, err := p.open.ValidateResourceConfig(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	p.agree("validate", nil, nil, a.Diagnostics, b.Diagnostics)
}

// upgrade takes a state of today, or one that an older version wrote.
func (p pair) upgrade(ctx context.Context, state map[string]tftypes.Value, older bool) {
	p.Helper()
	raw := savedState(p.T, state)
	if older {
		raw = append([]byte(`{"gone":true,`), raw[1:]...)
	}
	req := tfprotov6.UpgradeResourceStateRequest{TypeName: "toy_thing", RawState: &tfprotov6.RawState{JSON: raw}}
	a, err := p.opaque.UpgradeResourceState(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	b, err := p.open.UpgradeResourceState(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	p.agree("upgrade", a.UpgradedState, b.UpgradedState, a.Diagnostics, b.Diagnostics)
}

func (p pair) read(ctx context.Context, state map[string]tftypes.Value) {
	p.Helper()
	req := tfprotov6.ReadResourceRequest{TypeName: "toy_thing", CurrentState: p.dynamic(state)}
	a, err := p.opaque.ReadResource(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	b, err := p.open.ReadResource(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	p.agree("read", a.NewState, b.NewState, a.Diagnostics, b.Diagnostics)
	p.kept(a.NewState, req.CurrentState)
	config := tfprotov6.GenerateResourceConfigRequest{TypeName: "toy_thing", State: req.CurrentState}
	c, err := p.opaque.GenerateResourceConfig(ctx, &config)
	if err != nil {
		p.Fatal(err)
	}
	d, err := p.open.GenerateResourceConfig(ctx, &config)
	if err != nil {
		p.Fatal(err)
	}
	if state["extra"].Equal(tftypes.NewValue(tftypes.String, "")) {
		return // the framework makes it null, which is said in the contract
	}
	p.agree("generate", c.Config, d.Config, c.Diagnostics, d.Diagnostics)
}

// change plans and applies.
func (p pair) change(ctx context.Context, prior, config, proposed map[string]tftypes.Value) {
	p.Helper()
	req := tfprotov6.PlanResourceChangeRequest{TypeName: "toy_thing", PriorState: p.dynamic(prior), Config: p.dynamic(config), ProposedNewState: p.dynamic(proposed)}
	a, err := p.opaque.PlanResourceChange(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	b, err := p.open.PlanResourceChange(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	p.agree("plan", a.PlannedState, b.PlannedState, a.Diagnostics, b.Diagnostics)
	if !slices.EqualFunc(a.RequiresReplace, b.RequiresReplace, (*tftypes.AttributePath).Equal) {
		p.Errorf("opaque requires replacement for %s, open for %s", a.RequiresReplace, b.RequiresReplace)
	}
	p.kept(a.PlannedState, req.ProposedNewState)
	apply := tfprotov6.ApplyResourceChangeRequest{TypeName: "toy_thing", PriorState: req.PriorState, Config: req.Config, PlannedState: a.PlannedState}
	c, err := p.opaque.ApplyResourceChange(ctx, &apply)
	if err != nil {
		p.Fatal(err)
	}
	apply.PlannedState = b.PlannedState
	d, err := p.open.ApplyResourceChange(ctx, &apply)
	if err != nil {
		p.Fatal(err)
	}
	p.agree("apply", c.NewState, d.NewState, c.Diagnostics, d.Diagnostics)
	p.kept(c.NewState, a.PlannedState)
}

// kept reports opaque attributes that are not, byte for byte, what was sent.
func (p pair) kept(got, sent *tfprotov6.DynamicValue) {
	p.Helper()
	seen := [2]map[string]string{{}, {}}
	for i, object := range []*tfprotov6.DynamicValue{got, sent} {
		if _, err := (attributes{"needed": true, "extra": true}).apply(object, func(value msgpack.RawMessage) (msgpack.RawMessage, error) {
			seen[i][string(value)] = ""
			return value, nil
		}); err != nil {
			p.Fatal(err)
		}
	}
	if d := cmp.Diff(seen[1], seen[0]); d != "" {
		p.Errorf("not what was sent: %s", d)
	}
}

func (p pair) imported(ctx context.Context) {
	p.Helper()
	req := tfprotov6.ImportResourceStateRequest{TypeName: "toy_thing", ID: "x"}
	a, err := p.opaque.ImportResourceState(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	b, err := p.open.ImportResourceState(ctx, &req)
	if err != nil {
		p.Fatal(err)
	}
	p.agree("import", a.ImportedResources[0].State, b.ImportedResources[0].State, a.Diagnostics, b.Diagnostics)
}

// A state of an older version that was damaged by hand is an error with the attribute. Terraform itself reads one of today.
func TestDamagedState(t *testing.T) {
	p := newPair(t)
	resp, err := p.opaque.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: "toy_thing", RawState: &tfprotov6.RawState{JSON: []byte(`{"gone":true,"needed":{"type":"string","value":[]}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Diagnostics) != 1 || !bytes.Contains([]byte(resp.Diagnostics[0].Detail), []byte("needed: ")) {
		t.Errorf("got %v", resp.Diagnostics)
	}
}

// savedState is a toy_thing as a state file holds it.
func savedState(t testing.TB, state map[string]tftypes.Value) []byte {
	t.Helper()
	saved := map[string]any{}
	for name, v := range state {
		saved[name] = inJSON(t, v)
		if thingType.AttributeTypes[name].Is(tftypes.DynamicPseudoType) && !v.Type().Is(tftypes.DynamicPseudoType) {
			typ, err := json.Marshal(v.Type())
			if err != nil {
				t.Fatal(err)
			}
			saved[name] = map[string]any{"type": json.RawMessage(typ), "value": saved[name]}
		}
	}
	raw, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// inJSON is a known value as a state file holds it.
func inJSON(t testing.TB, v tftypes.Value) any {
	t.Helper()
	if v.IsNull() {
		return nil
	}
	var (
		text     string
		flag     bool
		number   big.Float
		elements []tftypes.Value
		members  map[string]tftypes.Value
	)
	switch {
	case v.As(&text) == nil:
		return text
	case v.As(&flag) == nil:
		return flag
	case v.As(&number) == nil:
		return json.Number(number.Text('g', -1))
	case v.As(&elements) == nil:
		out := make([]any, len(elements))
		for i, e := range elements {
			out[i] = inJSON(t, e)
		}
		return out
	case v.As(&members) == nil:
		out := map[string]any{}
		for name, m := range members {
			out[name] = inJSON(t, m)
		}
		return out
	}
	t.Fatalf("no JSON for %s", v)
	return nil
}
