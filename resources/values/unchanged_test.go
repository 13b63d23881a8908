package values_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/resources"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// held has the resources that only hold desired state.
type held struct{ provider.Provider }

func (held) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "slipway"
}
func (held) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (held) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (held) DataSources(context.Context) []func() datasource.DataSource                        { return nil }
func (held) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{resources.NewNode, resources.NewGroup, resources.NewService, resources.NewOverride, resources.NewDeployment}
}

// asked counts the calls that reach the framework.
type asked struct {
	values.Server
	calls int
}

func (a *asked) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	a.calls++
	return a.Server.ReadResource(ctx, req)
}

func (a *asked) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	a.calls++
	return a.Server.PlanResourceChange(ctx, req)
}

// servers are the provider with and without the server in front.
type servers struct {
	*testing.T
	front, framework values.Server
	asked            *asked
	types            map[string]tftypes.Object
}

func newServers(t *testing.T) servers {
	t.Helper()
	framework, err := values.NewServer(t.Context(), held{})
	if err != nil {
		t.Fatal(err)
	}
	s := servers{T: t, framework: framework, asked: &asked{Server: framework}, types: map[string]tftypes.Object{}}
	if s.front, err = values.NewUnchangedServer(t.Context(), held{}, s.asked); err != nil {
		t.Fatal(err)
	}
	schemas, err := framework.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range schemas.ResourceSchemas {
		typ, ok := schema.ValueType().(tftypes.Object)
		if !ok {
			t.Fatalf("%s is no object", name)
		}
		s.types[name] = typ
	}
	return s
}

func (s servers) sent(typ tftypes.Type, v any) *tfprotov6.DynamicValue {
	s.Helper()
	d, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, v))
	if err != nil {
		s.Fatal(err)
	}
	return &d
}

// arbitrary makes values of a type. Sets and maps have one element at most, as the encoder of these tests has no order for more.
type arbitrary struct{ *rand.Rand }

func (r arbitrary) value(typ tftypes.Type) tftypes.Value {
	if r.IntN(4) == 0 && !typ.Is(tftypes.DynamicPseudoType) {
		return tftypes.NewValue(typ, nil)
	}
	one := func(element tftypes.Type) []tftypes.Value { return []tftypes.Value{r.value(element)}[:r.IntN(2)] }
	switch typ := typ.(type) {
	case tftypes.List:
		return tftypes.NewValue(typ, one(typ.ElementType))
	case tftypes.Set:
		return tftypes.NewValue(typ, one(typ.ElementType))
	case tftypes.Map:
		return tftypes.NewValue(typ, map[string]tftypes.Value{"key": r.value(typ.ElementType)})
	case tftypes.Object:
		return tftypes.NewValue(typ, r.members(typ))
	}
	switch {
	case typ.Is(tftypes.Number):
		return tftypes.NewValue(typ, r.IntN(100000))
	case typ.Is(tftypes.Bool):
		return tftypes.NewValue(typ, r.IntN(2) == 0)
	}
	text := tftypes.NewValue(tftypes.String, fmt.Sprintf("t%d", r.IntN(1000))) // also where any type is taken
	return text
}

func (r arbitrary) members(typ tftypes.Object) map[string]tftypes.Value {
	members := make(map[string]tftypes.Value, len(typ.AttributeTypes))
	for name, a := range typ.AttributeTypes {
		members[name] = r.value(a)
	}
	return members
}

var heldTypes = []string{"slipway_node", "slipway_group", "slipway_service", "slipway_override"}

