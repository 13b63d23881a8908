package values

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Server is what the plugin framework serves: the calls of the protocol, also those that a provider need not know.
type Server interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

// server wraps what comes in and unwraps what goes out, and cleans what diagnostics quote. All calls that it does not
// name pass as they are.
type server struct {
	Server
	opaque map[string]attributes // by resource type
	forms  map[string]form       // by resource type
	// the configurations of the provider, and of data sources by type
	provider tftypes.Type
	data     map[string]tftypes.Type
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
	s := &server{Server: inner, opaque: opaqueAttributes(ctx, p), forms: map[string]form{},
		data: map[string]tftypes.Type{}}
	all, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	for name, declared := range all.ResourceSchemas {
		s.forms[name] = form{declared.Version, declared.ValueType()}
	}
	for name, declared := range all.DataSourceSchemas {
		s.data[name] = declared.ValueType()
	}
	s.provider = all.Provider.ValueType()
	return s, nil
}

func opaqueAttributes(ctx context.Context, p provider.Provider) map[string]attributes {
	all := map[string]attributes{}
	for name, r := range resourcesOf(ctx, p) {
		var declared resource.SchemaResponse
		r.Schema(ctx, resource.SchemaRequest{}, &declared)
		for attribute, a := range declared.Schema.Attributes {
			if !a.GetType().Equal(OpaqueType{}) {
				continue
			}
			if all[name] == nil {
				all[name] = attributes{}
			}
			all[name][attribute] = true
		}
	}
	return all
}

// resourcesOf returns a new one of each resource of a provider, by type.
func resourcesOf(ctx context.Context, p provider.Provider) map[string]resource.Resource {
	var about provider.MetadataResponse
	p.Metadata(ctx, provider.MetadataRequest{}, &about)
	all := map[string]resource.Resource{}
	for _, newResource := range p.Resources(ctx) {
		r := newResource()
		var name resource.MetadataResponse
		r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: about.TypeName}, &name)
		all[name.TypeName] = r
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

// ConfigureProvider cleans the diagnostics.
func (s *server) ConfigureProvider(ctx context.Context,
	req *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	resp, err := s.Server.ConfigureProvider(ctx, req)
	if err == nil {
		visible(&resp.Diagnostics)
	}
	return resp, err
}

// ReadDataSource cleans the diagnostics.
func (s *server) ReadDataSource(ctx context.Context,
	req *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	resp, err := s.Server.ReadDataSource(ctx, req)
	if err == nil {
		visible(&resp.Diagnostics)
	}
	return resp, err
}

// ImportResourceState cleans the diagnostics.
func (s *server) ImportResourceState(ctx context.Context,
	req *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	resp, err := s.Server.ImportResourceState(ctx, req)
	if err == nil {
		visible(&resp.Diagnostics)
	}
	return resp, err
}

// visible takes what acts on terminals out of diagnostics: they may quote nodes, databases and servers. Warnings with
// one summary become one, at the attribute of the first: Terraform prints the first of them and counts the others.
func visible(of *[]*tfprotov6.Diagnostic) {
	warnings := map[string]*tfprotov6.Diagnostic{}
	shown := (*of)[:0]
	for _, d := range *of {
		d.Summary, d.Detail = planresource.Visible(d.Summary), planresource.Visible(d.Detail)
		if d.Severity != tfprotov6.DiagnosticSeverityWarning {
			shown = append(shown, d)
		} else if first := warnings[d.Summary]; first != nil {
			first.Detail += "\n\n" + d.Detail
		} else {
			warnings[d.Summary] = d
			shown = append(shown, d)
		}
	}
	*of = shown
}

// ValidateProviderConfig refuses numbers that are not whole.
func (s *server) ValidateProviderConfig(ctx context.Context,
	req *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	r := *req
	return validated(ctx, s.provider, &r, &r.Config, s.Server.ValidateProviderConfig,
		func(resp *tfprotov6.ValidateProviderConfigResponse) *[]*tfprotov6.Diagnostic {
			return &resp.Diagnostics
		})
}

// ValidateDataResourceConfig refuses numbers that are not whole.
func (s *server) ValidateDataResourceConfig(ctx context.Context,
	req *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	r := *req
	return validated(ctx, s.data[req.TypeName], &r, &r.Config, s.Server.ValidateDataResourceConfig,
		func(resp *tfprotov6.ValidateDataResourceConfigResponse) *[]*tfprotov6.Diagnostic {
			return &resp.Diagnostics
		})
}

// ValidateResourceConfig wraps the configuration, and refuses numbers that are not whole.
func (s *server) ValidateResourceConfig(ctx context.Context,
	req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	r := *req
	return validated(ctx, s.forms[req.TypeName].typ, &r, &r.Config, s.validateWrapped,
		func(resp *tfprotov6.ValidateResourceConfigResponse) *[]*tfprotov6.Diagnostic {
			return &resp.Diagnostics
		})
}

