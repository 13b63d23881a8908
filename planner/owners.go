package planner

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Owners are the services that each resource belongs to, sorted: node -> resource -> services.
type Owners map[string]map[resource.ID][]string

// Add adds the owners of other.
func (b Owners) Add(other Owners) {
	for node, ids := range other {
		if b[node] == nil {
			b[node] = make(map[resource.ID][]string, len(ids))
		}
		for id, services := range ids {
			b[node][id] = distinct(slices.Concat(b[node][id], services))
		}
	}
}

// On returns the services that own anything on a node, sorted.
func (b Owners) On(node string) []string {
	return distinct(slices.Concat(slices.Collect(maps.Values(b[node]))...))
}

// of returns the services that a task of a plan belongs to: for a removal, the owners of the resource. It is empty when
// there are none.
func (b Owners) of(t task.Task) []string {
	if t.Service == "" && t.Action == task.Remove {
		return b[t.Node][t.Resource.ID()]
	}
	return t.Owners()
}

// ByService returns the tasks of a plan by the service that they belong to, a shared one by each. before is the owners
// before the plan; it decides to which services a removal belongs.
func (p *Plan) ByService(before Owners) map[string][]task.Task {
	out := make(map[string][]task.Task)
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			for _, name := range before.of(t) {
				out[name] = append(out[name], t)
			}
		}
	}
	return out
}

// WaitingServices returns the services of which tasks wait for approval, with an empty name where a removal waits of
// which nobody knows whose it is. before is the owners before the plan, as for [Plan.ByService].
func (p *Plan) WaitingServices(before Owners) map[string]bool {
	out := make(map[string]bool)
	for _, t := range p.Later {
		owners := before.of(t)
		for _, name := range owners {
			out[name] = true
		}
		if len(owners) == 0 && t.Action == task.Remove {
			out[""] = true
		}
	}
	return out
}
