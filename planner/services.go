package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Brought tells which service brings what to the nodes: node -> resource -> service.
type Brought map[string]map[resource.ID]string

// BroughtBy returns what the services of a site bring to its nodes, callbacks left out. With an error among the problems it is nil.
func (m *Memory) BroughtBy(s site.Site) (Brought, site.Problems) {
	return m.model(s, nil).brought()
}

func (m *model) brought() (Brought, site.Problems) {
	if len(m.problems.Errors()) > 0 {
		return nil, m.problems
	}
	out := make(Brought, len(m.wanted))
	for node, c := range m.wanted {
		out[node] = make(map[resource.ID]string, len(c.tasks))
		for i, t := range c.tasks {
			if t.Kind != task.Callback && t.Service != "" {
				out[node][c.ids[i]] = t.Service
			}
		}
	}
	return out, nil
}

// Add adds what others bring that nobody brings yet.
func (b Brought) Add(other Brought) {
	for node, ids := range other {
		if b[node] == nil {
			b[node] = make(map[resource.ID]string, len(ids))
		}
		for id, service := range ids {
			if _, there := b[node][id]; !there {
				b[node][id] = service
			}
		}
	}
}

// service returns the service that a task of a plan is for: for a removal the one that brought the resource. It is empty for none.
func (b Brought) service(t task.Task) string {
	if t.Service == "" && t.Action == task.Remove {
		return b[t.Node][t.Resource.ID()]
	}
	return t.Service
}

// ByService returns the tasks of a plan by the service that they are for. before is what services brought until now: what of it is removed counts for them.
func (p *Plan) ByService(before Brought) map[string][]task.Task {
	out := make(map[string][]task.Task)
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			if name := before.service(t); name != "" {
				out[name] = append(out[name], t)
			}
		}
	}
	return out
}

// MakeFor is [Make] for some services only: the plan holds what is to be done for them, with what they brought before, and leaves all other
// work for the next plan. Nodes that left the site, and actions of plugins, are other work.
func (m *Memory) MakeFor(s site.Site, applied Applied, services map[string]bool, before Brought) (*Plan, site.Problems) {
	model := m.model(s, applied)
	model.concerns = func(t task.Task) bool { return services[before.service(t)] }
	return model.make(applied, nil)
}
