package resources

import (
	"context"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/callback/controller"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

const defaultRunTimeout = 12 * time.Hour

// Create rolls the site out. When that fails, the state says what was reached; Terraform then holds it for tainted,
// calls Delete without private state (see privateKey) and Create again, which goes on from the nodes' ledgers.
func (d *Deployment) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan deploymentModelV1
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	var key types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("private_key_wo"), &key)...)
	timeout, diags := plan.Timeouts.Create(ctx, defaultRunTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.provider.Runs.within(ctx, "create", timeout)
	defer cancel()
	done, diags := d.roll(ctx, rollInput{operation: "create", plan: plan, key: key})
	resp.Diagnostics.Append(diags...)
	if done == nil {
		return // no node was touched: nothing to save
	}
	if diags.HasError() { // Terraform holds it for tainted: the plan of the replacement prints what is not in the state
		numbers := make(map[string]attr.Value)
		for name := range done.model.NodeStatus.Elements() {
			numbers[name] = types.Int64Value(0)
		}
		done.model.Steps, done.model.ChangedNodes = stringList(nil), types.MapValueMust(types.Int64Type, numbers)
	}
	nodes, ds := done.model.nodes(ctx, done.memory)
	resp.Diagnostics.Append(ds...)
	d.provider.Runs.created(plan.Site.ValueString(), d.provider.reach(nodes, key))
	resp.Diagnostics.Append(save(context.WithoutCancel(ctx), &resp.State, resp.Identity, resp.Private, *done)...)
}

