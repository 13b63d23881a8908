package resources

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// NewGroup returns slipway_group: nodes that are rolled out together, as desired state.
func NewGroup() resource.Resource { return &held[groupModelV0]{object: "group", schema: groupSchema} }

// groupModelV0 is a group at schema version 0.
type groupModelV0 struct {
	Name            types.String            `tfsdk:"name"`
	Critical        types.Bool              `tfsdk:"critical"`
	DependsOnGroups types.List              `tfsdk:"depends_on_groups"`
	Selectors       []selectorModelV0       `tfsdk:"selectors"`
	SuccessCriteria *successCriteriaModelV0 `tfsdk:"success_criteria"`
	Rolling         *rollingModelV0         `tfsdk:"rolling"`
	PrepareTimeout  types.String            `tfsdk:"prepare_timeout"`
	DeployTimeout   types.String            `tfsdk:"deploy_timeout"`
}

// successCriteriaModelV0 is `success_criteria`.
type successCriteriaModelV0 struct {
	PercentSuccessfulNodes types.Int64 `tfsdk:"percent_successful_nodes"`
	MinimumSuccessfulNodes types.Int64 `tfsdk:"minimum_successful_nodes"`
	MaximumFailedNodes     types.Int64 `tfsdk:"maximum_failed_nodes"`
}

// rollingModelV0 is `rolling`.
type rollingModelV0 struct {
	MaxParallel types.Int64  `tfsdk:"max_parallel"`
	Lock        types.String `tfsdk:"lock"`
	Unlock      types.String `tfsdk:"unlock"`
	LockNew     types.Bool   `tfsdk:"lock_new_nodes"`
	NodeOrder   types.List   `tfsdk:"node_order"`
}

// Value returns the group that a wholly known model describes.
func (m groupModelV0) Value(context.Context) (site.Group, invalid.Errors) {
	g := site.Group{Name: m.Name.ValueString(), Critical: m.Critical.ValueBool()}
	g.DependsOn, _ = stringsOf(m.DependsOnGroups)
	var errs invalid.Errors
	g.Selectors, errs = selectorsOf(m.Selectors)
	if c := m.SuccessCriteria; c != nil {
		g.SuccessCriteria = &site.SuccessCriteria{
			PercentSuccessfulNodes: wholeNumber(c.PercentSuccessfulNodes),
			MinimumSuccessfulNodes: wholeNumber(c.MinimumSuccessfulNodes),
			MaximumFailedNodes:     wholeNumber(c.MaximumFailedNodes),
		}
	}
	if r := m.Rolling; r != nil {
		g.Rolling = &site.Rolling{MaxParallel: 1, Lock: r.Lock.ValueString(), Unlock: r.Unlock.ValueString(),
			SpareNew: !r.LockNew.IsNull() && !r.LockNew.ValueBool()}
		if n := wholeNumber(r.MaxParallel); n != nil {
			g.Rolling.MaxParallel = *n
		}
		g.Rolling.NodeOrder, _ = stringsOf(r.NodeOrder)
	}
	duration := func(attribute string, v types.String, target *time.Duration) {
		if v.IsNull() {
			return
		}
		d, wrong := parseDuration(v.ValueString())
		if wrong != "" {
			errs = append(errs, invalid.Error{Attribute: attribute, Code: invalid.BadValue, Message: wrong})
		}
		*target = d
	}
	duration("prepare_timeout", m.PrepareTimeout, &g.PrepareTimeout)
	duration("deploy_timeout", m.DeployTimeout, &g.DeployTimeout)
	return g, errs
}

// wholeNumber returns the number, nil for null.
func wholeNumber(v types.Int64) *int {
	if v.IsNull() || v.IsUnknown() {
		return nil
	}
	n := int(v.ValueInt64())
	return &n
}

