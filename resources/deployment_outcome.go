package resources

import (
	"context"
	"errors"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// The values of status.
const (
	statusDeployed    = "deployed"
	statusDegraded    = "degraded"
	statusFailed      = "failed"
	statusInterrupted = "interrupted"
)

// rolled is what a run left behind.
type rolled struct {
	model deploymentModelV1
	memory
}

// checkedAgain reports whether a changed trigger made the run check everything.
func (in rollInput) checkedAgain() bool {
	return in.prior != nil && !in.plan.Triggers.Equal(in.prior.Triggers)
}

// outcome turns the report of a run into the state.
func (in rollInput) outcome(p *planner.Plan, report rollout.Report) rolled {
	out := rolled{model: in.plan, memory: memory{Applied: planner.Applied{}, Values: in.past.Values}}
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
		ledger := n.Applied(in.past.Applied[node])
		if in.checkedAgain() && n.Stage != strategy.Deployed {
			ledger = planner.Applied{node: ledger}.Unfinished()[node] // its turn to be checked again is still to come
		}
		if len(ledger) > 0 {
			out.Applied[node] = ledger
		}
	}
	for node, ledger := range in.past.Applied {
		if _, in := report.Nodes[node]; in {
			continue
		}
		d, left := report.Departed[node]
		if left && d.Status == rollout.Kept && report.Nodes[d.Node].Ledger == nil { // the machine has it, under its other name
			merged := maps.Clone(ledger)
			maps.Copy(merged, out.Applied[d.Node])
			out.Applied[d.Node] = merged
		}
		if left && d.Status != rollout.NotTornDown {
			continue
		}
		out.Applied[node] = ledger
	}
	for name, n := range in.past.Given {
		if _, here := report.Nodes[name]; !here && len(out.Applied[name]) > 0 {
			if out.Given == nil {
				out.Given = map[string]site.Node{}
			}
			out.Given[name] = n
		}
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
		out.model.Drift = in.prior.Drift // what was not repaired is still there; the next refresh reports it
	}
	return out
}

// failed reports whether the apply ends in an error. A node that left the configuration and is not torn down counts
// too: only a failed apply may keep it in the state.
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

// leaveDeparted keeps nodes that left the configuration and could not be torn down in the state, with the connection
// that reaches them, so that the next plan tries again. Only a failed run may save what was not planned. The secrets of
// the connection go to the private state: Terraform does not know that they are sensitive any more, and would show them
// in the next plan.
func (done *rolled) leaveDeparted(ctx context.Context, in rollInput, w *work, report rollout.Report) (diags diag.Diagnostics) {
	if in.prior == nil || !failed(report, w.plan) {
		return nil
	}
	before, diags := in.prior.nodes(ctx, in.past)
	was := map[string]string{} // the name of a node that left -> in the prior state
	for _, n := range before {
		was[n.Name] = n.Name
	}
	for _, l := range w.left {
		was[l.Name] = l.Node
	}
	left := map[string]string{}
	for _, name := range w.plan.Departed {
		if _, given := done.Given[name]; !given && len(done.Applied[name]) > 0 {
			left[name] = was[name]
		}
	}
	if len(left) == 0 {
		return diags
	}
	nodes, err := withNodes(done.model.Nodes, in.prior.Nodes, left)
	if err != nil {
		diags.AddWarning("Departed nodes are not in the state", err.Error())
		return diags
	}
	done.Departed, done.Unsure = map[string]credentials{}, map[string]string{}
	for name, old := range left {
		if node, is := w.unsure[name]; is {
			done.Unsure[name] = node
		}
		if id, known := in.past.Machines[old]; known {
			done.Machines[name] = id
		}
		for _, n := range before {
			if n.Name == old {
				done.Departed[name] = credentialsOf(n.Connection)
			}
		}
	}
	done.model.Nodes = nodes
	numbers := maps.Clone(done.model.ChangedNodes.Elements())
	for _, name := range left {
		numbers[name] = done.model.Run // so that the next plan prints it again
	}
	done.model.ChangedNodes = types.MapValueMust(types.Int64Type, numbers)
	return diags
}

// save writes state, identity and private state.
func save(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, private privateWriter, done rolled) diag.Diagnostics {
	done.model.PrivateKeyWO = types.StringNull()
	diags := state.Set(ctx, &done.model)
	diags.Append(setSiteIdentity(ctx, identity, done.model.Site)...)
	diags.Append(remember(ctx, private, done.memory)...)
	return diags
}

// setSiteIdentity sets the identity; Terraform 1.11 fails without it even where nothing changed (terraform.md 5.8).
func setSiteIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, name types.String) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.SetAttribute(ctx, path.Root("site"), name)
}

// reportDiagnostics reports how a run went, when there is something to report.
func reportDiagnostics(ctx context.Context, r rollout.Report, p *planner.Plan) (diags diag.Diagnostics) {
	var over *overtime
	switch {
	case r.Status == rollout.StatusInterrupted && errors.As(context.Cause(ctx), &over):
		diags.AddError("The run ran out of time", over.Error()+".\n\n"+r.String()+"\nThe state holds what was reached. Apply again; the next plan shows the rest.")
	case r.Status == rollout.StatusInterrupted:
		diags.AddError("The run was interrupted", r.String()+"\nThe state holds what was reached. Apply again; the next plan shows the rest.")
	case failed(r, p):
		diags.AddError("The site was not rolled out", r.String()+"\nThe state holds what was reached. Fix the cause and apply again; the next plan shows the rest.")
	case r.Status == rollout.StatusDegraded:
		diags.AddWarning("The site was rolled out in part", r.String()+"\nNo critical group failed. The next plan shows the rest.")
	default:
		if len(r.Warnings) > 0 {
			diags.AddWarning("The site was rolled out, with remarks", r.String())
		}
	}
	return diags
}
