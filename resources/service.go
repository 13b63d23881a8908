package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// NewService returns slipway_service: configuration placed on nodes, as desired state.
func NewService() resource.Resource {
	return &held[serviceModelV0]{object: "service", schema: serviceSchema}
}

// serviceModelV0 is a service at schema version 0.
type serviceModelV0 struct {
	Name          types.String      `tfsdk:"name"`
	Selectors     []selectorModelV0 `tfsdk:"selectors"`
	Configuration types.Dynamic     `tfsdk:"configuration"`
}

// Value returns the service that a wholly known model describes.
func (m serviceModelV0) Value(ctx context.Context) (site.Service, site.Problems) {
	s := site.Service{Name: m.Name.ValueString()}
	var problems, more site.Problems
	s.Selectors, problems = selectorsOf(m.Selectors)
	s.Configuration, more = configurationFrom(ctx, "configuration", m.Configuration, nullsAreUnset)
	return s, append(problems, more...)
}

func serviceSchema() schema.Schema {
	return schema.Schema{
		Version: 0,
		MarkdownDescription: "A service: configuration resources that are placed on nodes by selectors. It connects to nothing; `slipway_deployment` does the work. " +
			"Import takes the service's name; everything else then comes from the configuration.",
		Attributes: map[string]schema.Attribute{
			"name":      nameAttribute("service"),
			"selectors": selectorsAttribute("have the service"),
			"configuration": schema.DynamicAttribute{
				Required: true,
				MarkdownDescription: "The configuration resources: `type = { title = { parameter = value } }`, in Puppet's words. A null counts as left out. " +
					"Types and their parameters are checked when the configuration is validated.",
				Validators: []validator.Dynamic{configurationValidator{nulls: nullsAreUnset}},
			},
		},
	}
}