func groupSchema() schema.Schema {
	return schema.Schema{
		Version: 0,
		MarkdownDescription: "A deployment group: a named set of nodes that is rolled out together, after the groups that it depends on. It connects to nothing; `slipway_deployment` does the work. " +
			"Import takes the group's name; everything else then comes from the configuration.",
		Attributes: map[string]schema.Attribute{
			"name": nameAttribute("group"),
			"critical": schema.BoolAttribute{
				Required: true,
				MarkdownDescription: "Whether the failure of this group makes the apply fail. It fails after every group that does not depend on this one had its turn. " +
					"A group that is not critical leaves a warning and work for the next plan.",
			},
			"depends_on_groups": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Names of the groups that must be deployed before this one. When one of them fails, this group fails with it and its nodes are not touched.",
				Validators: []validator.List{listvalidator.NoNullValues(), listvalidator.UniqueValues(),
					listvalidator.ValueStringsAre(NameValidator())},
			},
			"selectors": selectorsAttribute("the group has"),
			"success_criteria": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "When the group counts as successful; judged after prepare and after deploy, over all nodes that its selectors select. Any criterion that is not met fails the group. Left out, the group always succeeds.",
				Validators:          []validator.Object{oneCriterion{consequence: "Without any criterion, leave success_criteria out."}},
				Attributes: map[string]schema.Attribute{
					"percent_successful_nodes": schema.Int64Attribute{Optional: true,
						MarkdownDescription: "Share of the nodes that must succeed, in percent, 0 to 100.",
						Validators:          []validator.Int64{int64validator.Between(0, 100)}},
					"minimum_successful_nodes": schema.Int64Attribute{Optional: true,
						MarkdownDescription: "Number of nodes that must succeed, 0 or more.",
						Validators:          []validator.Int64{int64validator.Between(0, mostNodes)}},
					"maximum_failed_nodes": schema.Int64Attribute{Optional: true,
						MarkdownDescription: "Number of nodes that may fail, 0 or more.",
						Validators:          []validator.Int64{int64validator.Between(0, mostNodes)}},
				},
			},
			"rolling": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Work on a few nodes of the group at a time, each between `lock` and `unlock`. Left out, the deployment's `parallelism` alone counts.",
				Attributes: map[string]schema.Attribute{
					"max_parallel": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(1),
						MarkdownDescription: "How many nodes of the group are worked on at once, 1 or more. Default 1.",
						Validators:          []validator.Int64{int64validator.Between(1, mostNodes)}},
					"lock": schema.StringAttribute{Optional: true,
						Validators: []validator.String{stringvalidator.LengthAtLeast(1),
							stringvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("unlock"))},
						MarkdownDescription: "Command that is run on a node before its first task in the task groups `upgrade_boot`, `storage_upgrade` and `node`, to drain it. When it fails, the node is not touched. It requires `unlock`: a node that is locked must be unlocked."},
					"unlock": schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
						MarkdownDescription: "Command that is run on a node after its last task in these task groups, whatever came out. It always runs on a node that was locked; the node remembers it, for runs that do not have it any more. It may stand without `lock`."},
					"lock_new_nodes": schema.BoolAttribute{Optional: true,
						MarkdownDescription: "Whether nodes on which nothing of the site is applied yet are locked, too. Default true. With `false` they are worked on without `lock` and `unlock`: there is nothing to drain, and the commands may not be there yet."},
					"node_order": schema.ListAttribute{Optional: true, ElementType: types.StringType,
						Validators: []validator.List{listvalidator.NoNullValues(), listvalidator.UniqueValues(),
							listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))},
						MarkdownDescription: "Names of the group's nodes in the order in which they are worked on in the task groups `upgrade_boot`, `storage_upgrade` and `node`, each once; `\"*\"` stands for all nodes that are not named, by name. Default: by name. Nodes that `lock_new_nodes = false` spares come last all the same."},
				},
			},
			"prepare_timeout": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Bound on preparing the group's nodes, as a duration such as `10m`. Default 30m. Nodes that finished in time count as successful.",
				Validators:          []validator.String{durationValidator()},
			},
			"deploy_timeout": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Bound on deploying the group's nodes, as a duration such as `2h`. Default 1h. Nodes that finished in time count as successful.",
				Validators:          []validator.String{durationValidator()},
			},
		},
	}
}

// mostNodes bounds numbers of nodes, so that they fit every int.
const mostNodes = 1 << 30
