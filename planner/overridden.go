package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Overridden tells which overrides change or make the resources of a site. The zero Overridden knows of none.
type Overridden struct{ wanted map[string]*catalog }

// OverriddenBy returns what the overrides of a site change or make on its nodes. With an error among the problems that is nothing.
func (m *Memory) OverriddenBy(s site.Site) (Overridden, site.Problems) {
	model := m.model(s, nil)
	if len(model.problems.Errors()) > 0 {
		return Overridden{}, model.problems
	}
	return Overridden{model.wanted}, nil
}

// of returns the overrides that change or make the resource of a task.
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

// Since has the plan tell which overrides changed or made a resource that it changes or removes before, and no longer do (fuel.md F-10).
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
