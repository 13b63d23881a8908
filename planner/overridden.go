package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

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
