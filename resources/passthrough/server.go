package passthrough

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Server is what the plugin framework serves: the calls of the protocol, also those that a provider need not know.
type Server interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

// server wraps what comes in and unwraps what goes out. All calls that it does not name pass as they are.
type server struct {
	Server
	opaque map[string]attributes // by resource type
	forms  map[string]form       // by resource type
}

// form says how the state of a resource is saved today.
type form struct {
	version int64
	typ     tftypes.Type
}

// NewServer serves a provider of the framework. Which attributes are opaque is read from the schemas of its resources.
func NewServer(ctx context.Context, p provider.Provider) (Server, error) {
	inner, ok := providerserver.NewProtocol6(p)().(Server)
	if !ok {
		return nil, fmt.Errorf("the plugin framework serves a %T, which lacks calls of the protocol", inner)
	}
	s := &server{Server: inner, opaque: opaqueAttributes(ctx, p), forms: map[string]form{}}
	all, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	for name, declared := range all.ResourceSchemas {
		s.forms[name] = form{declared.Version, declared.ValueType()}
	}
	return s, nil
}

func opaqueAttributes(ctx context.Context, p provider.Provider) map[string]attributes {
	var about provider.MetadataResponse
	p.Metadata(ctx, provider.MetadataRequest{}, &about)
	all := map[string]attributes{}
	for _, newResource := range p.Resources(ctx) {
		r := newResource()
		var name resource.MetadataResponse
		r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: about.TypeName}, &name)
		var declared resource.SchemaResponse
		r.Schema(ctx, resource.SchemaRequest{}, &declared)
		opaque := attributes{}
		for attribute, a := range declared.Schema.Attributes {
			if a.GetType().Equal(Type{}) {
				opaque[attribute] = true
			}
		}
		if len(opaque) > 0 {
			all[name.TypeName] = opaque
		}
	}
	return all
}

// GetProviderSchema declares opaque attributes as Terraform is to see them.
func (s *server) GetProviderSchema(ctx context.Context,
	req *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	resp, err := s.Server.GetProviderSchema(ctx, req)
	if err != nil {
		return resp, err
	}
	for name, opaque := range s.opaque {
		schema := resp.ResourceSchemas[name]
		if schema == nil || schema.Block == nil {
			continue // the framework reports why
		}
		for _, a := range schema.Block.Attributes {
			if opaque[a.Name] {
				a.Type = tftypes.DynamicPseudoType
			}
		}
	}
	return resp, nil
}

// ValidateResourceConfig wraps the configuration.
func (s *server) ValidateResourceConfig(ctx context.Context,
	req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	w, r := s.wire(req.TypeName), *req
	w.wrap(&r.Config)
	if w.err != nil {
		return nil, w.err
	}
	return s.Server.ValidateResourceConfig(ctx, &r)
}

// UpgradeResourceState encodes a saved state of the schema of today. It wraps another and unwraps what the framework
// makes of it.
func (s *server) UpgradeResourceState(ctx context.Context,
	req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if today := s.forms[req.TypeName]; req.Version == today.version {
		if state, err := encodeState(req.RawState, today.typ); err == nil {
			return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: state}, nil
		} // else the framework finds out what it is, or what to say
	}
	w, r := s.wire(req.TypeName), *req
	var err error
	if r.RawState, err = w.opaque.wrapState(r.RawState); err != nil {
		return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: []*tfprotov6.Diagnostic{{
			Severity: tfprotov6.DiagnosticSeverityError,
			Summary:  "The saved state cannot be read",
			Detail:   fmt.Sprintf("The state of a %s holds an attribute that is no value with its type: %v.\n\nIf the state was changed by hand, put it back; otherwise please report this.", req.TypeName, err),
		}}}, nil
	}
	resp, err := s.Server.UpgradeResourceState(ctx, &r)
	if err == nil {
		w.unwrap(&resp.UpgradedState)
	}
	return answer(resp, err, w)
}

// ReadResource wraps the state and unwraps what it has become.
func (s *server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse,
	error) {
	w, r := s.wire(req.TypeName), *req
	w.wrap(&r.CurrentState)
	if w.err != nil {
		return nil, w.err
	}
	resp, err := s.Server.ReadResource(ctx, &r)
	if err == nil {
		w.unwrap(&resp.NewState)
	}
	return answer(resp, err, w)
}

// PlanResourceChange wraps configuration and states and unwraps the planned state.
func (s *server) PlanResourceChange(ctx context.Context,
	req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	w, r := s.wire(req.TypeName), *req
	w.wrap(&r.Config, &r.PriorState, &r.ProposedNewState)
	if w.err != nil {
		return nil, w.err
	}
	resp, err := s.Server.PlanResourceChange(ctx, &r)
	if err == nil {
		w.unwrap(&resp.PlannedState)
	}
	return answer(resp, err, w)
}

// ApplyResourceChange wraps configuration and states and unwraps the new state.
func (s *server) ApplyResourceChange(ctx context.Context,
	req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	w, r := s.wire(req.TypeName), *req
	w.wrap(&r.Config, &r.PriorState, &r.PlannedState)
	if w.err != nil {
		return nil, w.err
	}
	resp, err := s.Server.ApplyResourceChange(ctx, &r)
	if err == nil {
		w.unwrap(&resp.NewState)
	}
	return answer(resp, err, w)
}

// GenerateResourceConfig wraps the state and unwraps the configuration made of it.
func (s *server) GenerateResourceConfig(ctx context.Context,
	req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	w, r := s.wire(req.TypeName), *req
	w.wrap(&r.State)
	if w.err != nil {
		return nil, w.err
	}
	resp, err := s.Server.GenerateResourceConfig(ctx, &r)
	if err == nil {
		w.unwrap(&resp.Config)
	}
	return answer(resp, err, w)
}

// wire changes the objects of one call and keeps the first error, which only a defect of slipway or Terraform causes.
type wire struct {
	resource string
	opaque   attributes
	err      error
}

func (s *server) wire(resource string) *wire {
	return &wire{resource: resource, opaque: s.opaque[resource]}
}

func (w *wire) wrap(objects ...**tfprotov6.DynamicValue) { w.apply(wrap, objects) }

func (w *wire) unwrap(objects ...**tfprotov6.DynamicValue) { w.apply(unwrap, objects) }

func (w *wire) apply(change change, objects []**tfprotov6.DynamicValue) {
	for _, object := range objects {
		changed, err := w.opaque.apply(*object, change)
		if err != nil && w.err == nil {
			w.err = fmt.Errorf("%s: %w", w.resource, err)
		}
		*object = changed
	}
}

// answer returns the response, or why it could not be unwrapped.
func answer[R any](resp *R, err error, w *wire) (*R, error) {
	if err == nil && w.err != nil {
		return nil, w.err
	}
	return resp, err
}
