package resources

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// What a plan shows of a run. Terraform prints no attribute, and no element of a list or map, that equals the state's; so every line begins with the number of its
// run, and a changed node carries it. What stays as it is has its old value, and is not printed (design.md 10).

// setUnknown marks everything that a run determines as known after apply.
func (m *deploymentModelV1) setUnknown() {
	m.Run, m.Digest, m.Status = types.Int64Unknown(), types.StringUnknown(), types.StringUnknown()
	m.Steps, m.LastRunSteps, m.Unreachable = types.ListUnknown(types.StringType), types.ListUnknown(types.StringType), types.ListUnknown(types.StringType)
	m.Drift = types.ListUnknown(driftType)
	m.ChangedNodes = types.MapUnknown(types.Int64Type)
	m.GroupStatus, m.NodeStatus = types.MapUnknown(types.StringType), types.MapUnknown(types.StringType)
	m.ServiceStatus, m.ServiceValues = types.MapUnknown(serviceStatusType), types.MapUnknown(serviceValuesType)
}

// keepComputed takes everything computed from the prior state: nothing is to be done.
func (m *deploymentModelV1) keepComputed(prior deploymentModelV1) {
	m.keepRun(prior)
	m.Digest, m.Drift = prior.Digest, prior.Drift
	m.Status, m.GroupStatus, m.NodeStatus, m.Unreachable = prior.Status, prior.GroupStatus, prior.NodeStatus, prior.Unreachable
	m.ServiceStatus, m.ServiceValues = prior.ServiceStatus, prior.ServiceValues
}

// keepRun takes over what the prior state has of the last run.
func (m *deploymentModelV1) keepRun(prior deploymentModelV1) {
	m.Run, m.Steps, m.LastRunSteps, m.ChangedNodes = prior.Run, prior.Steps, prior.LastRunSteps, prior.ChangedNodes
}

// setPlan shows what is done and, where it is certain, how it ends.
func (m *deploymentModelV1) setPlan(w *work, prior *deploymentModelV1) {
	m.setUnknown()
	m.Digest = types.StringValue(w.plan.Digest)
	m.Drift = types.ListValueMust(driftType, []attr.Value{})
	moving := w.turn.Moving()
	m.setServices(w.turn, w.desired.Values, w.returning())
	switch {
	case prior == nil || prior.Nodes.IsNull(): // what the ledgers have comes on top, and services that only a journal has
		m.ServiceStatus = types.MapUnknown(serviceStatusType)
		if prior == nil {
			m.ServiceValues, prior = types.MapUnknown(serviceValuesType), &deploymentModelV1{}
		}
		m.number(w, *prior)
		return
	case w.plan.Empty() && len(moving) == 0:
		m.keepRun(*prior)
	default:
		m.number(w, *prior)
	}
	m.foresee(w, moving)
}

// number gives the run its number, and shows its steps and the nodes that it changes. A node that it tears down leaves the map, which prints it; one that is not in the map is printed
// by coming into it.
func (m *deploymentModelV1) number(w *work, prior deploymentModelV1) {
	run := prior.Run.ValueInt64() + 1
	m.Run = types.Int64Value(run)
	m.Steps = stringList(numbered(run, append(w.turn.Steps(), w.plan.Lines()...)))
	nodes := maps.Clone(prior.ChangedNodes.Elements())
	if nodes == nil {
		nodes = map[string]attr.Value{}
	}
	gone := w.plan.TornDown()
	for _, name := range w.plan.ChangedNodes() {
		_, torn := slices.BinarySearch(gone, name)
		if _, before := nodes[name]; torn && before {
			delete(nodes, name)
		} else {
			nodes[name] = m.Run
		}
	}
	inSite := make(map[string]bool, len(w.desired.Nodes))
	for _, n := range w.desired.Nodes {
		inSite[n.Name] = true
	}
	maps.DeleteFunc(nodes, func(name string, number attr.Value) bool { return !inSite[name] && !number.Equal(m.Run) })
	m.ChangedNodes = types.MapValueMust(types.Int64Type, nodes)
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
func (m *deploymentModelV1) foresee(w *work, moving map[string]bool) {
	busy := make(map[string]bool) // a service that moves may be deployed a second time, wherever it brings anything
	for node, brought := range w.brought {
		for _, service := range brought {
			busy[node] = busy[node] || moving[service]
		}
	}
	if ends, err := rollout.Foresee(w.deployed, w.plan, busy); err == nil { // what is wrong with groups, the plan says
		m.NodeStatus, m.GroupStatus = stringMap(ends.Nodes), stringMap(ends.Groups)
	}
	for service := range w.plan.ByService(w.brought) {
		moving[service] = true
	}
	statuses := maps.Clone(m.ServiceStatus.Elements())
	for service := range moving {
		if _, there := statuses[service]; !w.turn.Wanted(service) && there { // whether it is still there then is not certain
			m.ServiceStatus = types.MapUnknown(serviceStatusType)
			return
		}
		if w.turn.Wanted(service) {
			statuses[service] = types.ObjectUnknown(serviceStatusType.AttrTypes)
		}
	}
	m.ServiceStatus = types.MapValueMust(serviceStatusType, statuses)
}
