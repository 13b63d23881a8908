package values

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Idle is a resource that nothing outside of Terraform changes: its Read leaves the state as it is. Its identity is
// made of attributes of the same names.
type Idle interface {
	resource.ResourceWithIdentity
	Idle()
}

// Quiet is an idle resource whose ModifyPlan does nothing where the proposed state is the prior state.
type Quiet interface {
	Idle
	Quiet()
}

// unchangedServer answers for what stays as it is. All else passes.
type unchangedServer struct {
	Server
	idle map[string]idle // by resource type
}

// idle is what is known of an idle resource.
type idle struct {
	identity map[string]bool // names of its attributes
	plain    bool            // it computes nothing
}

// NewUnchangedServer returns a server in front of another one of the provider that answers for resources that stay as
// they are, see the package comment.
func NewUnchangedServer(ctx context.Context, p provider.Provider, inner Server) (Server, error) {
	schemas, err := inner.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	identities, err := inner.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return nil, err
	}
	s := &unchangedServer{inner, map[string]idle{}}
	for name, r := range resourcesOf(ctx, p) {
		if _, ok := r.(Idle); !ok {
			continue
		}
		schema, identity := schemas.ResourceSchemas[name], identities.IdentitySchemas[name]
		if schema == nil || identity == nil {
			return nil, fmt.Errorf("%s has no schema or no identity", name)
		}
		_, modifies := r.(resource.ResourceWithModifyPlan)
		_, quiet := r.(Quiet)
		about := idle{map[string]bool{}, (!modifies || quiet) && computesNothing(schema.Block)}
		for _, a := range identity.IdentityAttributes {
			about.identity[a.Name] = true
		}
		s.idle[name] = about
	}
	return s, nil
}

// computesNothing reports whether all of an object comes from the configuration and is kept in the state.
func computesNothing(b *tfprotov6.SchemaBlock) bool {
	return len(b.BlockTypes) == 0 && plainAttributes(b.Attributes)
}

func plainAttributes(attributes []*tfprotov6.SchemaAttribute) bool {
	for _, a := range attributes {
		if a.Computed || a.WriteOnly || a.NestedType != nil && !plainAttributes(a.NestedType.Attributes) {
			return false
		}
	}
	return true
}

// ReadResource answers for an idle resource with its state.
func (s *unchangedServer) ReadResource(ctx context.Context,
	req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	about, ok := s.idle[req.TypeName]
	if !ok || len(req.Private) > 0 || !isObject(req.CurrentState) {
		return s.Server.ReadResource(ctx, req)
	}
	identity, err := selected(req.CurrentState.MsgPack, about.identity)
	if err != nil || req.CurrentIdentity != nil && !sameBytes(req.CurrentIdentity.IdentityData, identity) {
		return s.Server.ReadResource(ctx, req)
	}
	return &tfprotov6.ReadResourceResponse{NewState: req.CurrentState,
		NewIdentity: &tfprotov6.ResourceIdentityData{IdentityData: identity}}, nil
}

// PlanResourceChange answers for what computes nothing and does not change with its state.
func (s *unchangedServer) PlanResourceChange(ctx context.Context,
	req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	if !s.idle[req.TypeName].plain || len(req.PriorPrivate) > 0 || !isObject(req.PriorState) || !sameBytes(req.PriorState,
		req.ProposedNewState) {
		return s.Server.PlanResourceChange(ctx, req)
	}
	identity := req.PriorIdentity
	if identity == nil || identity.IdentityData == nil {
		identity = &tfprotov6.ResourceIdentityData{IdentityData: &tfprotov6.DynamicValue{MsgPack: []byte{msgpcode.Nil}}}
	}
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: req.PriorState, PlannedIdentity: identity}, nil
}

// isObject reports whether there is an object, in the encoding that Terraform uses in all calls.
func isObject(object *tfprotov6.DynamicValue) bool {
	return object != nil && len(object.MsgPack) > 0 && (msgpcode.IsFixedMap(object.MsgPack[0]) ||
		object.MsgPack[0] == msgpcode.Map16 || object.MsgPack[0] == msgpcode.Map32)
}

func sameBytes(a, b *tfprotov6.DynamicValue) bool {
	return a != nil && b != nil && len(a.MsgPack) > 0 && bytes.Equal(a.MsgPack, b.MsgPack)
}

// selected returns an object of some attributes of another.
func selected(object []byte, names map[string]bool) (*tfprotov6.DynamicValue, error) {
	var members map[string]msgpack.RawMessage
	if err := msgpack.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	maps.DeleteFunc(members, func(name string, _ msgpack.RawMessage) bool { return !names[name] })
	if len(members) < len(names) {
		return nil, errors.New("the object lacks attributes of its identity")
	}
	out, err := msgpack.Marshal(members)
	return &tfprotov6.DynamicValue{MsgPack: out}, err
}
