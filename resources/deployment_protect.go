package resources

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// protectModel is `protect` of a deployment.
type protectModel struct {
	MaxTornDownNodes    types.String `tfsdk:"max_torn_down_nodes"`
	MaxRemovedResources types.Int64  `tfsdk:"max_removed_resources"`
	Destroy             types.Bool   `tfsdk:"destroy"`
}

var numberOrShare = regexp.MustCompile(`^([0-9]{1,6}|([0-9]{1,2}|100)%)$`)

func protectAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "What one plan may take away. A plan that would take away more is refused, before anything is touched; it is counted from the prior state and the configuration. " +
			"Without it, a plan is refused that tears down more than one node and more than 10 % of the nodes on which anything is applied. Destroying the whole deployment is concerned only by `destroy`. Replacing it needs `max_torn_down_nodes`.",
		Attributes: map[string]schema.Attribute{
			"max_torn_down_nodes": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "How many nodes may be torn down: a number, or a share of the nodes on which anything is applied, such as `\"10%\"`. A node is torn down when it leaves `nodes`, " +
					"and when it stays there but leaves every group. One that gets an address where nobody was counts in the apply, when another machine answers there. Left out, it is 1 or 10 %, whichever is more.",
				Validators: []validator.String{stringvalidator.RegexMatches(numberOrShare,
					`must be a number of nodes, such as 1, or a share of them from 0% to 100%, such as "10%"`)},
			},
			"max_removed_resources": schema.Int64Attribute{
				Optional:            true,
				MarkdownDescription: "How many configuration resources may be removed on the nodes that are not torn down; a resource counts once for each node. Left out, any number.",
				Validators:          []validator.Int64{int64validator.AtLeast(0)},
			},
			"destroy": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "`true` refuses to destroy the deployment, also when it is to be replaced. What counts is the state: to destroy it all the same, set it to `false` and apply first. " +
					"Replacing a tainted deployment is allowed, because that touches no node.",
			},
		},
	}
}

// protectOf returns the model; what is not known yet counts as left out, and is checked by the plan that the apply
// makes.
func protectOf(ctx context.Context, o types.Object) (m protectModel, diags diag.Diagnostics) {
	if o.IsNull() || o.IsUnknown() {
		return m, nil
	}
	diags = o.As(ctx, &m, basetypes.ObjectAsOptions{})
	return m, diags
}

// limitsOf returns the limits of `protect`; known is false where one of them is not known yet.
func limitsOf(ctx context.Context, o types.Object) (limits planner.Protection, known bool, diags diag.Diagnostics) {
	m, diags := protectOf(ctx, o)
	known = !o.IsUnknown() && !m.MaxTornDownNodes.IsUnknown() && !m.MaxRemovedResources.IsUnknown()
	limits = planner.Protection{TornDown: m.MaxTornDownNodes.ValueString(),
		Removed: m.MaxRemovedResources.ValueInt64Pointer(), Given: !o.IsNull()}
	return limits, known, diags
}

// protect warns of what a plan takes away, and refuses it where that is more than it may. A site that gets another name
// is destroyed and made anew.
func protect(ctx context.Context, plan, prior deploymentModelV1, past engine.State,
	w *engine.Planned) diag.Diagnostics {
	return protectFrom(ctx, plan, prior, past, w.Losses(), false)
}

// protectFrom does what protect does, for losses that may be less than they seem when atMost is set: they are shown
// then, and checked in the apply.
func protectFrom(ctx context.Context, plan, prior deploymentModelV1, past engine.State, losses planner.Losses,
	atMost bool) diag.Diagnostics {
	limits, known, diags := limitsOf(ctx, plan.Protect)
	if diags.HasError() {
		return diags
	}
	if !plan.Site.Equal(prior.Site) {
		diags.Append(protectWhole(ctx, prior, past)...)
		if known && prior.OnDestroy.ValueString() != onDestroyRetain {
			diags.Append(Diagnostics(limits.Check(planner.Destroyed(past.Applied)))...)
		}
		return diags
	}
	if !atMost && known {
		diags.Append(Diagnostics(limits.Check(losses))...)
	}
	if !losses.Empty() {
		detail := "By node:\n" + strings.Join(losses.ByNode(), "\n")
		if atMost {
			detail += "\n\nA node whose name is not known yet may be one of these. " + checkedInApply
		}
		diags.AddWarning("The plan "+losses.String(), detail)
	}
	return diags
}

// planDestroy shows what the destruction of a deployment undoes, or refuses it.
func (d *Deployment) planDestroy(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	var state deploymentModelV1
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	past, saved, diags := recall(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || !saved {
		return
	}
	resp.Diagnostics.Append(protectWhole(ctx, state, past)...)
}

// protectWhole warns of what destroying a whole deployment undoes, or refuses it.
func protectWhole(ctx context.Context, state deploymentModelV1, past engine.State) diag.Diagnostics {
	diags := protectedFromDestroy(ctx, state)
	losses := planner.Destroyed(past.Applied)
	losses.Silent = textsOf(state.Unreachable)
	if !losses.Empty() && state.OnDestroy.ValueString() != onDestroyRetain {
		diags.AddWarning("Destroying the deployment "+losses.Undone(), "By node:\n"+strings.Join(losses.ByNode(), "\n"))
	}
	return diags
}

// protectedFromDestroy refuses to destroy a deployment whose state says that it is protected.
func protectedFromDestroy(ctx context.Context, state deploymentModelV1) diag.Diagnostics {
	settings, diags := protectOf(ctx, state.Protect)
	if settings.Destroy.ValueBool() {
		diags.AddAttributeError(path.Root("protect").AtName("destroy"), "The deployment is protected from being destroyed",
			fmt.Sprintf("protect.destroy is true in the state of site %q, so nothing is undone on its nodes. When it is meant, set protect.destroy = false, apply, and destroy again.", state.Site.ValueString()))
	}
	return diags
}
