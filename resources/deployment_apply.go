package resources

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const (
	defaultRunTimeout      = 12 * time.Hour
	defaultTearDownTimeout = time.Hour

	statusDeployed    = "deployed"
	statusDegraded    = "degraded"
	statusFailed      = "failed"
	statusInterrupted = "interrupted"
)

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
	ctx, cancel := context.WithTimeout(ctx, timeout)
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
	applied, _, diags := readApplied(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	timeout, diags := plan.Timeouts.Update(ctx, defaultRunTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done, diags := d.roll(ctx, rollInput{operation: "update", plan: plan, prior: &prior, applied: applied, key: key})
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
	applied   planner.Applied
	key       types.String // private_key_wo
}

// rolled is what a run left behind.
type rolled struct {
	model   deploymentModelV0
	applied planner.Applied
}

// roll plans, runs and reports. It returns nil when no node was touched.
func (d *Deployment) roll(ctx context.Context, in rollInput) (*rolled, diag.Diagnostics) {
	desired, known, diags := in.plan.Value(ctx)
	if diags.HasError() {
		return nil, diags
	}
	if !known {
		diags.AddError("The site is not known", "Terraform called apply with unknown values in nodes, groups, services or overrides. This is a defect; please report it.")
		return nil, diags
	}
	var drift planner.Drift
	departed := map[string]site.Node{}
	applied := in.applied
	if in.prior != nil {
		before, _, ds := in.prior.Value(ctx)
		diags.Append(ds...)
		drift, ds = in.prior.driftOf(ctx)
		diags.Append(ds...)
		if diags.HasError() {
			return nil, diags
		}
		for _, n := range d.provider.reach(before.Nodes, in.key) {
			departed[n.Name] = n
		}
		applied = again(applied, in.plan, *in.prior)
	}
	p, problems := planner.Make(desired, applied, drift)
	if errs := problems.Errors(); len(errs) > 0 {
		diags.Append(Diagnostics(errs)...)
		return nil, diags
	}
	if !in.plan.Digest.IsUnknown() && in.plan.Digest.ValueString() != p.Digest {
		diags.AddError("The plan is stale",
			"What this apply would do is not what the plan showed, so nothing was touched. Run terraform plan again.")
		return nil, diags
	}
	desired.Nodes = d.provider.reach(desired.Nodes, in.key)

	run, ds := d.begin(ctx, in.operation, desired.Name, p)
	diags.Append(ds...)
	if diags.HasError() {
		return nil, diags
	}
	executor := rollout.NewInProcess()
	options := rollout.Options{
		Executor: executor, Recorder: run.writer, RunID: run.id, Parallelism: int(in.plan.Parallelism.ValueInt64()), Departed: departed,
	}
	work := p
	if in.prior == nil || in.prior.Nodes.IsNull() {
		work = goOn(run.ctx, desired, p, options)
	}
	report, err := rollout.Run(run.ctx, desired, work, options)
	_ = executor.Close() // every answer that counts has been read
	if err != nil {
		report.Status = rollout.StatusFailed
		diags.AddError("The run was stopped", err.Error())
	}
	diags.Append(run.end(string(report.Status), report.String())...)

	done := in.outcome(p, report)
	diags.Append(done.leaveDeparted(ctx, in, p, report)...)
	diags.Append(reportDiagnostics(report, p)...)
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
	work, problems := planner.Make(s, left.Unfinished(), nil)
	if len(problems.Errors()) > 0 {
		return p // the same site was planned without error a moment ago: ledgers cannot make it invalid
	}
	return work
}

// outcome turns the report of a run into the state.
func (in rollInput) outcome(p *planner.Plan, report rollout.Report) rolled {
	out := rolled{model: in.plan, applied: planner.Applied{}}
	out.model.setPlan(p)
	nodes, groups := map[string]string{}, map[string]string{}
	var unreachable []string
	for _, g := range report.Groups {
		groups[g.Name] = string(g.Stage)
	}
	for _, node := range sortedKeys(report.Nodes) {
		n := report.Nodes[node]
		if n.Stage != "" {
			nodes[node] = string(n.Stage)
		}
		if n.Attempted && !n.Reachable || !n.Attempted && in.wasUnreachable(node) {
			unreachable = append(unreachable, node)
		}
		ledger := n.Ledger
		if ledger == nil {
			ledger = in.applied[node]
		}
		if len(ledger) > 0 {
			out.applied[node] = ledger
		}
	}
	for node, ledger := range in.applied {
		if _, in := report.Nodes[node]; in {
			continue
		}
		if d, left := report.Departed[node]; left && d.Status != rollout.NotTornDown {
			continue
		}
		out.applied[node] = ledger
	}
	out.model.NodeStatus, out.model.GroupStatus, out.model.Unreachable = stringMap(nodes), stringMap(groups), stringList(unreachable)
	switch {
	case report.Status == rollout.StatusInterrupted:
		out.model.Status = types.StringValue(statusInterrupted)
	case failed(report, p):
		out.model.Status = types.StringValue(statusFailed)
	case report.Status == rollout.StatusDegraded:
		out.model.Status = types.StringValue(statusDegraded)
	default:
		out.model.Status = types.StringValue(statusDeployed)
	}
	if failed(report, p) && in.prior != nil && !in.prior.Drift.IsNull() {
		out.model.Drift = in.prior.Drift // what was not repaired is still there; the next refresh tells
	}
	return out
}

// failed reports whether the apply ends in an error. A node that left the configuration and is not torn down counts too: only a failed
// apply may keep it in the state.
func failed(r rollout.Report, p *planner.Plan) bool {
	for _, name := range p.Departed {
		if r.Departed[name].Status == rollout.NotTornDown {
			return true
		}
	}
	return r.Status == rollout.StatusFailed || r.Status == rollout.StatusInterrupted
}

// wasUnreachable reports whether the prior state counts a node as unreachable.
func (in rollInput) wasUnreachable(node string) bool {
	if in.prior == nil {
		return false
	}
	for _, n := range in.prior.Unreachable.Elements() {
		if n.Equal(types.StringValue(node)) {
			return true
		}
	}
	return false
}

// leaveDeparted keeps nodes that left the configuration and could not be torn down in the state, with the connection that reaches them, so
// that the next plan tries again. Only a failed run may save what was not planned.
func (done *rolled) leaveDeparted(ctx context.Context, in rollInput, p *planner.Plan, report rollout.Report) (diags diag.Diagnostics) {
	if in.prior == nil || !failed(report, p) {
		return nil
	}
	var left []string
	for _, name := range p.Departed {
		if len(done.applied[name]) > 0 {
			left = append(left, name)
		}
	}
	if len(left) == 0 {
		return nil
	}
	nodes, err := withNodes(ctx, done.model.Nodes, in.prior.Nodes, left)
	if err != nil {
		diags.AddWarning("Departed nodes are not in the state", err.Error())
		return diags
	}
	done.model.Nodes = nodes
	return nil
}

// save writes state, identity and private state.
func save(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, private privateWriter, done rolled) diag.Diagnostics {
	done.model.PrivateKeyWO = types.StringNull()
	diags := state.Set(ctx, &done.model)
	diags.Append(setSiteIdentity(ctx, identity, done.model.Site)...)
	diags.Append(writeApplied(ctx, private, done.applied)...)
	return diags
}

// setSiteIdentity sets the identity; Terraform 1.11 fails without it even where nothing changed (terraform.md 5.8).
func setSiteIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, name types.String) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.SetAttribute(ctx, path.Root("site"), name)
}

