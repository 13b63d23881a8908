package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Former knows what a site wanted before a plan. The zero value knows nothing.
type Former struct{ wanted map[string]*taskList }

// FormerOf returns what a site wants on its nodes. With an error among the errors the result is empty.
func (c *Cache) FormerOf(s site.Site) (Former, invalid.Errors) {
	d, errs := c.desire(s, nil, undecided)
	if len(errs.Errors()) > 0 {
		return Former{}, errs
	}
	return Former{d.wanted}, nil
}

// OwnersOf returns the services of each resource on the nodes of a site. Callbacks are left out. With an error among
// the errors it is nil.
func (c *Cache) OwnersOf(s site.Site) (Owners, invalid.Errors) {
	d, errs := c.desire(s, nil, undecided)
	if len(errs.Errors()) > 0 {
		return nil, errs
	}
	out := make(Owners, len(d.wanted))
	for node, l := range d.wanted {
		out[node] = make(map[resource.ID][]string, len(l.tasks))
		for i, t := range l.tasks {
			if owners := t.Owners(); t.Kind != task.Callback && len(owners) > 0 {
				out[node][l.ids[i]] = owners
			}
		}
	}
	return out, nil
}

// formerly returns what was wanted of the resource of a task; known is false where it was not.
func (f Former) formerly(t task.Task) (was task.Task, known bool) {
	if l := f.wanted[t.Node]; l != nil {
		if i, there := l.index[t.Resource.ID()]; there {
			return l.tasks[i], true
		}
	}
	return was, false
}

// Since records in the plan which overrides changed or created a resource before and no longer do, for each resource
// that the plan updates or removes (fuel.md F-10), and which removals another title of the same object takes over.
// applied is what the plan was made from.
func (p *Plan) Since(before Former, applied Applied) {
	types := schema.Types()
	heirs := p.heirs(types)
	for _, phase := range p.Phases {
		for i := range phase.Tasks {
			t := &phase.Tasks[i]
			if t.Action != task.Update && t.Action != task.Remove {
				continue
			}
			t.Overrode = nil
			was, known := before.formerly(*t)
			for _, name := range was.Override {
				if !slices.Contains(t.Override, name) {
					t.Overrode = append(t.Overrode, name)
				}
			}
			if known && t.Action == task.Remove && was.Digest == applied[t.Node][t.Resource.ID()] {
				if o, has := objectOf(types, t.Node, was.Resource); has {
					t.TakenOver = heirs[o]
				}
			}
		}
	}
}

// object is what a resource looks after on a node, and how its undo depends on it.
type object struct{ node, typ, name, aim string }

// objectOf returns the object of a resource; has is false where its title says all.
func objectOf(types map[string]resource.Schema, node string, r resource.Resource) (o object, has bool) {
	target := types[r.Type].Target
	if target == nil {
		return o, false
	}
	name, aim := target(r)
	return object{node, r.Type, name, aim}, name != ""
}

// heirs returns what the resources that the plan creates look after. A node lets them take over what another title has
// there.
func (p *Plan) heirs(types map[string]resource.Schema) map[object]bool {
	out := make(map[object]bool)
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			if t.Action == task.Create && !t.Resource.Noop() {
				if o, has := objectOf(types, t.Node, t.Resource); has {
					out[o] = true
				}
			}
		}
	}
	return out
}
