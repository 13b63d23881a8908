package planner

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// selection is the services of a plan for some services only, and the owners before it.
type selection struct {
	services map[string]bool
	before   Owners
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

// stays returns what the selected services would change, and others keep.
func (s *selection) stays(d *desired) (out []Stay) {
	for _, node := range slices.Sorted(maps.Keys(d.wanted)) {
		l := d.wanted[node]
		for i, t := range l.tasks {
			id, owners := l.ids[i], t.Owners()
			others := slices.DeleteFunc(slices.Clone(owners), s.has)
			concerned := slices.DeleteFunc(slices.Clone(s.before[node][id]), func(name string) bool {
				return s.hasNot(name) || !l.disputed[id] && t.OwnedBy(name)
			})
			if len(others) > 0 && len(concerned) > 0 {
				out = append(out, Stay{node, id, concerned, others})
			}
		}
	}
	return out
}
