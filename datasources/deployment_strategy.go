package datasources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/datasourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// NewDeploymentStrategy returns slipway_deployment_strategy: groups of an Airship document, or of a configuration, with
// their order.
func NewDeploymentStrategy() datasource.DataSource { return strategySource{"deployment_strategy"} }

type strategySource struct{ named }

var _ datasource.DataSourceWithConfigValidators = (*strategySource)(nil)

type strategyModelV0 struct {
	Documents types.List    `tfsdk:"documents"`
	Groups    types.Dynamic `tfsdk:"groups"`
	Order     []string      `tfsdk:"order"`
	Levels    [][]string    `tfsdk:"levels"`
}

func (strategySource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The deployment groups of an Airship `DeploymentStrategy` document, for `slipway_deployment.groups`, and the order in which they are rolled out. It connects to nothing.",
		Attributes: map[string]schema.Attribute{
			"documents": schema.ListAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Texts of YAML documents, each a `DeploymentStrategy`: `[file(\"strategy.yaml\")]`. Their groups are joined in the order given. Give this or `groups`.",
				Validators:          []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues()}},
			"groups": schema.DynamicAttribute{Optional: true, Computed: true,
				MarkdownDescription: "The groups, with the attributes of `slipway_group`: as given, or read from `documents`. Their order decides where dependencies leave a choice; a map counts in the order of its keys."},
			"order": list("Names of the groups as a run handles them, one at a time."),
			"levels": schema.ListAttribute{Computed: true, ElementType: types.ListType{ElemType: types.StringType},
				MarkdownDescription: "The same names by how deep they lie in the dependencies, first those that depend on no group."},
		},
	}
}

// ConfigValidators sees that groups come from one place.
func (strategySource) ConfigValidators(context.Context) []datasource.ConfigValidator {
	return []datasource.ConfigValidator{datasourcevalidator.ExactlyOneOf(path.MatchRoot("documents"),
		path.MatchRoot("groups"))}
}

func (strategySource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m strategyModelV0
	if !asked(ctx, req, resp, map[string]any{"documents": &m.Documents, "groups": &m.Groups}) {
		return
	}
	var groups []site.Group
	at := path.Root("groups")
	if m.Documents.IsNull() {
		groups = take(ctx, "groups", m.Groups, (*document.Values).Groups, &resp.Diagnostics)
	} else {
		at = path.Root("documents")
		var documents []string
		resp.Diagnostics.Append(m.Documents.ElementsAs(ctx, &documents, false)...)
		groups = strategiesOf(documents, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	errs := site.ValidateDependencies(groups)
	for _, g := range groups {
		errs = append(errs, g.Validate()...)
	}
	for _, p := range errs.Errors() {
		resp.Diagnostics.AddAttributeError(at, "Invalid deployment strategy", p.Error()+".")
	}
	if resp.Diagnostics.HasError() {
		return
	}
	var err error
	if m.Order, err = strategy.Order(groups); err != nil {
		resp.Diagnostics.AddAttributeError(at, "Invalid deployment strategy", err.Error())
		return
	}
	if m.Levels, err = strategy.Levels(groups); err != nil {
		resp.Diagnostics.AddAttributeError(at, "Invalid deployment strategy", err.Error())
		return
	}
	m.Order = texts(m.Order)
	if !m.Documents.IsNull() {
		if m.Groups, err = groupsValue(ctx, groups); err != nil {
			resp.Diagnostics.AddError("The groups cannot be shown", err.Error())
			return
		}
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// strategiesOf reads the groups of documents.
func strategiesOf(documents []string, diags *diag.Diagnostics) []site.Group {
	var groups []site.Group
	for i, text := range documents {
		found, warnings, err := document.ParseStrategy(fmt.Sprintf("documents[%d]", i), []byte(text))
		var errs invalid.Errors
		switch {
		case errors.As(err, &errs):
			for _, p := range errs {
				diags.AddAttributeError(path.Root("documents").AtListIndex(i), "Invalid deployment strategy", p.Error())
			}
		case err != nil:
			diags.AddAttributeError(path.Root("documents").AtListIndex(i), "Invalid deployment strategy", err.Error())
		}
		for _, p := range warnings {
			diags.AddAttributeWarning(path.Root("documents").AtListIndex(i), "Unclear deployment strategy", p.Error())
		}
		groups = append(groups, found...)
	}
	return groups
}

// groupType has the attributes of slipway_group.
var (
	textsType    = types.ListType{ElemType: types.StringType}
	selectorType = types.ObjectType{AttrTypes: map[string]attr.Type{"node_names": textsType, "node_tags": textsType,
		"node_labels": textsType, "rack_names": textsType}}
	criteriaType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"percent_successful_nodes": types.Int64Type, "minimum_successful_nodes": types.Int64Type,
		"maximum_failed_nodes": types.Int64Type}}
	rollingType = types.ObjectType{AttrTypes: map[string]attr.Type{"max_parallel": types.Int64Type,
		"lock": types.StringType, "unlock": types.StringType, "lock_new_nodes": types.BoolType, "node_order": textsType,
		"batches": textsType, "approve": textsType, "health_check": checkType, "soak": types.StringType,
		"on_failure": types.StringType}}
	checkType = types.ObjectType{AttrTypes: map[string]attr.Type{"command": types.StringType,
		"timeout": types.StringType, "retries": types.Int64Type, "interval": types.StringType}}
	maintenanceType = types.ObjectType{AttrTypes: map[string]attr.Type{"days": textsType, "start": types.StringType,
		"end": types.StringType, "timezone": types.StringType}}
	groupType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"name": types.StringType, "critical": types.BoolType, "depends_on_groups": textsType,
		"selectors":        types.ListType{ElemType: selectorType},
		"success_criteria": criteriaType, "rolling": rollingType, "prepare_timeout": types.StringType,
		"deploy_timeout": types.StringType, "on_shortfall": types.StringType, "maintenance": maintenanceType,
	}}
)

// groupsValue returns groups with the attributes of slipway_group. What is not given is null.
func groupsValue(ctx context.Context, groups []site.Group) (types.Dynamic, error) {
	values := make([]any, len(groups))
	for i, g := range groups {
		group, _ := document.PlainOf(g).(map[string]any)
		if rolling, ok := group["rolling"].(map[string]any); ok {
			rolling["lock_new_nodes"] = !g.Rolling.SpareNew
		}
		if g.Selectors == nil {
			group["selectors"] = []any{}
		}
		values[i] = group
	}
	typ := types.ListType{ElemType: groupType}
	text, err := json.Marshal(values)
	if err != nil {
		return types.DynamicNull(), err
	}
	value, err := tfprotov6.RawState{JSON: text}.Unmarshal(typ.TerraformType(ctx))
	if err != nil {
		return types.DynamicNull(), err
	}
	list, err := typ.ValueFromTerraform(ctx, value)
	return types.DynamicValue(list), err
}
