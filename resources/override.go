package resources

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// NewOverride returns slipway_override: a change of configuration resources for a scope, as desired state.
func NewOverride() resource.Resource {
	return &held{object: "override", schema: overrideSchema}
}

func overrideSchema() schema.Schema {
	scope := func(what string, each validator.String, others ...string) schema.SetAttribute {
		expressions := make([]path.Expression, len(others))
		for i, o := range others {
			expressions[i] = path.MatchRoot(o)
		}
		return set(what+" that the override is for. At most one of `groups`, `roles` and `nodes` is given; with none of them the override is for the whole site.",
			each, setvalidator.SizeAtLeast(1), setvalidator.ConflictsWith(expressions...))
	}
	names := func(description string) schema.SetAttribute {
		return set(description, stringvalidator.LengthAtLeast(1))
	}
	return schema.Schema{
		MarkdownDescription: "An override: changes configuration resources that services bring, or adds some, for the whole site or for some groups, roles or nodes. Narrower scopes win: site, group, role, node. " +
			"It connects to nothing; `slipway_deployment` does the work. Import takes the override's name; everything else then comes from the configuration.",
		Attributes: map[string]schema.Attribute{
			"name":   nameAttribute("override"),
			"groups": scope("Names of the groups", values.NameValidator()),
			"roles": scope("Roles, or `/regular expression/` that is matched at the beginning of a role,",
				rolePatternValidator(), "groups"),
			"nodes": scope("Names of the nodes", values.NameValidator(), "groups", "roles"),
			"merge": choice("How this override goes over those of wider scopes: `parameter` (default) merges the parameters of a title, `title` replaces the title whole.", "parameter", "title"),
			"configuration": schema.DynamicAttribute{
				Required:            true,
				MarkdownDescription: "What to change or add: `type = { title = { parameter = value } }`. A null is an error, because an override cannot take a parameter away.",
				Validators:          []validator.Dynamic{configurationRule(configurationForm{override: true})},
			},
			"options": object("Which resources the override may change and create.", map[string]schema.Attribute{
				"create":                  flag("Whether resources that no service brings are created. Default true."),
				"types_filter":            names("Types that are considered; left out or empty, all are."),
				"titles_filter":           names("Titles that are considered; left out or empty, all are."),
				"types_create_exception":  names("Types for which the opposite of `create` counts."),
				"titles_create_exception": names("Titles for which the opposite of `create` counts."),
				"defaults": schema.DynamicAttribute{Optional: true,
					MarkdownDescription: "Parameters for every resource of a type that the override changes or creates, unless `configuration` gives them: `type = { parameter = value }`.",
					Validators:          []validator.Dynamic{configurationRule(configurationForm{override: true, defaults: true})}},
			}),
		},
	}
}
