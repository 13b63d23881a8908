package resources

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

const defaultReadTimeout = 5 * time.Minute

// Read compares every node with its ledger. It keeps three outcomes apart: in sync, drifted (listed, planned for repair) and
// unreachable (a warning; what is known of the node stays as it is). It never concludes from silence that something is gone.
func (d *Deployment) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state deploymentModelV1
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(setSiteIdentity(ctx, resp.Identity, state.Site)...)
	past, _, diags := recall(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(warnOfCreation(state)...)
	resp.Diagnostics.Append(d.adopt(ctx, &state, &past)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	resp.Diagnostics.Append(remember(ctx, resp.Private, past)...)
	timeout, diags := state.Timeouts.Read(ctx, defaultReadTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || state.DriftDetection.ValueString() == driftOff || state.Nodes.IsNull() {
		return
	}
	if d.provider.Unknown {
		resp.Diagnostics.AddWarning("Drift was not checked",
			"The provider's connection is not known before the apply, so no node could be reached. The plan counts on the nodes being as they were left.")
		return
	}
	s, desired, mistakes := d.desiredOf(ctx, state, past)
	if mistakes != "" {
		resp.Diagnostics.AddWarning("Drift was not checked",
			"The site in the state is not one that this version of slipway can plan:\n"+mistakes+"\n\nThe next apply with a valid configuration fixes this.")
		return
	}

	ctx, stop := d.provider.Runs.stoppable(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	items := make(map[string][]converge.Item, len(desired))
	for node, tasks := range desired {
		items[node] = rollout.Items(tasks)
	}
	found := d.survey(ctx, s, items, past, int(state.Parallelism.ValueInt64()))

	if past.Applied == nil {
		past.Applied = planner.Applied{}
	}
	var drift []driftModel
	unreachable := map[string]error{}
	var noop []string
	if past.Machines == nil {
		past.Machines = map[string]converge.Identity{}
	}
	for node, survey := range found {
		if survey.Identity.Running() {
			past.Machines[node] = survey.Identity
		}
		if survey.Ledger != nil {
			past.Applied[node] = survey.Ledger
			if len(survey.Ledger) == 0 {
				delete(past.Applied, node)
			}
		}
		if !survey.Reachable || survey.Error != nil {
			unreachable[node] = survey.Error
			continue
		}
		drift = append(drift, driftOn(node, survey, desired[node])...)
		for _, item := range survey.Noop {
			noop = append(noop, fmt.Sprintf("node %q: %s: %s", node, item.ID, change(item)))
		}
	}
	state.setDrift(drift)
	state.Unreachable = stringList(sortedKeys(unreachable))
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	resp.Diagnostics.Append(remember(ctx, resp.Private, past)...)
	if len(noop) > 0 {
		slices.Sort(noop)
		text := strings.Join(firstLines(noop), "\n")
		resp.Diagnostics.AddWarning(fmt.Sprintf("Resources with noop differ: %d", len(noop)), "They stay as they are. Take noop away to have them applied.\n"+text)
	}
	if len(unreachable) > 0 {
		resp.Diagnostics.AddWarning(fmt.Sprintf("%d of %d nodes could not be checked", len(unreachable), len(s.Nodes)),
			"A refresh looks at nodes through the connections of the last apply, and in a plan through those that were corrected since. What is known of these nodes stays as it was; they count "+
				"neither as drifted nor as gone.\n"+reasons(unreachable))
	}
}

// survey looks at the nodes of a state, where the plan at work corrects connections through the new ones. An answer that
// came so counts when it is that of the same machine: the place is the same, or its identity. Otherwise the node is
// looked at as the last apply reached it. Where nothing ever reached it, the answer says only that the node answers:
// what the machine at the new address has was not applied on that node.
func (d *Deployment) survey(ctx context.Context, s site.Site, items map[string][]converge.Item, past memory, parallelism int) map[string]rollout.NodeSurvey {
	look := func(nodes []site.Node) map[string]rollout.NodeSurvey {
		executor := rollout.NewInProcess()
		defer func() { _ = executor.Close() }() // nothing is lost with a connection that closes badly after its last answer
		return rollout.Survey(ctx, nodes, items, s.Name, rollout.Options{Executor: executor, Parallelism: parallelism})
	}
	now := slices.Clone(s.Nodes)
	corrected := map[string]bool{}
	for i, n := range s.Nodes {
		now[i], corrected[n.Name] = d.provider.Planned.of(n)
	}
	before, now := d.provider.reach(s.Nodes, types.StringNull()), d.provider.reach(now, types.StringNull())
	found := look(now)
	var again []site.Node
	for i, n := range before {
		survey, moved := found[n.Name], now[i].Place() != n.Place()
		switch {
		case !corrected[n.Name]:
		case moved && !past.reached(n.Name):
			found[n.Name] = rollout.NodeSurvey{Reachable: survey.Reachable, Error: survey.Error}
		case survey.Error != nil, moved && !survey.Identity.Same(past.Machines[n.Name]):
			again = append(again, n)
		}
	}
	if len(again) == 0 {
		return found
	}
	for name, survey := range look(again) {
		if survey.Error == nil || found[name].Error == nil { // what the corrected connection says is of more use
			found[name] = survey
		}
	}
	return found
}

// warnOfCreation explains the plan that follows a creation that failed: Terraform holds the deployment for tainted, and says that it must be replaced.
func warnOfCreation(state deploymentModelV1) (diags diag.Diagnostics) {
	status := state.Status.ValueString()
	if status != statusFailed && status != statusInterrupted || state.Steps.IsNull() || len(state.Steps.Elements()) > 0 { // see Create
		return nil
	}
	byStage := map[string][]string{}
	for node, stage := range state.NodeStatus.Elements() {
		if s, ok := stage.(types.String); ok {
			byStage[s.ValueString()] = append(byStage[s.ValueString()], node)
		}
	}
	var stand strings.Builder
	for _, stage := range sortedKeys(byStage) {
		nodes := byStage[stage]
		slices.Sort(nodes)
		are, more := "nodes are", ""
		if len(nodes) == 1 {
			are = "node is"
		}
		if rest := len(nodes) - namesTold; rest > 0 {
			nodes, more = nodes[:namesTold], fmt.Sprintf(" and %d more", rest)
		}
		fmt.Fprintf(&stand, "%d %s %s (%s%s).\n", len(byStage[stage]), are, stage, strings.Join(nodes, ", "), more)
	}
	diags.AddWarning("The creation of the site did not finish", stand.String()+
		"\nTerraform calls the deployment tainted and says that it must be replaced. Nothing is torn down for that: the next apply continues the creation. It checks what is applied "+
		"already and does what is missing; the plan shows the whole creation. After \"terraform untaint\" the plan is an update and shows what is left. Only \"terraform destroy\" tears the site down."+
		"\n\nLeave site as it is until the creation has finished: under another name a new site begins, and what is applied stays on the nodes as it is.")
	return diags
}

// desiredOf returns the site of a state and the tasks of its nodes, or what is wrong with it, a line each.
func (d *Deployment) desiredOf(ctx context.Context, state deploymentModelV1, past memory) (s site.Site, desired map[string][]task.Task, mistakes string) {
	s, _, diags := state.Value(ctx)
	if errs := diags.Errors(); len(errs) > 0 {
		lines := make([]string, len(errs))
		for i, e := range errs {
			lines[i] = e.Detail()
		}
		return s, nil, strings.Join(lines, "\n")
	}
	s.Nodes = past.reaching(s.Nodes)
	s.Values = past.of(s).Values
	transition, problems := services.Unchanged(past.Services, s)
	s = transition.Site()
	desired, more := d.provider.Runs.memory(s.Name).Desired(s)
	return s, desired, append(problems, more...).Errors().Error()
}

// adopt takes what the journal knows better of services: a run that was killed could not report to Terraform (lsm.md 20, "recovery at start-up").
func (d *Deployment) adopt(ctx context.Context, state *deploymentModelV1, past *memory) (diags diag.Diagnostics) {
	journaled, err := d.seen(ctx, state.Site.ValueString())
	if err != nil {
		diags.AddWarning("The journal cannot be read", err.Error()+"\n\nServices count as they are in the state.")
		return diags
	}
	journaled = slices.DeleteFunc(journaled, func(s services.JournalRecord) bool { return !past.Services.Newer(s) })
	if len(journaled) == 0 {
		return nil
	}
	past.Services = past.Services.Merge(journaled)
	transition, _ := services.Unchanged(past.Services, site.Site{Name: state.Site.ValueString()}) // what cannot be read is reported by the plan
	before := state.ServiceValues
	state.setServices(transition, nil, nil)
	state.ServiceValues = before
	return nil
}

// driftOn returns what of the tasks is applied on a node and no longer as it should be. What is not applied in its present form is work
// of the next plan, not drift.
func driftOn(node string, survey rollout.NodeSurvey, tasks []task.Task) []driftModel {
	current := make(map[planresource.ID]bool, len(tasks))
	for _, t := range tasks {
		current[t.Resource.ID()] = survey.Ledger[t.Resource.ID()] == t.Digest
	}
	var out []driftModel
	for _, item := range survey.Drift {
		if !current[item.ID] {
			continue
		}
		out = append(out, driftModel{
			Node: types.StringValue(node), Resource: types.StringValue(string(item.ID)), Change: types.StringValue(change(item)),
		})
	}
	return out
}

// change says in one line what differs, and shows a text that does below it.
func change(item rollout.DriftItem) string {
	parts := make([]string, 0, len(item.Differences)+1)
	for _, d := range item.Differences {
		parts = append(parts, d.String())
	}
	if item.Message != "" {
		parts = append(parts, item.Message)
	}
	return strings.TrimSuffix(strings.Join(parts, "; ")+"\n"+item.Diff, "\n")
}

// reasons lists why nodes could not be reached, a line each, sorted, at most 20. The same reason on many nodes is one line.
func reasons(of map[string]error) string {
	alike := rollout.SaidAlike(sortedKeys(of), func(node string) string { return of[node].Error() })
	lines := make([]string, len(alike))
	for i, a := range alike {
		lines[i] = a.Who() + ": " + a.Reason
	}
	return strings.Join(firstLines(lines), "\n") + "\n"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
