package resources

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// ModifyPlan shows what the apply will do. It runs in plan and, in another process, again in apply; when the second
// answer equals the prior state, Terraform skips the update without a word (terraform.md 5.3). So it is a function of
// configuration, prior state and private state, and nothing else: no node, no clock, no memory.
func (d *Deployment) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		d.planDestroy(ctx, req, resp)
		return
	}
	var plan deploymentModelV1
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	var prior *deploymentModelV1
	var past engine.State
	if !req.State.Raw.IsNull() {
		prior = &deploymentModelV1{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
		plan.keepSame(*prior)
		var diags diag.Diagnostics
		past, _, diags = recall(ctx, req.Private)
		resp.Diagnostics.Append(diags...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	if prior != nil {
		resp.Diagnostics.Append(d.noteReplacement(ctx, plan, *prior, past, resp.Private)...)
	} else if resp.Diagnostics.Append(refuseReplacement(ctx, req.Private)...); !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(d.warnOfTaint(ctx, plan)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	w, known, diags := d.work(ctx, plan, prior, past)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !known {
		resp.Diagnostics.Append(d.planPart(ctx, &plan, prior, past)...)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
		return
	}
	p := w.Plan
	if prior != nil && p.Empty() && !w.Services.HasChanges() && len(w.Drift) == 0 && settled(prior) &&
		plan.sameDesire(*prior) {
		plan.keepComputed(*prior)
	} else {
		plan.setPlan(w, prior)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !d.provider.Unknown {
		resp.Diagnostics.Append(d.provider.knownHostsWarnings(w.Site.Nodes)...)
	}
	if prior != nil {
		resp.Diagnostics.Append(protect(ctx, plan, *prior, past, w)...)
		resp.Diagnostics.Append(reachedOtherwise(*prior, w)...)
	}
	if prior != nil && len(p.Departed) > 0 && plan.OnDestroy.ValueString() == onDestroyRetain {
		resp.Diagnostics.AddAttributeWarning(path.Root("nodes"), "Nodes that left the site are torn down",
			"on_destroy = \"retain\" keeps nodes as they are when the whole deployment is destroyed. A node that is taken out of nodes is torn down all the same.")
	}
}

// work plans. known is false, and there is no plan, when the site is not wholly known.
func (d *Deployment) work(ctx context.Context, plan deploymentModelV1, prior *deploymentModelV1, past engine.State) (
	w *engine.Planned, known bool, diags diag.Diagnostics) {
	desired, known, diags := plan.Value(ctx)
	if diags.HasError() || !known || plan.Triggers.IsUnknown() {
		return nil, false, diags
	}
	before, ds := prior.before(ctx, plan, desired, past)
	if diags.Append(ds...); diags.HasError() {
		return nil, false, diags
	}
	w, errs := engine.Plan(before, desired, d.settings(plan, prior, types.StringNull()))
	diags.Append(Diagnostics(errs)...)
	if w != nil && prior != nil && !w.Plan.Empty() && !plan.sameDesire(*prior) {
		was, _, ds := prior.Value(ctx)
		if ds.HasError() {
			was = site.Site{}
		}
		w.Since(was)
	}
	return w, true, diags
}

// settings are what a plan depends on beside the site. key is private_key_wo.
func (d *Deployment) settings(plan deploymentModelV1, prior *deploymentModelV1, key types.String) engine.Settings {
	return engine.Settings{
		CheckAll:   prior != nil && !plan.Triggers.Equal(prior.Triggers),
		Connection: d.provider.connection(key), Unreached: d.provider.Unknown,
		Cache: d.provider.Runs.cache(plan.Site.ValueString()),
	}
}

// before returns what a plan starts from: nil when there is no prior state.
func (m *deploymentModelV1) before(ctx context.Context, plan deploymentModelV1, desired site.Site, past engine.State) (
	out *engine.Prior, diags diag.Diagnostics) {
	if m == nil {
		return nil, nil
	}
	out = &engine.Prior{State: past, Nodes: desired.Nodes, Imported: m.Nodes.IsNull(), Unreachable: textsOf(m.Unreachable)}
	if !plan.Nodes.Equal(m.Nodes) {
		out.Nodes, diags = m.nodes(ctx, past)
	}
	drift, ds := m.driftOf(ctx)
	out.Drift = drift
	diags.Append(ds...)
	return out, diags
}

// settled reports whether the last run left nothing to report again. A node that failed and answers now has something
// to report even when nothing is left to do on it: it may have brought its work to an end after contact was lost.
func settled(prior *deploymentModelV1) bool {
	switch prior.Status.ValueString() {
	case string(engine.Deployed):
		return true
	case string(engine.Degraded):
		silent := prior.Unreachable.Elements()
		for node, stage := range prior.NodeStatus.Elements() {
			if stage.Equal(types.StringValue(string(strategy.Failed))) && !slices.ContainsFunc(silent,
				types.StringValue(node).Equal) {
				return false
			}
		}
		return true
	}
	return false
}
