package resources

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// ModifyPlan shows what the apply will do. It runs in plan and, in another process, again in apply; when the second answer equals
// the prior state, Terraform skips the update without a word (terraform.md 5.3). So it is a function of configuration, prior state and private
// state, and nothing else: no node, no clock, no memory.
func (d *Deployment) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return // destroy: nothing to show that Terraform does not show itself
	}
	var plan deploymentModelV0
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	desired, known, diags := plan.Value(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !known || plan.Triggers.IsUnknown() {
		plan.setUnknown()
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
		return
	}

	var applied planner.Applied
	var drift planner.Drift
	var prior *deploymentModelV0
	if !req.State.Raw.IsNull() {
		prior = &deploymentModelV0{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
		applied, _, diags = readApplied(ctx, req.Private)
		resp.Diagnostics.Append(diags...)
		drift, diags = prior.driftOf(ctx)
		resp.Diagnostics.Append(diags...)
		if resp.Diagnostics.HasError() {
			return
		}
		applied = again(applied, plan, *prior)
	}

	p, problems := planner.Make(desired, applied, drift)
	resp.Diagnostics.Append(Diagnostics(problems)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if prior != nil && p.Empty() && len(drift) == 0 && settled(prior) && plan.sameDesire(*prior) {
		plan.keepComputed(*prior)
	} else {
		plan.setPlan(p)
		plan.setOutcomeUnknown()
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if prior != nil && len(p.Departed) > 0 && plan.OnDestroy.ValueString() == onDestroyRetain {
		resp.Diagnostics.AddAttributeWarning(path.Root("nodes"), "Nodes that left the site are torn down",
			"on_destroy = \"retain\" keeps nodes as they are when the whole deployment is destroyed. A node that is taken out of nodes is torn down all the same.")
	}
}

// settled reports whether the last run left nothing to tell again. A node that failed and answers now has something to tell even when
// nothing is left to do on it: it may have brought its work to an end after contact was lost.
func settled(prior *deploymentModelV0) bool {
	switch prior.Status.ValueString() {
	case statusDeployed:
		return true
	case statusDegraded:
		silent := prior.Unreachable.Elements()
		for node, stage := range prior.NodeStatus.Elements() {
			if stage.Equal(types.StringValue(string(strategy.Failed))) && !slices.ContainsFunc(silent, types.StringValue(node).Equal) {
				return false
			}
		}
		return true
	}
	return false
}

// again returns what is applied as the planner is to see it: when a trigger changed, nothing counts as finished, so every
// configuration resource is checked and applied again.
func again(applied planner.Applied, plan, prior deploymentModelV0) planner.Applied {
	if plan.Triggers.Equal(prior.Triggers) {
		return applied
	}
	return applied.Unfinished()
}
