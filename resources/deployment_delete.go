package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
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
		resp.Diagnostics.Append(past.leftBehind(d.provider.reach(nodes, types.StringNull()), now)...)
		return
	}
	if resp.Diagnostics.Append(protectedFromDestroy(ctx, state)...); resp.Diagnostics.HasError() {
		return
	}
	if state.OnDestroy.ValueString() == onDestroyRetain {
		return
	}
	if state.Nodes.IsNull() {
		resp.Diagnostics.AddError("The site was not torn down",
			"The deployment was imported, and its nodes are known only after an apply. Run terraform apply and then destroy; to let go of the nodes as they are, remove the deployment from the state with terraform state rm.")
		return
	}
	nodes, diags := state.nodes(ctx, past)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	given := past.given(nodes)
	nodes = slices.Concat(nodes, given)
	ctx, cancel := d.provider.Runs.within(ctx, "delete", timeout)
	defer cancel()
	run, diags := d.begin(ctx, "delete", name, nil)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	executor := rollout.NewInProcess()
	report := rollout.TearDown(run.ctx, name, d.provider.reach(nodes, types.StringNull()), rollout.Options{
		Executor: executor, Recorder: run.writer, RunID: run.id, Parallelism: int(state.Parallelism.ValueInt64()), GiveUp: d.provider.Runs.ending(),
	})
	_ = executor.Close() // every answer that counts has been read
	if report.Status == rollout.StatusSucceeded {
		versions, events := services.DeletedVersions(past.Services, name, time.Now())
		resp.Diagnostics.Append(run.recordServices(context.WithoutCancel(ctx), versions, events)...)
	}
	resp.Diagnostics.Append(run.end(string(report.Status), report.String())...)
	if report.Err != nil {
		resp.Diagnostics.AddError("The tear-down was stopped", report.Err.Error())
	}
	if over := (*overtime)(nil); errors.As(context.Cause(run.ctx), &over) {
		resp.Diagnostics.AddError("The tear-down ran out of time", over.Error()+".")
	}
	if len(report.Warnings) > 0 {
		resp.Diagnostics.AddWarning("Not everything could be brought back", strings.Join(report.Warnings, "\n"))
	}
	left := report.Status == rollout.StatusInterrupted
	var silent, lost []string
	for _, node := range sortedKeys(report.Nodes) {
		switch report.Nodes[node].Status {
		case rollout.NotTornDown:
			left = true
		case rollout.TornDown:
			delete(past.Applied, node)
		case rollout.Unreachable:
			silent = append(silent, node)
			if !slices.ContainsFunc(state.Unreachable.Elements(), types.StringValue(node).Equal) && !slices.ContainsFunc(given, func(n site.Node) bool { return n.Name == node }) {
				lost = append(lost, node) // it answered the last refresh or run; those that are given up are in no refresh
			}
		}
	}
	switch {
	case left || len(lost) > 0:
		var answered string
		if len(lost) > 0 {
			answered = fmt.Sprintf("\nNodes that answered until now do not answer any more: %s. Bring them back; those that are gone for good are forgotten by the next destroy, when they do not answer then either.",
				strings.Join(firstLines(lost), ", "))
		}
		resp.Diagnostics.AddError("The site was not torn down", report.String()+answered+
			"\nThe deployment stays in the state. Fix the cause and destroy again, or set on_destroy = \"retain\" and apply to let go of the nodes as they are.")
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("unreachable"), stringList(silent))...)
		resp.Diagnostics.Append(remember(context.WithoutCancel(ctx), resp.Private, past)...)
	case len(silent) > 0:
		resp.Diagnostics.AddWarning("Nodes were forgotten", report.String()+"\nThey did not answer. What slipway applied there is still there; their ledger is kept in /var/lib/slipway.")
	}
}
