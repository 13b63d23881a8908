package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// protectModel is `protect` of a deployment.
type protectModel struct {
	MaxTornDownNodes    types.String `tfsdk:"max_torn_down_nodes"`
	MaxRemovedResources types.Int64  `tfsdk:"max_removed_resources"`
	Destroy             types.Bool   `tfsdk:"destroy"`
}

func protectAttribute() schema.Attribute {
	return object("What one plan may take away. A plan that would take away more is refused, before anything is touched; it is counted from the prior state and the configuration. "+
		"Without it, a plan is refused that tears down more than one node and more than 10 % of the nodes on which anything is applied. Destroying the whole deployment is concerned only by `destroy`. Replacing it needs `max_torn_down_nodes`.", map[string]schema.Attribute{
		"max_torn_down_nodes": text("How many nodes may be torn down: a number, or a share of the nodes on which anything is applied, such as `\"10%\"`. A node is torn down when it leaves `nodes`, "+
			"and when it stays there but leaves every group. One that gets an address where nobody was counts in the apply, when another machine answers there. Left out, it is 1 or 10 %, whichever is more.", stringvalidator.RegexMatches(planner.NumberOrShare, `must be a number of nodes, such as 1, or a share of them from 0% to 100%, such as "10%"`)),
		"max_removed_resources": number("How many configuration resources may be removed on the nodes that are not torn down; a resource counts once for each node. Left out, any number.", int64validator.AtLeast(0)),
		"destroy": flag("`true` refuses to destroy the deployment, also when it is to be replaced. What counts is the state: to destroy it all the same, set it to `false` and apply first. " +
			"Replacing a tainted deployment is allowed, because that touches no node."),
	})
}

// limitsOf returns what a plan may take away by its protect, and whether the deployment may be destroyed by that of the
// prior state, which may be nil. What is not known yet counts as left out.
func limitsOf(ctx context.Context, plan deploymentModelV1,
	prior *deploymentModelV1) (engine.Protect, diag.Diagnostics) {
	model := func(o types.Object) (m protectModel, diags diag.Diagnostics) {
		if o.IsNull() || o.IsUnknown() {
			return m, nil
		}
		diags = o.As(ctx, &m, basetypes.ObjectAsOptions{})
		return m, diags
	}
	m, diags := model(plan.Protect)
	out := engine.Protect{Protection: planner.Protection{TornDown: m.MaxTornDownNodes.ValueString(),
		Removed: m.MaxRemovedResources.ValueInt64Pointer(), Given: !plan.Protect.IsNull()},
		Known: !plan.Protect.IsUnknown() && !m.MaxTornDownNodes.IsUnknown() && !m.MaxRemovedResources.IsUnknown()}
	if prior == nil {
		return out, diags
	}
	was, more := model(prior.Protect)
	diags.Append(more...)
	out.Freeze, out.Active = prior.Freeze.ValueString(), prior.ActiveRun.ValueString()
	if out.Retain = prior.OnDestroy.ValueString() == onDestroyRetain; was.Destroy.ValueBool() {
		out.Destroy = prior.Site.ValueString()
	}
	return out, diags
}

// protect warns of what a plan takes away, and refuses it where that is more than it may. A site that gets another name
// is destroyed and made anew.
func protect(ctx context.Context, plan, prior deploymentModelV1, past engine.State, losses planner.Losses,
	atMost bool) diag.Diagnostics {
	limits, diags := limitsOf(ctx, plan, &prior)
	if diags.HasError() {
		return diags
	}
	refused := values.Diagnostics(limits.Check(losses, atMost))
	if !plan.Site.Equal(prior.Site) {
		refused = values.Diagnostics(limits.CheckOther(past, values.Texts(prior.Unreachable)))
	}
	if refused.HasError() {
		refused.AddWarning("This plan may be that of a destroy", "Terraform plans the configuration before it destroys, too. "+
			`"terraform destroy -refresh=false" does not, and is refused only where the state has protect.destroy.`)
	}
	return append(diags, refused...)
}

// planDestroy shows what the destruction of a deployment undoes, or refuses it.
func planDestroy(ctx context.Context, req resource.ModifyPlanRequest) diag.Diagnostics {
	var state deploymentModelV1
	diags := req.State.Get(ctx, &state)
	past, saved, more := recall(ctx, req.Private)
	if diags.Append(more...); diags.HasError() || !saved {
		return diags
	}
	limits, more := limitsOf(ctx, state, &state)
	if diags.Append(more...); !diags.HasError() {
		diags.Append(values.Diagnostics(limits.CheckDestroy(past, values.Texts(state.Unreachable)))...)
	}
	return diags
}
