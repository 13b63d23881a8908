package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// NewService returns slipway_service: an instance of an entity, or configuration as it is, placed on nodes, as desired
// state.
func NewService() resource.Resource {
	return &service{held[serviceModelV0]{object: "service", schema: serviceSchema}}
}

// service is a held resource whose attributes fit an entity.
type service struct{ held[serviceModelV0] }

var _ resource.ResourceWithValidateConfig = (*service)(nil)

// serviceModelV0 is a service at schema version 0.
type serviceModelV0 struct {
	Name          types.String      `tfsdk:"name"`
	Selectors     []selectorModelV0 `tfsdk:"selectors"`
	Entity        *entityModelV0    `tfsdk:"entity"`
	Attributes    types.Dynamic     `tfsdk:"attributes"`
	Configuration types.Dynamic     `tfsdk:"configuration"`
	Lifecycle     types.String      `tfsdk:"service_lifecycle"`
	Gates         types.Map         `tfsdk:"gates"`
	Rollback      types.Bool        `tfsdk:"rollback_on_failure"`
	TargetState   types.String      `tfsdk:"target_state"`
}

// entityModelV0 is what a service keeps of an entity.
type entityModelV0 struct {
	Name       types.String `tfsdk:"name"`
	Digest     types.String `tfsdk:"digest"`
	Definition types.String `tfsdk:"definition"`
}

// value returns the service that a wholly known model describes.
func (m serviceModelV0) value(ctx context.Context, known entities) (site.Service, invalid.Errors) {
	s := site.Service{Name: m.Name.ValueString()}
	var errs, more invalid.Errors
	s.Selectors, errs = selectorsOf(m.Selectors)
	errs = append(errs, oneSource(given(m.Entity != nil), givenValue(m.Attributes), givenValue(m.Configuration))...)
	if !m.Configuration.IsNull() {
		s.Configuration, more = configurationFrom(ctx, "configuration", m.Configuration, nullsAreUnset)
		errs = append(errs, more...)
	}
	if m.Entity == nil {
		return s, append(errs, ofEntities(map[string]presence{
			lifecycleAttribute: givenValue(m.Lifecycle), "gates": givenValue(m.Gates),
			"rollback_on_failure": givenValue(m.Rollback), "target_state": givenValue(m.TargetState),
		})...)
	}
	s.Entity, more = known.parse(*m.Entity)
	errs = append(errs, more...)
	if s.Entity == nil {
		return s, errs
	}
	attributes, err := m.Attributes.ToTerraformValue(ctx)
	if err != nil {
		return s, append(errs, invalid.Error{Attribute: "attributes", Code: invalid.BadStructure, Message: err.Error()})
	}
	a := attributesOf(attributes)
	s.Attributes = s.Entity.FillNulls(a.given)
	s.RollbackOnFailure, s.TargetState = m.Rollback.ValueBool(), m.TargetState.ValueString()
	s.Gates = gatesOf(m.Gates)
	s.Lifecycle, more = lifecycleOf(m.Lifecycle.ValueString())
	return s, append(append(errs, a.errs()...), more...)
}

// ValidateConfig checks what depends on several attributes. Terraform calls it for the plan too, when the entity is
// known.
func (*service) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	validateService(ctx, req, resp)
}

func serviceSchema() schema.Schema {
	return schema.Schema{
		Version: 0,
		MarkdownDescription: "A service, placed on nodes by selectors: an instance of an entity of a catalog, or configuration resources as they are. It connects to nothing; `slipway_deployment` does the work. " +
			"Import takes the service's name; everything else then comes from the configuration.",
		Attributes: map[string]schema.Attribute{
			"name":      nameAttribute("service"),
			"selectors": selectorsAttribute("have the service"),
			"entity": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "The entity that the service is of: an element of `entities` of `data.slipway_catalog`. Give this or `configuration`. " +
					"The guide [Catalogs](../guides/catalog) says how entities are made.",
				Attributes: map[string]schema.Attribute{
					"name": schema.StringAttribute{Optional: true, MarkdownDescription: "Name of the entity; that of the definition."},
					"digest": schema.StringAttribute{Optional: true,
						MarkdownDescription: "SHA-256 of the definition: a plan shows by it that the entity changed."},
					"definition": schema.StringAttribute{Required: true, Sensitive: true,
						MarkdownDescription: "The entity, as `data.slipway_catalog` gives it. Plans do not show it: it is long, and holds the defaults of " +
							"sensitive attributes."},
				},
			},
			"attributes": schema.DynamicAttribute{
				Optional: true,
				MarkdownDescription: "The attributes of the service, as its entity has them: `{ servers = [{ address = \"10.0.0.1\" }] }`. A null counts as left out. They are checked when the entity is known, at the latest when the " +
					"service is planned. What goes into a sensitive attribute must be sensitive to Terraform as well, a variable with `sensitive = true` for example: only Terraform decides what a plan shows of it.",
			},
			"configuration": schema.DynamicAttribute{
				Optional: true,
				MarkdownDescription: "The configuration resources: `type = { title = { parameter = value } }`, in Puppet's words. A null counts as left out. " +
					"Types and their parameters are checked when the configuration is validated. Give this or `entity`.",
				Validators: []validator.Dynamic{configurationValidator{nulls: nullsAreUnset}},
			},
			"service_lifecycle": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "The lifecycle that the service is driven through: the name of one that slipway brings, or a document that has one (`file(\"lifecycle.yaml\")`). Left out, it is the one that the entity names, " +
					"`slipway_default` in most cases. The guide [Services](../guides/services) says how lifecycles are made. For a service of an entity.",
				Validators: []validator.String{lifecycleValidator{}},
			},
			"gates": schema.MapAttribute{
				Optional: true, ElementType: types.BoolType,
				MarkdownDescription: "Opens (`true`) and closes (`false`) gates of the lifecycle: its transfers with a `config` name happen by themselves only while the gate of that name is open. A gate that is not named is open. " +
					"For a service of an entity.",
			},
			"rollback_on_failure": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "When an update of the service fails, deploy in the same apply what was deployed before, on all of its nodes; the apply fails all the same, and the next plan shows the change again. Default `false`: what " +
					"was reached stays, and the next apply goes on from there. For a service of an entity.",
			},
			"target_state": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "A state of the lifecycle to ask for, such as `maintenance`: the service is brought there when the lifecycle has a transfer on request (`api_set_state`) from where it is. For a service of an entity.",
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
		},
	}
}
