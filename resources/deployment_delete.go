package resources

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

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
		nodes, diags := state.nodes(ctx, past)
		resp.Diagnostics.Append(diags...)
		d.provider.Runs.replace(name, replaced{nodes, state.Nodes})
		return
	}
	if now, created := d.provider.Runs.wasCreated(name); created {
		nodes, diags := state.nodes(ctx, past)
		resp.Diagnostics.Append(diags...)
		resp.Diagnostics.Append(messages(past.LeftBehind(engine.Reach(nodes, d.provider.Connection), now))...)
		return
	}
	limits, diags := limitsOf(ctx, state, &state)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.Append(messages(limits.Refusal())...); resp.Diagnostics.HasError() {
		return
	}
	if limits.Retain {
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
	ctx, cancel := d.provider.Runs.within(ctx, "delete", timeout)
	defer cancel()
	out := d.engine().Destroy(ctx, name, engine.Prior{State: past, Nodes: nodes, Unreachable: values.Texts(state.Unreachable)},
		engine.Run{Settings: d.settings(state, nil, types.StringNull()), Parallelism: int(state.Parallelism.ValueInt64())})
	resp.Diagnostics.Append(messages(out.Messages)...)
	switch {
	case out.Report == nil: // nothing was touched
	case out.Stays:
		var answered string
		if len(out.Lost) > 0 {
			answered = fmt.Sprintf("\nNodes that the state does not list as unreachable do not answer: %s. Bring them back; those that are gone for good are forgotten by the next destroy, when they do not answer then either.",
				strings.Join(engine.FirstLines(out.Lost), ", "))
		}
		resp.Diagnostics.AddError("The site was not torn down", out.Report.String()+answered+
			"\nThe deployment stays in the state. Fix the cause and destroy again, or set on_destroy = \"retain\" and apply to let go of the nodes as they are.")
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("unreachable"), stringList(out.Silent))...)
		resp.Diagnostics.Append(remember(context.WithoutCancel(ctx), resp.Private, out.State)...)
	case len(out.Silent) > 0:
		resp.Diagnostics.AddWarning("Nodes were forgotten",
			out.Report.String()+"\nThey did not answer. What slipway applied there is still there; their ledger is kept in /var/lib/slipway.")
	}
}
