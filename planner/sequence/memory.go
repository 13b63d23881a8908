package sequence

import (
	"slices"
)

// entry is a task on its way into a scope.
type entry struct {
	*Work
	applied bool // it is remembered, and need not run again
	skip    bool // it orders the others and is then left out (litp.md 123)
}

// memory is what earlier plans applied.
type memory struct {
	works   map[resourceOn]*Work // config tasks
	equal   map[string]bool      // by id of a returned task: whether it equals the one remembered; filled as asked
	plan    map[string]*Work
	ran     map[string]*Work // remembered tasks by id, callbacks too
	pending map[string]bool  // equality that is being looked at
}

func newMemory(remembered, works []Work) *memory {
	m := &memory{
		works: make(map[resourceOn]*Work, len(remembered)), equal: make(map[string]bool), plan: make(map[string]*Work, len(works)),
		ran: make(map[string]*Work, len(remembered)), pending: make(map[string]bool),
	}
	for i := range remembered {
		w := &remembered[i]
		m.ran[w.ID] = w
		if w.config() {
			m.works[w.where()] = w
		}
	}
	if len(remembered) > 0 {
		for i := range works {
			m.plan[works[i].ID] = &works[i]
		}
	}
	return m
}

// twin returns the remembered task for the same resource of the same node.
func (m *memory) twin(w *Work) *Work {
	if !w.config() {
		return nil
	}
	return m.works[w.where()]
}

// same reports whether a config task equals its remembered twin: what it is, and what it requires, which must be the same too (litp.md
// 54, 125). A task with a value that is read later equals nothing.
func (m *memory) same(w *Work) bool {
	old := m.twin(w)
	if old == nil || w.Future || old.Future || w.Item != old.Item || w.Digest != old.Digest || w.Transient != old.Transient {
		return false
	}
	if equal, known := m.equal[w.ID]; known {
		return equal
	}
	if m.pending[w.ID] { // a cycle, which is told later
		return true
	}
	m.pending[w.ID] = true
	equal := m.sameRequirements(w, old)
	delete(m.pending, w.ID)
	m.equal[w.ID] = equal
	return equal
}

func (m *memory) sameRequirements(w, old *Work) bool {
	if !slices.Equal(w.Requires, old.Requires) && !sameSet(w.Requires, old.Requires) {
		return false
	}
	for _, r := range w.Requires {
		if required := m.plan[r.Task]; r.Task != "" && required != nil && required.config() && m.twin(required) != nil && !m.same(required) {
			return false
		}
	}
	return true
}

func sameSet(a, b []Requirement) bool {
	in := func(list []Requirement) func(Requirement) bool {
		set := make(map[Requirement]bool, len(list))
		for _, r := range list {
			set[r] = true
		}
		return func(r Requirement) bool { return !set[r] }
	}
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// merge joins remembered and new tasks (litp.md 122): remembered ones first, in their order.
func (p *pipeline) merge() []entry {
	m := newMemory(p.Remembered, p.works)
	returned := make(map[resourceOn]*Work, len(p.works))
	for i := range p.works {
		if w := &p.works[i]; w.config() {
			returned[w.where()] = w
		}
	}
	replaced := make(map[*Work]bool)
	out := make([]entry, 0, len(p.works)+len(p.Remembered))
	for i := range p.Remembered {
		old := &p.Remembered[i]
		if !old.config() {
			continue
		}
		w := returned[old.where()]
		switch {
		case w == nil:
			out = append(out, entry{Work: old, applied: true, skip: true})
		case m.same(w) && w.Group == old.Group:
			applied := p.model.determinable(old)
			out = append(out, entry{Work: w, applied: applied, skip: applied})
			replaced[w] = true
		}
	}
	for i := range p.works {
		if w := &p.works[i]; !replaced[w] {
			out = append(out, entry{Work: w, skip: p.model.determinable(w) && m.same(w)})
		}
	}
	return out
}
