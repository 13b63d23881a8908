package resources

import (
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What a plan shows of a run. Terraform prints no attribute, and no element of a list or map, that equals the state's;
// so every line begins with the number of its run, and a changed node carries it. What stays as it is has its old
// value, and is not printed (design.md 10).

// setUnknown marks everything that a run determines as known after apply.
func (m *deploymentModelV1) setUnknown() {
	m.Run, m.Digest, m.Status = types.Int64Unknown(), types.StringUnknown(), types.StringUnknown()
	m.Steps, m.LastRunSteps, m.Unreachable = types.ListUnknown(types.StringType), types.ListUnknown(types.StringType),
		types.ListUnknown(types.StringType)
	m.Drift = types.ListUnknown(driftType)
	m.ChangedNodes = types.MapUnknown(types.Int64Type)
	m.GroupStatus, m.NodeStatus = types.MapUnknown(types.StringType), types.MapUnknown(types.StringType)
	m.ServiceStatus, m.ServiceValues = types.MapUnknown(serviceStatusType), types.MapUnknown(serviceValuesType)
}

// keepComputed takes everything computed from the prior state: nothing is to be done.
func (m *deploymentModelV1) keepComputed(prior deploymentModelV1) {
	m.keepRun(prior)
	m.Digest, m.Drift = prior.Digest, prior.Drift
	m.Status, m.GroupStatus, m.NodeStatus, m.Unreachable = prior.Status, prior.GroupStatus, prior.NodeStatus,
		prior.Unreachable
	m.ServiceStatus, m.ServiceValues = prior.ServiceStatus, prior.ServiceValues
}

// keepRun takes over what the prior state has of the last run.
func (m *deploymentModelV1) keepRun(prior deploymentModelV1) {
	m.Run, m.Steps, m.LastRunSteps, m.ChangedNodes = prior.Run, prior.Steps, prior.LastRunSteps, prior.ChangedNodes
}

// setPlan shows what is done and, where it is certain, how it ends.
func (m *deploymentModelV1) setPlan(w *engine.Planned, prior *deploymentModelV1) {
	m.setUnknown()
	m.Digest = types.StringValue(w.Plan.Digest)
	m.Drift = types.ListValueMust(driftType, []attr.Value{})
	moving := w.Services.Changing()
	m.setServices(w.Services, w.Site.Values, w.Returning())
	switch {
	case prior == nil || prior.Nodes.IsNull(): // what the ledgers have comes on top, and services that only a journal has
		m.ServiceStatus = types.MapUnknown(serviceStatusType)
		if prior == nil {
			m.ServiceValues, prior = types.MapUnknown(serviceValuesType), &deploymentModelV1{}
		}
		m.number(w, *prior)
		return
	case w.Plan.Empty() && len(moving) == 0:
		m.keepRun(*prior)
	default:
		m.number(w, *prior)
	}
	m.foresee(w, moving)
}

// number gives the run its number, and shows its steps and the nodes that it changes.
func (m *deploymentModelV1) number(w *engine.Planned, prior deploymentModelV1) {
	run := prior.Run.ValueInt64() + 1
	m.Run = types.Int64Value(run)
	m.Steps = stringList(numbered(run, append(w.Services.Steps(), w.Plan.Lines()...)))
	changed := make(map[string]attr.Value)
	for _, name := range w.Plan.ChangedNodes() {
		changed[name] = m.Run
	}
	members := make(map[string]bool)
	for _, g := range w.Plan.Groups {
		for _, name := range g.Members {
			members[name] = true
		}
	}
	m.ChangedNodes = types.MapValueMust(types.Int64Type, lastRuns(prior, w.Site.Nodes, members, changed,
		w.Plan.TornDown()))
}

// lastRuns returns the number of the last run for each node that is a member of a group, or has one and is in the site.
// Which nodes these are depends on nothing that the run does, so that it is known before everything else is. A node
// that is torn down leaves the map, which prints it; one that was given up is not in it.
func lastRuns[V any](prior deploymentModelV1, nodes []site.Node, members map[string]V, changed map[string]attr.Value,
	torn []string,
) map[string]attr.Value {
	before := prior.ChangedNodes.Elements()
	out := make(map[string]attr.Value, len(nodes))
	for _, n := range nodes {
		number, has := before[n.Name]
		_, member := members[n.Name]
		switch now, is := changed[n.Name]; {
		case !has && !member:
		case is:
			out[n.Name] = now
		case has:
			out[n.Name] = number
		default:
			out[n.Name] = types.Int64Value(0)
		}
	}
	for _, name := range torn {
		delete(out, name)
	}
	return out
}

// numbered puts the number of the run and its own in front of every line: `8.1 ntp-node: prepare 1 node (ntp1)`.
func numbered(run int64, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = fmt.Sprintf("%d.%d %s", run, i+1, line)
	}
	return out
}

// foresee shows how nodes, groups and services stand after the run, as far as it has nothing to do with them.
func (m *deploymentModelV1) foresee(w *engine.Planned, moving map[string]bool) {
	if ends, err := rollout.Foresee(w.Deployed, w.Plan, w.Busy()); err == nil { // what is wrong with groups, the plan says
		m.NodeStatus, m.GroupStatus = stringMap(ends.Nodes), stringMap(ends.Groups)
	}
	for service := range w.Plan.ByService(w.Owners) {
		moving[service] = true
	}
	statuses := maps.Clone(m.ServiceStatus.Elements())
	for service := range moving {
		// whether it is still there then is not certain
		if _, there := statuses[service]; !w.Services.Wanted(service) && there {
			m.ServiceStatus = types.MapUnknown(serviceStatusType)
			return
		}
		if w.Services.Wanted(service) {
			statuses[service] = types.ObjectUnknown(serviceStatusType.AttrTypes)
		}
	}
	m.ServiceStatus = types.MapValueMust(serviceStatusType, statuses)
}
