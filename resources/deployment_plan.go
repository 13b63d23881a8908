package resources

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// ModifyPlan shows what the apply will do. It runs in plan and, in another process, again in apply; when the second
// answer equals the prior state, Terraform skips the update without a word (terraform.md 5.3). So it is a function of
// configuration, prior state and private state, and nothing else: no node, no clock, no memory.
func (d *Deployment) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
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
	var past memory
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
	w, known, diags := d.work(ctx, plan, prior, past, types.StringNull(), time.Time{})
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !known {
		resp.Diagnostics.Append(d.planPart(ctx, &plan, prior, past)...)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
		return
	}
	p := w.plan
	if prior != nil && p.Empty() && !w.services.HasChanges() && len(w.drift) == 0 && settled(prior) && plan.sameDesire(*prior) {
		plan.keepComputed(*prior)
	} else {
		plan.setPlan(w, prior)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !d.provider.Unknown {
		resp.Diagnostics.Append(d.provider.knownHostsWarnings(w.desired.Nodes)...)
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

// work is what a plan shows and its apply does, and what both start from.
type work struct {
	desired  site.Site            // with its nodes as they are reached
	services *services.Transition // of its services
	deployed site.Site            // the same with the services that are deployed, and their attributes that count
	brought  planner.Owners       // what services brought until now, where the turn changes any
	memory   *siteMemory
	before   []site.Node                  // the nodes of the prior state as they are reached
	machines map[string]converge.Identity // of the nodes and of those that left, as they were last seen
	left     []planner.Left               // machines of the prior state that left while their names stay
	unsure   map[string]string            // those that may be machines of the site: name -> node
	applied  planner.Applied              // by the nodes' present names
	drift    planner.Drift                // likewise
	plan     *planner.Plan
	called   map[planresource.ID]string // what is applied on the controller, after the run
	did      []string                   // what the run did, a line each, after the run
}

// work plans. known is false, and there is no work, when the site is not wholly known. key is private_key_wo. at is
// when it is done, which shows in the history of services only.
func (d *Deployment) work(ctx context.Context, plan deploymentModelV1, prior *deploymentModelV1, past memory, key types.String, at time.Time) (w *work, known bool, diags diag.Diagnostics) {
	desired, known, diags := plan.Value(ctx)
	if diags.HasError() || !known || plan.Triggers.IsUnknown() {
		return nil, false, diags
	}
	past = past.of(desired)
	desired.Values = past.Values
	w = &work{desired: desired, applied: past.Applied, memory: d.provider.Runs.memory(desired.Name)}
	var problems, more site.Problems
	if !d.provider.Unknown {
		w.desired.Nodes = d.provider.reach(desired.Nodes, key)
		problems = site.ValidatePlaces(w.desired.Nodes)
	}
	if prior != nil {
		before, ds := desired.Nodes, diag.Diagnostics(nil)
		if !plan.Nodes.Equal(prior.Nodes) {
			before, ds = prior.nodes(ctx, past)
			diags.Append(ds...)
		}
		w.drift, ds = prior.driftOf(ctx)
		diags.Append(ds...)
		if diags.HasError() {
			return nil, false, diags
		}
		before = slices.Concat(before, past.given(before))
		w.before = before
		if !d.provider.Unknown {
			w.before = d.provider.reach(before, key)
		}
		w.applied, w.drift, w.left, more = planner.Relocate(w.before, w.desired.Nodes, past.Applied, w.drift, past.reached)
		problems = append(problems, more...)
		w.unsure = planner.Unsure(w.left, past.Unsure, w.desired.Nodes, past.apart)
		w.machines = past.machinesOf(w.before, w.desired.Nodes)
		problems = append(problems, oneMachine(w.desired.Nodes, w.machines)...)
		w.rememberLeft(past)
		if !plan.Triggers.Equal(prior.Triggers) {
			w.applied = w.applied.Unfinished() // so that everything is checked and applied again
		}
	}
	problems = append(problems, w.make(past.Services, at)...)
	if prior != nil && w.plan != nil && !w.plan.Empty() && !plan.sameDesire(*prior) {
		w.plan.Since(w.overridden(ctx, *prior))
	}
	problems.Sort()
	diags.Append(Diagnostics(problems)...)
	return w, true, diags
}

// rememberLeft adds which machines the nodes were that leave the site.
func (w *work) rememberLeft(past memory) {
	inSite := make(map[string]bool, len(w.desired.Nodes))
	for _, n := range w.desired.Nodes {
		inSite[n.Name] = true
	}
	for _, n := range w.before {
		if id, known := past.Machines[n.Name]; known && !inSite[n.Name] {
			w.machines[n.Name] = id
		}
	}
	for _, l := range w.left {
		if id, known := past.Machines[l.Node]; known {
			w.machines[l.Name] = id
		}
	}
}

// overridden returns what the overrides of the prior state changed or made: nothing when that state cannot be planned
// any more.
func (w *work) overridden(ctx context.Context, prior deploymentModelV1) planner.Overridden {
	before, _, diags := prior.Value(ctx)
	if len(before.Overrides) == 0 || diags.HasError() {
		return planner.Overridden{}
	}
	before.Values = w.desired.Values
	overridden, _ := w.memory.OverriddenBy(before)
	return overridden
}

// make plans the services first, then the site with those that are deployed.
func (w *work) make(state services.Inventory, at time.Time) site.Problems {
	var problems, more site.Problems
	w.services, problems = services.Plan(state, w.desired, at)
	if len(problems.Errors()) > 0 {
		w.deployed = w.desired // so that everything else that is wrong is reported as well
		_, more = w.memory.Make(w.deployed, w.applied, w.drift)
		return problems.Join(more)
	}
	problems = problems.Join(w.desired.Validate()) // not all services that are wanted are deployed now
	w.forget()
	w.deployed = w.services.Site()
	w.deployed.Values = w.desired.Values
	w.plan, more = w.memory.Make(w.deployed, w.applied, w.drift)
	problems = problems.Join(more)
	if w.plan == nil {
		return problems
	}
	var err error
	if w.plan.Digest, err = w.services.Digest(w.plan.Digest); err != nil {
		return append(problems, site.Problem{Object: "deployment", Name: w.desired.Name, Code: site.BadStructure, Message: err.Error()})
	}
	if !w.services.HasChanges() {
		return problems
	}
	// What services brought says later which removals are whose. A site that cannot be planned any more leaves that
	// open.
	before, more := services.Unchanged(state, w.desired)
	if len(more.Errors()) == 0 {
		rest := before.Site()
		rest.Values = w.desired.Values
		w.brought, _ = w.memory.OwnersOf(rest)
	}
	if w.brought == nil {
		w.brought = planner.Owners{}
	}
	if now, more := w.memory.OwnersOf(w.deployed); len(more.Errors()) == 0 {
		w.brought.Add(now)
	}
	return problems
}

// forget drops what callbacks returned for services that are replaced: the new ones ask for values of their own.
func (w *work) forget() {
	for _, c := range w.services.Changes() {
		if c.Kind != services.Replace {
			continue
		}
		w.desired.Values = maps.Clone(w.desired.Values)
		delete(w.desired.Values, c.Service)
		ran := maps.Clone(w.applied[planner.Controller])
		for id := range ran {
			if _, title, _ := strings.Cut(string(id), "["); strings.HasPrefix(title, c.Service+"/") {
				ran[id] = ""
			}
		}
		if len(ran) > 0 {
			w.applied = maps.Clone(w.applied)
			w.applied[planner.Controller] = ran
		}
	}
}

// settled reports whether the last run left nothing to report again. A node that failed and answers now has something to
// report even when nothing is left to do on it: it may have brought its work to an end after contact was lost.
func settled(prior *deploymentModelV1) bool {
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
