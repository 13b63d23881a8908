package resources

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/callback/controller"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

const defaultRunTimeout = 12 * time.Hour

// Create rolls the site out. When that fails, the state tells what was reached; Terraform then holds it for tainted, calls Delete without
// private state (see privateKey) and Create again, which goes on from the nodes' ledgers.
func (d *Deployment) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan deploymentModelV0
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	var key types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("private_key_wo"), &key)...)
	timeout, diags := plan.Timeouts.Create(ctx, defaultRunTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := within(ctx, "create", timeout)
	defer cancel()
	done, diags := d.roll(ctx, rollInput{operation: "create", plan: plan, key: key})
	resp.Diagnostics.Append(diags...)
	if done == nil {
		return // no node was touched: nothing to save
	}
	d.provider.Runs.created(plan.Site.ValueString())
	resp.Diagnostics.Append(save(context.WithoutCancel(ctx), &resp.State, resp.Identity, resp.Private, *done)...)
}

// Update brings the site from what is applied to what is wanted. When that fails, the state tells what was reached, so that the
// next plan shows the rest.
func (d *Deployment) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, prior deploymentModelV0
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
	ctx, cancel := within(ctx, "update", timeout)
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
	plan      deploymentModelV0
	prior     *deploymentModelV0 // nil on create
	past      memory
	key       types.String // private_key_wo
}

// roll plans, runs and reports. It returns nil when no node was touched.
func (d *Deployment) roll(ctx context.Context, in rollInput) (*rolled, diag.Diagnostics) {
	w, known, diags := d.work(ctx, in.plan, in.prior, in.past, in.key)
	if diags.HasError() {
		return nil, diags.Errors()
	}
	if !known {
		diags.AddError("The site is not known", "Terraform called apply with unknown values in nodes, groups, services, overrides or plugins. This is a defect; please report it.")
		return nil, diags
	}
	diags = nil // the plan told the warnings
	p, desired := w.plan, w.desired
	if !in.plan.Digest.IsUnknown() && in.plan.Digest.ValueString() != p.Digest {
		diags.AddError("The plan is stale",
			"What this apply would do is not what the plan showed, so nothing was touched. Run terraform plan again.")
		return nil, diags
	}
	in.past.Applied = w.applied
	departed := make(map[string]site.Node, len(w.before))
	for _, n := range w.before {
		departed[n.Name] = n
	}

	run, ds := d.begin(ctx, in.operation, desired.Name, p)
	diags.Append(ds...)
	if diags.HasError() {
		return nil, diags
	}
	executor := rollout.NewInProcess()
	options := rollout.Options{
		Executor: executor, Recorder: run.writer, RunID: run.id, Parallelism: int(in.plan.Parallelism.ValueInt64()), Departed: departed,
		GiveUp: d.provider.Runs.ending(), Caller: controller.New(controller.Options{}),
	}
	todo := p
	if in.prior == nil || in.prior.Nodes.IsNull() {
		todo = goOn(run.ctx, desired, p, options)
	}
	options.Resolve = func(t task.Task, values rollout.Values) (task.Task, error) { return todo.Resolve(t, values) }
	report, err := rollout.Run(run.ctx, desired, todo, options)
	_ = executor.Close() // every answer that counts has been read
	if err != nil {
		report.Status = rollout.StatusFailed
		diags.AddError("The run was stopped", err.Error())
	}
	diags.Append(run.end(string(report.Status), report.String())...)

	done := in.outcome(p, report)
	diags.Append(done.called(in, desired, todo, report)...)
	diags.Append(done.leaveDeparted(in, p, report)...)
	diags.Append(reportDiagnostics(run.ctx, report, p)...)
	return &done, diags
}

// goOn returns the plan of a site that this state has not rolled out yet: the one given, unless the nodes' ledgers tell of an earlier
// run, one that failed or one whose state was lost. Everything is then checked again, and what is no longer wanted goes.
func goOn(ctx context.Context, s site.Site, p *planner.Plan, o rollout.Options) *planner.Plan {
	left := planner.Applied{}
	for node, found := range rollout.Survey(ctx, s.Nodes, nil, s.Name, o) {
		if len(found.Ledger) > 0 { // a node that does not answer now fails when its turn comes
			left[node] = found.Ledger
		}
	}
	if len(left) == 0 {
		return p
	}
	todo, problems := planner.Make(s, left.Unfinished(), nil)
	if len(problems.Errors()) > 0 {
		return p // the same site was planned without error a moment ago: ledgers cannot make it invalid
	}
	return todo
}
