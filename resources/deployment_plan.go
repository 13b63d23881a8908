package resources

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
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
	var prior *deploymentModelV0
	var past memory
	if !req.State.Raw.IsNull() {
		prior = &deploymentModelV0{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
		var diags diag.Diagnostics
		past, _, diags = recall(ctx, req.Private)
		resp.Diagnostics.Append(diags...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	w, known, diags := d.work(ctx, plan, prior, past, types.StringNull())
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !known {
		plan.setUnknown()
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
		return
	}
	p := w.plan
	if prior != nil && p.Empty() && len(w.drift) == 0 && settled(prior) && plan.sameDesire(*prior) {
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

// work is what a plan shows and its apply does, and what both start from.
type work struct {
	desired site.Site       // with its nodes as they are reached
	before  []site.Node     // the nodes of the prior state as they are reached
	applied planner.Applied // by the nodes' present names
	drift   planner.Drift   // likewise
	plan    *planner.Plan
}

// work plans. known is false, and there is no work, when the site is not wholly known. key is private_key_wo.
func (d *Deployment) work(ctx context.Context, plan deploymentModelV0, prior *deploymentModelV0, past memory, key types.String) (w *work, known bool, diags diag.Diagnostics) {
	desired, known, diags := plan.Value(ctx)
	if diags.HasError() || !known || plan.Triggers.IsUnknown() {
		return nil, false, diags
	}
	past = past.of(desired)
	desired.Values = past.Values
	w = &work{desired: desired, applied: past.Applied}
	var problems, more site.Problems
	if !d.provider.Unknown {
		w.desired.Nodes = d.provider.reach(desired.Nodes, key)
		problems = site.ValidatePlaces(w.desired.Nodes)
	}
	if prior != nil {
		before, ds := desired.Nodes, diag.Diagnostics(nil)
		if !plan.Nodes.Equal(prior.Nodes) {
			before, _, ds = NodesFrom(ctx, path.Root("nodes"), prior.Nodes)
			diags.Append(ds...)
		}
		w.drift, ds = prior.driftOf(ctx)
		diags.Append(ds...)
		if diags.HasError() {
			return nil, false, diags
		}
		w.before = before
		if !d.provider.Unknown {
			w.before = d.provider.reach(before, key)
		}
		w.applied, w.drift, more = planner.Relocate(w.before, w.desired.Nodes, past.Applied, w.drift)
		problems = append(problems, more...)
		if !plan.Triggers.Equal(prior.Triggers) {
			w.applied = w.applied.Unfinished() // so that everything is checked and applied again
		}
	}
	w.plan, more = planner.Make(w.desired, w.applied, w.drift)
	problems = append(problems, more...)
	problems.Sort()
	diags.Append(Diagnostics(problems)...)
	return w, true, diags
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