// reportDiagnostics tells how a run went, when there is something to tell.
func reportDiagnostics(r rollout.Report, p *planner.Plan) (diags diag.Diagnostics) {
	switch {
	case r.Status == rollout.StatusInterrupted:
		diags.AddError("The run was interrupted", r.String()+"\nThe state holds what was reached. Apply again; the next plan shows the rest.")
	case failed(r, p):
		diags.AddError("The site was not rolled out", r.String()+"\nThe state holds what was reached. Mend the cause and apply again; the next plan shows the rest.")
	case r.Status == rollout.StatusDegraded:
		diags.AddWarning("The site was rolled out in part", r.String()+"\nNo critical group failed. The next plan shows the rest.")
	default:
		if len(r.Warnings) > 0 {
			diags.AddWarning("The site was rolled out, with remarks", r.String())
		}
	}
	return diags
}

// Delete undoes on every node what slipway did there. Without private state it touches none: Terraform is about to replace a tainted
// deployment, and the Create that follows goes on from the ledgers (terraform.md 5.5).
func (d *Deployment) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state deploymentModelV0
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	_, saved, diags := readApplied(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	timeout, diags := state.Timeouts.Delete(ctx, defaultTearDownTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := state.Site.ValueString()
	if !saved || state.OnDestroy.ValueString() == onDestroyRetain || state.Nodes.IsNull() || d.provider.Runs.wasCreated(name) {
		return
	}
	s, _, diags := state.Value(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	run, diags := d.begin(ctx, "delete", name, nil)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	executor := rollout.NewInProcess()
	report := rollout.TearDown(run.ctx, name, d.provider.reach(s.Nodes, types.StringNull()), rollout.Options{
		Executor: executor, Recorder: run.writer, RunID: run.id, Parallelism: int(state.Parallelism.ValueInt64()),
	})
	_ = executor.Close() // every answer that counts has been read
	resp.Diagnostics.Append(run.end(string(report.Status), report.String())...)
	if report.Err != nil {
		resp.Diagnostics.AddError("The tear-down was stopped", report.Err.Error())
	}
	var left, forgotten bool
	for _, n := range report.Nodes {
		left = left || n.Status == rollout.NotTornDown
		forgotten = forgotten || n.Status == rollout.Unreachable
	}
	switch {
	case left || report.Status == rollout.StatusInterrupted:
		resp.Diagnostics.AddError("The site was not torn down", report.String()+"\nThe deployment stays in the state. Mend the cause and destroy again, or set on_destroy = \"retain\" and apply to let go of the nodes as they are.")
	case forgotten:
		resp.Diagnostics.AddWarning("Nodes were forgotten", report.String()+"\nThey did not answer. What slipway applied there is still there; their ledger is kept in /var/lib/slipway.")
	}
}
