package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Owners is the service that each resource belongs to: node -> resource -> service.
type Owners map[string]map[resource.ID]string

// OwnersOf returns the service of each resource on the nodes of a site. Callbacks are left out. With an error among the
// errors it is nil.
func (c *Cache) OwnersOf(s site.Site) (Owners, invalid.Errors) {
	d, errs := c.desire(s, nil)
	if len(errs.Errors()) > 0 {
		return nil, errs
	}
	out := make(Owners, len(d.wanted))
	for node, l := range d.wanted {
		out[node] = make(map[resource.ID]string, len(l.tasks))
		for i, t := range l.tasks {
			if t.Kind != task.Callback && t.Service != "" {
				out[node][l.ids[i]] = t.Service
			}
		}
	}
	return out, nil
}

// Add adds the resources of other that have no owner yet.
func (b Owners) Add(other Owners) {
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

// service returns the service that a task of a plan belongs to: for a removal, the owner of the resource. It is empty
// when there is none.
func (b Owners) service(t task.Task) string {
	if t.Service == "" && t.Action == task.Remove {
		return b[t.Node][t.Resource.ID()]
	}
	return t.Service
}

// ByService returns the tasks of a plan by the service that they belong to. before is the owners before the plan; it
// decides to which service a removal belongs.
func (p *Plan) ByService(before Owners) map[string][]task.Task {
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

// MakeFor is [Make] for some services only: the plan holds the tasks of these services, with the removal of what they
// owned before, and leaves everything else to the next plan. Nodes that left the site, and actions of plugins, belong
// to no service.
func (c *Cache) MakeFor(s site.Site, applied Applied, services map[string]bool, before Owners) (*Plan, invalid.Errors) {
	return c.make(s, applied, nil, func(t task.Task) bool { return services[before.service(t)] })
}

// Overridden knows which overrides change or create the resources of a site. The zero value knows none.
type Overridden struct{ wanted map[string]*taskList }

// OverriddenBy returns which overrides change or create resources on the nodes of a site. With an error among the
// errors the result is empty.
func (c *Cache) OverriddenBy(s site.Site) (Overridden, invalid.Errors) {
	d, errs := c.desire(s, nil)
	if len(errs.Errors()) > 0 {
		return Overridden{}, errs
	}
	return Overridden{d.wanted}, nil
}

// of returns the overrides that change or create the resource of a task.
func (o Overridden) of(t task.Task) []string {
	c := o.wanted[t.Node]
	if c == nil {
		return nil
	}
	if i, ok := c.index[t.Resource.ID()]; ok {
		return c.tasks[i].Override
	}
	return nil
}

// Since records in the plan which overrides changed or created a resource before and no longer do, for each resource
// that the plan updates or removes (fuel.md F-10).
func (p *Plan) Since(before Overridden) {
	for _, phase := range p.Phases {
		for i := range phase.Tasks {
			t := &phase.Tasks[i]
			if t.Action != task.Update && t.Action != task.Remove {
				continue
			}
			t.Overrode = nil
			for _, name := range before.of(*t) {
				if !slices.Contains(t.Override, name) {
					t.Overrode = append(t.Overrode, name)
				}
			}
		}
	}
}
