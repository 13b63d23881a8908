package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// selection is the services of a plan for some services only, the owners before it, and what was applied before the
// run.
type selection struct {
	services map[string]bool
	before   Owners
	formerly Applied
}

func (s *selection) has(service string) bool { return s.services[service] }

func (s *selection) hasNot(service string) bool { return !s.services[service] }

// includes reports whether a task is one of the selected services. One that others own, too, is not, unless it removes
// what nobody wants any more.
func (s *selection) includes(t task.Task) bool {
	owners := s.before.of(t)
	if t.Action == task.Remove {
		return slices.ContainsFunc(owners, s.has)
	}
	return len(owners) > 0 && !slices.ContainsFunc(owners, s.hasNot)
}

// stays returns what the selected services would change, and others keep, and what these services alone want in unequal
// forms: that is settled. applied is what is applied now.
func (s *selection) stays(d *desired, applied Applied) (out []Stay) {
	for _, node := range slices.Sorted(maps.Keys(d.wanted)) {
		l := d.wanted[node]
		for i, t := range l.tasks {
			id, owners := l.ids[i], t.Owners()
			others := slices.DeleteFunc(slices.Clone(owners), s.has)
			concerned := slices.DeleteFunc(slices.Clone(s.before[node][id]), func(name string) bool {
				return s.hasNot(name) || l.disputed[id] == nil && t.OwnedBy(name)
			})
			if len(others) > 0 && len(concerned) > 0 {
				out = append(out, Stay{Node: node, Resource: id, Services: concerned, Others: others})
			}
			if len(others) == 0 && l.disputed[id] != nil {
				out = append(out, s.settle(d, node, i, applied)...)
			}
		}
	}
	return out
}

// settle decides which of unequal forms of a resource counts on a node: the one that was applied before the run. Where
// that is none of them, the resource stays as it is.
func (s *selection) settle(d *desired, node string, at int, applied Applied) []Stay {
	l := *d.wanted[node] // other nodes may share it
	l.tasks = slices.Clone(l.tasks)
	d.wanted[node] = &l
	t, id, forms := &l.tasks[at], l.ids[at], make(map[string]task.Task)
	for _, form := range l.disputed[id] {
		if form, errs := d.rendered(form, d.nodesByName[node]); len(errs) == 0 {
			forms[form.Digest] = form
		}
	}
	if len(forms) < 2 {
		return nil // they differ in their order on the node, or in how they run
	}
	was, known := s.formerly[node][id]
	now, there := applied[node][id]
	form, wanted := forms[strings.TrimPrefix(was, resource.Watched)]
	if wanted {
		t.Resource, t.Digest, t.Pending, t.Awaited = form.Resource, form.Digest, form.Pending, form.Awaited
	} else {
		l.left = append(slices.Clip(l.left), id)
	}
	return []Stay{{Node: node, Resource: id, Services: t.Owners(), Formerly: wanted || known == there && was == now}}
}
