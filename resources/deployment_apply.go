package resources

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

const defaultRunTimeout = 12 * time.Hour

// Create rolls the site out. When that fails, the state says what was reached; Terraform then calls it tainted, calls
// Delete without private state (see privateKey) and Create again, which goes on from the nodes' ledgers.
func (d *Deployment) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan deploymentModelV1
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	var key types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("private_key_wo"), &key)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("secrets_wo"), &plan.SecretsWO)...)
	timeout, diags := plan.Timeouts.Create(ctx, defaultRunTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.provider.Runs.Within(ctx, "create", timeout)
	defer cancel()
	old := d.provider.Runs.ReplacedBy(plan.Site.ValueString())
	out, diags := d.apply(ctx, req.Plan, &plan, nil, engine.State{}, engine.Run{Replaced: old.Nodes}, key)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(rememberHanded(context.WithoutCancel(ctx), resp.Private, out.Run)...)
	if s, known, _ := plan.Value(ctx); known && (out.Active != "" || out.Status == "" && len(old.Nodes) > 0) {
		if out.Active != "" { // the next creation waits for the run
			plan.ActiveRun = types.StringValue(out.Active)
		}
		out = out.Begun(s, old.Nodes)
	}
	if out.Status == "" {
		return // no node was touched, and nothing was before: nothing to save
	}
	older, _ := old.Shown.(values.Opaque) // nil where nothing is replaced
	resp.Diagnostics.Append(plan.show(out, nil, older)...)
	if diags.HasError() {
		plan.forReplacement()
	}
	nodes, ds := plan.nodes(ctx, out.State)
	resp.Diagnostics.Append(ds...)
	d.provider.Runs.Created(plan.Site.ValueString(), engine.Reach(nodes, d.provider.connection(key)))
	resp.Diagnostics.Append(save(context.WithoutCancel(ctx), &resp.State, resp.Identity, resp.Private, plan, out.State)...)
}

// Update brings the site from what is applied to what is wanted. When that fails, the state says what was reached, so
// that the next plan shows the rest.
func (d *Deployment) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, prior deploymentModelV1
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	var key types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("private_key_wo"), &key)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("secrets_wo"), &plan.SecretsWO)...)
	past, _, diags := recall(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	timeout, diags := plan.Timeouts.Update(ctx, defaultRunTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.provider.Runs.Within(ctx, "update", timeout)
	defer cancel()
	out, diags := d.apply(ctx, req.Plan, &plan, &prior, past, engine.Run{}, key)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(rememberHanded(context.WithoutCancel(ctx), resp.Private, out.Run)...)
	if out.Status == "" {
		return // no node was touched: the prior state stays
	}
	resp.Diagnostics.Append(plan.show(out, &prior, prior.Nodes)...)
	resp.Diagnostics.Append(save(context.WithoutCancel(ctx), &resp.State, resp.Identity, resp.Private, plan, out.State)...)
}

// apply runs what the plan shows.
func (d *Deployment) apply(ctx context.Context, planned tfsdk.Plan, plan, prior *deploymentModelV1, past engine.State,
	how engine.Run, key types.String) (out engine.Outcome, diags diag.Diagnostics) {
	if d.provider.Handing != nil {
		var err error
		if how.Model, err = modelOf(ctx, planned); err != nil {
			diags.AddError("The run cannot be handed over", err.Error())
			return out, diags
		}
	}
	desired, known, diags := plan.Value(ctx)
	if diags.HasError() {
		return out, diags.Errors()
	}
	if !known || plan.Triggers.IsUnknown() {
		diags.AddError("The site is not known",
			"Terraform called apply with unknown values in nodes, groups, services, overrides, plugins or ordering. "+
				"This is a defect; please report it.")
		return out, diags
	}
	before, diags := prior.before(ctx, *plan, desired, past)
	if diags.HasError() {
		return out, diags
	}
	how.Settings = d.settings(*plan, prior, key)
	how.Parallelism, how.ParallelGroups = int(plan.Parallelism.ValueInt64()), int(plan.ParallelGroups.ValueInt64())
	limits, diags := limitsOf(ctx, *plan, nil)
	how.Protection = limits.Protection
	how.Digest = plan.Digest.ValueString()
	how.Secrets = secretsOf(plan.SecretsWO)
	how.Secrets.Version = plan.SecretsVersion.String()
	out = d.provider.engine().Apply(ctx, before, desired, how)
	diags.Append(values.Diagnostics(out.Messages)...)
	return out, diags
}

const defaultTearDownTimeout = time.Hour

// Delete undoes on every node what slipway did there. Without private state it touches none: Terraform is about to
// replace a tainted deployment, and the Create that follows goes on from the ledgers (terraform.md 5.5).
func (d *Deployment) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state deploymentModelV1
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	past, saved, diags := recall(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	timeout, diags := state.Timeouts.Delete(ctx, defaultTearDownTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := state.Site.ValueString()
	if !saved && state.Nodes.IsNull() {
		return
	}
	if !saved {
		d.provider.Seen.NoteState(state.Site.ValueString(), state.shown())
		nodes, diags := state.nodes(ctx, past)
		resp.Diagnostics.Append(diags...)
		d.provider.Runs.Replace(name, engine.Replaced{Nodes: nodes, Shown: state.Nodes})
		return
	}
	if now, created := d.provider.Runs.WasCreated(name); created {
		nodes, diags := state.nodes(ctx, past)
		resp.Diagnostics.Append(diags...)
		resp.Diagnostics.Append(values.Diagnostics(past.LeftBehind(engine.Reach(nodes, d.provider.Connection), now))...)
		return
	}
	limits, diags := limitsOf(ctx, state, &state)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.Append(values.Diagnostics(limits.Refusal())...); resp.Diagnostics.HasError() {
		return
	}
	h, diags := d.lastHanded(ctx, req.State, req.Private, &state, &past)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() || h != nil && h.Outcome.Status == engine.Destroyed {
		return
	}
	if limits.Retain {
		if h != nil && h.Active {
			resp.Diagnostics.AddError("A run is active", fmt.Sprintf("Run %s works on the site %q, so that the site cannot be let go. "+
				"Wait for its end and destroy again, or stop it with `terraform-provider-slipway runs cancel %[1]s`.", h.Run.ID, h.Run.Site))
		}
		return
	}
	if state.Nodes.IsNull() {
		resp.Diagnostics.AddError("The site was not torn down",
			"The deployment was imported, and its nodes are known only after an apply. Run terraform apply and then destroy; to let go of the nodes as they are, remove the deployment from the state with terraform state rm.")
		return
	}
	nodes, diags := state.nodes(ctx, past)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.provider.Runs.Within(ctx, "delete", timeout)
	defer cancel()
	prior := engine.Prior{State: past, Nodes: nodes, Unreachable: values.Texts(state.Unreachable)}
	out := d.provider.engine().Destroy(ctx, name, prior, engine.Run{Settings: d.settings(state, nil, types.StringNull()),
		Parallelism: int(state.Parallelism.ValueInt64())})
	resp.Diagnostics.Append(values.Diagnostics(append(out.Messages, out.TornDown()...))...)
	if out.Status == "" || out.Status == engine.Destroyed {
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("unreachable"), stringList(out.Unreachable))...)
	resp.Diagnostics.Append(remember(context.WithoutCancel(ctx), resp.Private, out.State)...)
	resp.Diagnostics.Append(rememberHanded(context.WithoutCancel(ctx), resp.Private, out.Run)...)
}
