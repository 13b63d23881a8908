package datasources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/datasourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

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
			"order": schema.ListAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Names of the groups as a run handles them, one at a time."},
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
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("documents"), &m.Documents)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("groups"), &m.Groups)...)
	if resp.Diagnostics.HasError() {
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
		m.Groups = groupsValue(groups)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// strategiesOf reads the groups of documents.
func strategiesOf(documents []string, diags *diag.Diagnostics) []site.Group {
	var groups []site.Group
	for i, text := range documents {
		found, err := document.ParseStrategy(fmt.Sprintf("documents[%d]", i), []byte(text))
		var errs invalid.Errors
		switch {
		case errors.As(err, &errs):
			for _, p := range errs {
				diags.AddAttributeError(path.Root("documents").AtListIndex(i), "Invalid deployment strategy", p.Error())
			}
		case err != nil:
			diags.AddAttributeError(path.Root("documents").AtListIndex(i), "Invalid deployment strategy", err.Error())
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
		"batches": textsType, "health_check": checkType, "soak": types.StringType}}
	checkType = types.ObjectType{AttrTypes: map[string]attr.Type{"command": types.StringType,
		"timeout": types.StringType, "retries": types.Int64Type, "interval": types.StringType}}
	groupType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"name": types.StringType, "critical": types.BoolType, "depends_on_groups": textsType,
		"selectors":        types.ListType{ElemType: selectorType},
		"success_criteria": criteriaType, "rolling": rollingType, "prepare_timeout": types.StringType,
		"deploy_timeout": types.StringType, "on_shortfall": types.StringType,
	}}
)

// groupsValue returns groups with the attributes of slipway_group. What is not given is null.
func groupsValue(groups []site.Group) types.Dynamic {
	values := make([]attr.Value, len(groups))
	for i, g := range groups {
		selectors := make([]attr.Value, len(g.Selectors))
		for j, s := range g.Selectors {
			selectors[j] = types.ObjectValueMust(selectorType.AttrTypes, map[string]attr.Value{
				"node_names": textsValue(s.NodeNames), "node_tags": textsValue(s.NodeTags), "node_labels": textsValue(s.NodeLabels),
				"rack_names": textsValue(s.RackNames),
			})
		}
		values[i] = types.ObjectValueMust(groupType.AttrTypes, map[string]attr.Value{
			"name": types.StringValue(g.Name), "critical": types.BoolValue(g.Critical),
			"depends_on_groups": textsValue(g.DependsOn),
			"selectors":         types.ListValueMust(selectorType, selectors),
			"success_criteria":  criteriaValue(g.SuccessCriteria), "rolling": rollingValue(g.Rolling),
			"prepare_timeout": durationValue(g.PrepareTimeout), "deploy_timeout": durationValue(g.DeployTimeout),
			"on_shortfall": types.StringPointerValue(given(g.OnShortfall)),
		})
	}
	return types.DynamicValue(types.ListValueMust(groupType, values))
}

func textsValue(list []string) attr.Value {
	if list == nil {
		return types.ListNull(types.StringType)
	}
	values := make([]attr.Value, len(list))
	for i, s := range list {
		values[i] = types.StringValue(s)
	}
	return types.ListValueMust(types.StringType, values)
}

func criteriaValue(c *site.SuccessCriteria) attr.Value {
	if c == nil {
		return types.ObjectNull(criteriaType.AttrTypes)
	}
	number := func(n *int) attr.Value {
		if n == nil {
			return types.Int64Null()
		}
		return types.Int64Value(int64(*n))
	}
	return types.ObjectValueMust(criteriaType.AttrTypes, map[string]attr.Value{
		"percent_successful_nodes": number(c.PercentSuccessfulNodes),
		"minimum_successful_nodes": number(c.MinimumSuccessfulNodes), "maximum_failed_nodes": number(c.MaximumFailedNodes),
	})
}

func rollingValue(r *site.Rolling) attr.Value {
	if r == nil {
		return types.ObjectNull(rollingType.AttrTypes)
	}
	return types.ObjectValueMust(rollingType.AttrTypes, map[string]attr.Value{
		"max_parallel": types.Int64Value(int64(r.MaxParallel)), "lock": types.StringPointerValue(given(r.Lock)),
		"unlock": types.StringPointerValue(given(r.Unlock)), "lock_new_nodes": types.BoolValue(!r.SpareNew),
		"node_order": textsValue(r.NodeOrder), "batches": textsValue(r.Batches), "health_check": checkValue(r.HealthCheck),
		"soak": durationValue(r.Soak),
	})
}

func checkValue(h *site.HealthCheck) attr.Value {
	if h == nil {
		return types.ObjectNull(checkType.AttrTypes)
	}
	return types.ObjectValueMust(checkType.AttrTypes, map[string]attr.Value{
		"command": types.StringValue(h.Command), "timeout": durationValue(h.Timeout),
		"retries": types.Int64Value(int64(h.Retries)), "interval": durationValue(h.Interval),
	})
}

func durationValue(d time.Duration) attr.Value {
	if d == 0 {
		return types.StringNull()
	}
	return types.StringValue(d.String())
}