// Whatever an object holds, the answers are those of the framework, and the framework is asked only where something may happen.
func TestAnswersOfTheFramework(t *testing.T) {
	s := newServers(t)
	identityType := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String}}
	for seed := range uint64(60) {
		r := arbitrary{rand.New(rand.NewPCG(seed, 9))}
		for _, name := range heldTypes {
			typ := s.types[name]
			members := r.members(typ)
			members["name"] = tftypes.NewValue(tftypes.String, fmt.Sprintf("n%d", seed))
			state := s.sent(typ, members)
			identity := &tfprotov6.ResourceIdentityData{IdentityData: s.sent(identityType, map[string]tftypes.Value{"name": members["name"]})}
			other := &tfprotov6.ResourceIdentityData{IdentityData: s.sent(identityType, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, "another")})}
			none := &tfprotov6.ResourceIdentityData{IdentityData: s.sent(identityType, nil)}

			s.read(false, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: state})
			s.read(false, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: state, CurrentIdentity: identity})
			s.read(true, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: state, CurrentIdentity: none})
			s.read(true, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: state, CurrentIdentity: other})
			s.read(true, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: state, Private: []byte(`{".import_before_read":"dHJ1ZQ=="}`)})

			asked := name != "slipway_node"
			s.plan(asked, &tfprotov6.PlanResourceChangeRequest{TypeName: name, PriorState: state, ProposedNewState: state, Config: state})
			s.plan(asked, &tfprotov6.PlanResourceChangeRequest{TypeName: name, PriorState: state, ProposedNewState: state, Config: state, PriorIdentity: identity})
			s.plan(true, &tfprotov6.PlanResourceChangeRequest{TypeName: name, PriorState: state, ProposedNewState: state, Config: state, PriorPrivate: []byte(`{"k":"djE="}`)})
			null := s.sent(typ, nil)
			s.plan(true, &tfprotov6.PlanResourceChangeRequest{TypeName: name, PriorState: state, ProposedNewState: null, Config: null})
			s.plan(true, &tfprotov6.PlanResourceChangeRequest{TypeName: name, PriorState: null, ProposedNewState: state, Config: state})
			members["name"] = tftypes.NewValue(tftypes.String, "changed")
			changed := s.sent(typ, members)
			s.plan(true, &tfprotov6.PlanResourceChangeRequest{TypeName: name, PriorState: state, ProposedNewState: changed, Config: changed, PriorIdentity: identity})
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func (s servers) read(asked bool, req *tfprotov6.ReadResourceRequest) {
	s.Helper()
	s.asked.calls = 0
	got, err := s.front.ReadResource(s.Context(), req)
	if err != nil {
		s.Fatal(err)
	}
	s.counted(asked, req.TypeName)
	want, err := s.framework.ReadResource(s.Context(), req)
	if err != nil {
		s.Fatal(err)
	}
	s.equal(req.TypeName, want, got)
}

func (s servers) plan(asked bool, req *tfprotov6.PlanResourceChangeRequest) {
	s.Helper()
	s.asked.calls = 0
	got, err := s.front.PlanResourceChange(s.Context(), req)
	if err != nil {
		s.Fatal(err)
	}
	s.counted(asked, req.TypeName)
	want, err := s.framework.PlanResourceChange(s.Context(), req)
	if err != nil {
		s.Fatal(err)
	}
	s.equal(req.TypeName, want, got)
}

func (s servers) counted(asked bool, name string) {
	s.Helper()
	if (s.asked.calls > 0) != asked {
		s.Errorf("%s: the framework was asked %d times", name, s.asked.calls)
	}
}

func (s servers) equal(name string, want, got any) {
	s.Helper()
	paths := cmp.Comparer(func(a, b *tftypes.AttributePath) bool { return a.Equal(b) })
	if d := cmp.Diff(want, got, paths); d != "" {
		s.Errorf("%s (-framework +got):\n%s", name, d)
	}
}

// What is not idle is always for the framework, and so is what makes no sense.
func TestOthersPass(t *testing.T) {
	s := newServers(t)
	typ := s.types["slipway_deployment"]
	members := map[string]tftypes.Value{}
	for name, a := range typ.AttributeTypes {
		members[name] = tftypes.NewValue(a, nil)
	}
	s.read(true, &tfprotov6.ReadResourceRequest{TypeName: "slipway_deployment", CurrentState: s.sent(typ, nil)})
	s.read(true, &tfprotov6.ReadResourceRequest{TypeName: "slipway_node", CurrentState: s.sent(s.types["slipway_node"], nil)})
	s.read(true, &tfprotov6.ReadResourceRequest{TypeName: "slipway_nothing", CurrentState: s.sent(typ, members)})
	s.read(true, &tfprotov6.ReadResourceRequest{TypeName: "slipway_node"})
	for _, raw := range [][]byte{{}, {0x81}, {0x81, 0xa1}, {0xdf, 0xff, 0xff, 0xff, 0xff}, slices.Repeat([]byte{0x81}, 100)} {
		req := &tfprotov6.ReadResourceRequest{TypeName: "slipway_node", CurrentState: &tfprotov6.DynamicValue{MsgPack: raw}}
		got, err := s.front.ReadResource(t.Context(), req)
		want, wantErr := s.framework.ReadResource(t.Context(), req)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%x: %v, the framework says %v", raw, err, wantErr)
		}
		s.equal("slipway_node", want, got)
	}
}
