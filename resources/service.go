package resources

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// NewService returns slipway_service: an instance of an entity, or configuration as it is, placed on nodes, as desired
// state.
func NewService() resource.Resource {
	return &service{held{object: "service", schema: serviceSchema}}
}

// service is a held resource whose attributes fit an entity.
type service struct{ held }

var (
	_ resource.ResourceWithValidateConfig = (*service)(nil)
	_ resource.ResourceWithModifyPlan     = (*service)(nil)
)

// ValidateConfig checks what depends on several attributes, as far as it is known. Terraform calls it for the plan too,
// when the entity is known.
func (*service) ValidateConfig(_ context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	report := func(errs invalid.Errors) {
		for _, p := range errs {
			// Terraform shows the line of a top-level attribute; for a place inside of one it only finds the beginning
			// of the resource.
			name, _, _ := strings.Cut(p.Attribute, ".")
			at, detail := path.Root(name), p.Attribute+": "+p.Message
			if p.Object = "service"; name == "" {
				at, detail = path.Empty(), "The service "+p.Message
			}
			resp.Diagnostics.Append(values.Diagnostic(at, engine.Describe(p, detail)))
		}
	}
	config, _ := values.Plain(req.Config.Raw).(map[string]any)
	report(document.ServiceAttributes(func(name string) document.Presence { return document.PresenceOf(config[name]) }))
	if document.PresenceOf(config["entity"]) != document.Given {
		return
	}
	e, known, errs := document.NewValues(false).Entity(config["entity"], "entity")
	if report(errs); e == nil || !known {
		return
	}
	attributes, errs := document.Attributes(config["attributes"])
	if len(errs) == 0 {
		errs = attributes.Check(e)
	}
	for _, p := range errs {
		p.Attribute = strings.TrimSuffix("attributes."+p.Attribute, ".")
		report(invalid.Errors{p})
	}
}

// ModifyPlan asks for replacement where attributes change that are fixed once a service is there, at any depth (lsm.md
// 20), or where it becomes one of another entity. A service of a deployment is then a new one under the same name.
func (*service) ModifyPlan(_ context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return
	}
	before, was := plannedService(req.State.Raw)
	after, is := plannedService(req.Plan.Raw)
	switch {
	case before == nil || after == nil:
	case before.Name != after.Name:
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("entity"))
	case len(lifecycle.Replaced(after, was, is)) > 0:
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("attributes"))
	}
}

// plannedService reads entity and attributes of a service. The entity is nil when there is none, or it is not known, or
// wrong, which ValidateConfig reports.
func plannedService(object tftypes.Value) (*catalog.Entity, catalog.Partial) {
	values, _ := values.Plain(object).(map[string]any)
	if document.PresenceOf(values["entity"]) != document.Given {
		return nil, catalog.Partial{}
	}
	e, known, _ := document.NewValues(false).Entity(values["entity"], "entity")
	if !known {
		e = nil
	}
	return e, catalog.PartOf(values["attributes"])
}

// checkLifecycle checks the lifecycle of a service: the name of a shipped one, or a document with one.
func checkLifecycle(text string) error {
	_, err := document.ParseServiceLifecycle("service_lifecycle", text)
	if err != nil {
		err = fmt.Errorf("service_lifecycle: %w", err)
	}
	return err
}

func serviceSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A service, placed on nodes by selectors: an instance of an entity of a catalog, or configuration resources as they are. It connects to nothing; `slipway_deployment` does the work. " +
			"Import takes the service's name; everything else then comes from the configuration.",
		Attributes: map[string]schema.Attribute{
			"name":      nameAttribute("service"),
			"selectors": selectorsAttribute("have the service"),
			"entity": object("The entity that the service is of: an element of `entities` of `data.slipway_catalog`. Give this or `configuration`. "+
				"The guide [Catalogs](../guides/catalog) says how entities are made.", map[string]schema.Attribute{
				"name":   text("Name of the entity; that of the definition."),
				"digest": text("SHA-256 of the definition: a plan shows by it that the entity changed."),
				"definition": schema.StringAttribute{Required: true, Sensitive: true,
					MarkdownDescription: "The entity, as `data.slipway_catalog` gives it. Plans do not show it: it is long, and holds the defaults of " +
						"sensitive attributes."},
			}),
			"attributes": schema.DynamicAttribute{
				Optional: true,
				MarkdownDescription: "The attributes of the service, as its entity has them: `{ servers = [{ address = \"10.0.0.1\" }] }`. A null counts as left out. They are checked when the entity is known, at the latest when the " +
					"service is planned. What goes into a sensitive attribute must be sensitive to Terraform as well, a variable with `sensitive = true` for example: only Terraform decides what a plan shows of it.",
			},
			"configuration": schema.DynamicAttribute{
				Optional: true,
				MarkdownDescription: "The configuration resources: `type = { title = { parameter = value } }`, in Puppet's words. A null counts as left out. " +
					"Types and their parameters are checked when the configuration is validated. Give this or `entity`.",
				Validators: []validator.Dynamic{configurationRule(configurationForm{})},
			},
			"service_lifecycle": text("The lifecycle that the service is driven through: the name of one that slipway brings, or a document that has one (`file(\"lifecycle.yaml\")`). Left out, it is the one that the entity names, "+
				"`slipway_default` in most cases. The guide [Services](../guides/services) says how lifecycles are made. For a service of an entity.", textRule("the name of a lifecycle that slipway brings, or a document with one", checkLifecycle)),
			"gates": mapping(types.BoolType, "Opens (`true`) and closes (`false`) gates of the lifecycle: its transfers with a `config` name happen by themselves only while the gate of that name is open. A gate that is not named is open. "+
				"For a service of an entity.", values.NoNulls{}),
			"rollback_on_failure": flag("When an update of the service fails, deploy in the same apply what was deployed before, on all of its nodes; the apply fails all the same, and the next plan shows the change again. Default `false`: what " +
				"was reached stays, and the next apply goes on from there. For a service of an entity."),
			"target_state": text("A state of the lifecycle to ask for, such as `maintenance`: the service is brought there when the lifecycle has a transfer on request (`api_set_state`) from where it is. For a service of an entity.", stringvalidator.LengthAtLeast(1)),
		},
	}
}