// Update brings the site from what is applied to what is wanted. When that fails, the state says what was reached, so
// that the next plan shows the rest.
func (d *Deployment) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, prior deploymentModelV1
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	var key types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("private_key_wo"), &key)...)
	past, _, diags := recall(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	timeout, diags := plan.Timeouts.Update(ctx, defaultRunTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.provider.Runs.within(ctx, "update", timeout)
	defer cancel()
	done, diags := d.roll(ctx, rollInput{operation: "update", plan: plan, prior: &prior, past: past, key: key})
	resp.Diagnostics.Append(diags...)
	if done == nil {
		return // no node was touched: the prior state stays
	}
	resp.Diagnostics.Append(save(context.WithoutCancel(ctx), &resp.State, resp.Identity, resp.Private, *done)...)
}

// rollInput is what one create or update starts from.
type rollInput struct {
	operation string
	plan      deploymentModelV1
	prior     *deploymentModelV1 // nil on create
	past      memory
	key       types.String // private_key_wo
}

// roll plans, runs and reports. It returns nil when no node was touched.
func (d *Deployment) roll(ctx context.Context, in rollInput) (*rolled, diag.Diagnostics) {
	w, known, diags := d.work(ctx, in.plan, in.prior, in.past, in.key, time.Now())
	if diags.HasError() {
		return nil, diags.Errors()
	}
	if !known {
		diags.AddError("The site is not known", "Terraform called apply with unknown values in nodes, groups, services, overrides, plugins or ordering. This is a defect; please report it.")
		return nil, diags
	}
	diags = nil // the plan reported the warnings
	p, desired := w.plan, w.desired
	if !in.plan.Digest.IsUnknown() && in.plan.Digest.ValueString() != p.Digest {
		diags.AddError("The plan is stale",
			"What this apply would do is not what the plan showed, so nothing was touched. Run terraform plan again.")
		return nil, diags
	}
	in.past.Applied, in.past.Values = w.applied, w.desired.Values
	departed := make(map[string]site.Node, len(w.before))
	for _, n := range w.before {
		departed[n.Name] = n
	}
	for _, l := range w.left {
		n := departed[l.Node]
		n.Name = l.Name
		departed[l.Name] = n
	}

	journaled, err := d.seen(ctx, desired.Name)
	if err != nil {
		diags.AddError("The journal cannot be opened", err.Error()+"\n\nNo node was touched.")
		return nil, diags
	}
	if in.prior != nil {
		if diags.Append(stale(in.past.Services, journaled)...); diags.HasError() {
			return nil, diags
		}
	}
	run, ds := d.begin(ctx, in.operation, desired.Name, p)
	diags.Append(ds...)
	if diags.HasError() {
		return nil, diags
	}
	if in.prior != nil { // another run may have been at work until this one had the site
		why := "services changed since the plan"
		if journaled, err = d.seen(ctx, desired.Name); err != nil {
			diags.AddError("The journal cannot be read", err.Error()+"\n\nNo node was touched.")
			why = "the journal could not be read"
		}
		if diags.Append(stale(in.past.Services, journaled)...); diags.HasError() {
			diags.Append(run.end(string(rollout.StatusFailed), "nothing was touched: "+why)...)
			return nil, diags
		}
	}
	executor := rollout.NewInProcess()
	options := rollout.Options{
		Executor: executor, Recorder: run.writer, RunID: run.id, Parallelism: int(in.plan.Parallelism.ValueInt64()), Departed: departed,
		ParallelGroups: int(in.plan.ParallelGroups.ValueInt64()), Machines: rollout.NewMachines(w.machines),
		GiveUp: d.provider.Runs.ending(), Caller: promising(desired, controller.New(controller.Options{})),
	}
	surveying, stop := context.WithCancel(run.ctx) // nodes that are slow to answer are waited for where they are worked on
	defer stop()
	if in.prior == nil || in.prior.Nodes.IsNull() {
		if in.prior != nil {
			journaled = nil // the refresh after the import took them over
		}
		w.goOn(surveying, journaled, options)
	}
	limits, _, ds := limitsOf(ctx, in.plan.Protect)
	diags.Append(ds...)
	options.Unsure, options.TornDown = w.unsure, limits.TornDownOf(w.plan.Losses(w.applied, w.unsure).Nodes)
	diags.Append(run.recordServices(run.ctx, services.CurrentVersions(in.past.Services), nil)...)
	diags.Append(run.history(run.ctx, w.services)...)
	todo := w.plan
	options.Resolve = func(t task.Task, values rollout.Values) (task.Task, error) { return todo.Resolve(t, values) }
	report, err := rollout.Run(run.ctx, w.deployed, todo, options)
	if err != nil {
		report.Status = rollout.StatusFailed
		diags.AddError("The run was stopped", err.Error())
	}
	w.did = append(w.services.Steps(), todo.Part(report.Did()).Lines()...)
	diags.Append(d.passes(ctx, run, w, in, todo, &report, options)...)

	done := in.outcome(p, report)
	if done.model.LastRunSteps.IsUnknown() { // there was work
		done.model.LastRunSteps = stringList(numbered(done.model.Run.ValueInt64(), w.did))
	}
	done.Machines = options.Machines.Known()
	maps.DeleteFunc(done.Machines, func(name string, _ converge.Identity) bool { _, here := report.Nodes[name]; return !here })
	diags.Append(done.called(in, w.deployed, todo, w.called, report)...)
	diags.Append(done.leaveDeparted(ctx, in, w, report)...)
	if in.prior == nil {
		old := d.provider.Runs.replacedBy(desired.Name)
		old.nodes = d.provider.reach(old.nodes, in.key)
		diags.Append(done.giveUp(run.ctx, old, w, options, failed(report, p))...)
	}
	stop()
	_ = executor.Close() // every answer that counts has been read
	done.took(w)
	diags.Append(run.history(context.WithoutCancel(ctx), w.services)...)
	diags.Append(run.end(string(report.Status), report.String())...)
	diags.Append(reportDiagnostics(run.ctx, report, p)...)
	diags.Append(tellRolledBack(w.services)...)
	return &done, diags
}

// goOn takes over what an earlier run of a site left that this state has not rolled out yet, one that failed or one
// whose state was lost: services that the journal has, and what the nodes' ledgers have, all of which is then checked
// again; what is no longer wanted goes.
func (w *work) goOn(ctx context.Context, journaled []services.JournalRecord, o rollout.Options) {
	again := *w
	if state := (services.Inventory{}).Merge(journaled); len(state.Records)+len(state.Former) > 0 {
		if problems := again.make(state, time.Now()); len(problems.Errors()) > 0 { // what is wanted cannot follow on what was left: it begins anew, and what was left goes
			again = *w
			if problems := again.make(state.WithoutServices(), time.Now()); len(problems.Errors()) > 0 {
				again = *w
			}
		}
	}
	left := planner.Applied{}
	o.Prepared = rollout.Prepared(w.plan)
	for node, found := range rollout.Survey(ctx, w.desired.Nodes, nil, w.desired.Name, o) {
		if len(found.Ledger) > 0 { // one that does not answer now fails when its turn comes; what one has that answers later is in the next plan
			left[node] = found.Ledger
		}
	}
	if len(left) > 0 {
		again.applied = left.Unfinished()
		again.plan, _ = w.memory.Make(again.deployed, again.applied, nil)
	}
	if again.plan != nil { // the same site was planned without error a moment ago: ledgers and journal do not make it invalid
		*w = again
	}
}