func (s *server) validateWrapped(ctx context.Context,
	req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	r := *req
	if err := s.change(req.TypeName, wrap, &r.Config); err != nil {
		return nil, err
	}
	return s.Server.ValidateResourceConfig(ctx, &r)
}

// UpgradeResourceState returns a saved state of the schema of today as it is: Terraform reads what it wrote. It wraps
// another and unwraps what the framework makes of it.
func (s *server) UpgradeResourceState(ctx context.Context,
	req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if today := s.forms[req.TypeName]; req.Version == today.version && isToday(req.RawState, today.typ) {
		return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{JSON: req.RawState.JSON}}, nil
	}
	r := *req
	var err error
	if r.RawState, err = s.opaque[req.TypeName].wrapState(r.RawState); err != nil {
		return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: []*tfprotov6.Diagnostic{{
			Severity: tfprotov6.DiagnosticSeverityError,
			Summary:  "The saved state cannot be read",
			Detail:   fmt.Sprintf("The state of a %s holds an attribute that is no value with its type: %v.\n\nIf the state was changed by hand, put it back; otherwise please report this.", req.TypeName, err),
		}}}, nil
	}
	return pass(ctx, s, req.TypeName, &r, s.Server.UpgradeResourceState,
		func(resp *tfprotov6.UpgradeResourceStateResponse) (**tfprotov6.DynamicValue, *[]*tfprotov6.Diagnostic) {
			return &resp.UpgradedState, &resp.Diagnostics
		})
}

// ReadResource wraps the state and unwraps what it has become.
func (s *server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse,
	error) {
	r := *req
	return pass(ctx, s, req.TypeName, &r, s.Server.ReadResource,
		func(resp *tfprotov6.ReadResourceResponse) (**tfprotov6.DynamicValue, *[]*tfprotov6.Diagnostic) {
			return &resp.NewState, &resp.Diagnostics
		}, &r.CurrentState)
}

// PlanResourceChange wraps configuration and states and unwraps the planned state.
func (s *server) PlanResourceChange(ctx context.Context,
	req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	r := *req
	return pass(ctx, s, req.TypeName, &r, s.Server.PlanResourceChange,
		func(resp *tfprotov6.PlanResourceChangeResponse) (**tfprotov6.DynamicValue, *[]*tfprotov6.Diagnostic) {
			return &resp.PlannedState, &resp.Diagnostics
		},
		&r.Config, &r.PriorState, &r.ProposedNewState)
}

// ApplyResourceChange wraps configuration and states and unwraps the new state.
func (s *server) ApplyResourceChange(ctx context.Context,
	req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	r := *req
	return pass(ctx, s, req.TypeName, &r, s.Server.ApplyResourceChange,
		func(resp *tfprotov6.ApplyResourceChangeResponse) (**tfprotov6.DynamicValue, *[]*tfprotov6.Diagnostic) {
			return &resp.NewState, &resp.Diagnostics
		},
		&r.Config, &r.PriorState, &r.PlannedState)
}

// GenerateResourceConfig wraps the state and unwraps the configuration made of it.
func (s *server) GenerateResourceConfig(ctx context.Context,
	req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	r := *req
	return pass(ctx, s, req.TypeName, &r, s.Server.GenerateResourceConfig,
		func(resp *tfprotov6.GenerateResourceConfigResponse) (**tfprotov6.DynamicValue, *[]*tfprotov6.Diagnostic) {
			return &resp.Config, &resp.Diagnostics
		}, &r.State)
}

// pass makes a call of the framework with the objects of a request wrapped, and unwraps the one in its response, which
// out returns with the diagnostics.
func pass[Q, R any](ctx context.Context, s *server, resource string, req *Q,
	call func(context.Context, *Q) (*R, error), out func(*R) (**tfprotov6.DynamicValue, *[]*tfprotov6.Diagnostic),
	in ...**tfprotov6.DynamicValue) (*R, error) {
	if err := s.change(resource, wrap, in...); err != nil {
		return nil, err
	}
	resp, err := call(ctx, req)
	if err != nil {
		return resp, err
	}
	object, diagnostics := out(resp)
	visible(diagnostics)
	if err := s.change(resource, unwrap, object); err != nil {
		return nil, err
	}
	return resp, nil
}

// change changes objects of a resource in place. Only a defect of slipway or Terraform causes an error.
func (s *server) change(resource string, change change, objects ...**tfprotov6.DynamicValue) (err error) {
	for _, object := range objects {
		if *object, err = s.opaque[resource].apply(*object, change); err != nil {
			return fmt.Errorf("%s: %w", resource, err)
		}
	}
	return nil
}
