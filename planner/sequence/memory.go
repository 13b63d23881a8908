package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// entry is a task on its way into a scope.
type entry struct {
	*Work
	kept    bool // it stands in the plan as it was remembered
	applied bool // it is remembered, and need not run again
	skip    bool // it orders the others and is then left out (litp.md 123)
}

// memory is what earlier plans applied.
type memory struct {
	works map[resourceOn]*Work // config tasks
	known map[string]*Work     // by id, what remembered tasks mean when they require it, callbacks too
	plan  map[string]*Work
	equal map[[2]*Work]bool // of a task and an older version; true while it is being looked at: a cycle is told later
}

func newMemory(remembered, stale, lost, works []Work) *memory {
	m := &memory{
		works: make(map[resourceOn]*Work, len(remembered)), known: make(map[string]*Work, len(remembered)+len(stale)),
		plan: make(map[string]*Work, len(works)), equal: make(map[[2]*Work]bool),
	}
	for i := range remembered {
		w := &remembered[i]
		m.known[w.ID] = w
		if w.config() {
			m.works[w.where()] = w
		}
	}
	for i := range stale {
		m.known[stale[i].ID] = &stale[i]
	}
	for i := range lost { // a remembered task can require one that failed since
		if w := &lost[i]; m.known[w.ID] == nil {
			m.known[w.ID] = w
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
	return old != nil && m.equals(w, old)
}

// equals compares a task with an older version of it. Callbacks and remote tasks are what they do and on which item; what a remote task
// requires does not count (litp.md 55).
func (m *memory) equals(w, old *Work) bool {
	if w.Kind != old.Kind || w.Item != old.Item || w.Digest != old.Digest {
		return false
	}
	switch {
	case w.Kind == task.Remote:
		return w.Action == old.Action
	case w.config() && (w.Future || old.Future || w.Transient != old.Transient || w.where() != old.where()),
		!w.config() && (w.Action != old.Action || w.Source != old.Source):
		return false
	}
	pair := [2]*Work{w, old}
	if equal, known := m.equal[pair]; known {
		return equal
	}
	m.equal[pair] = true
	m.equal[pair] = m.sameRequirements(w, old)
	return m.equal[pair]
}

func (m *memory) sameRequirements(w, old *Work) bool {
	if !slices.Equal(w.Requires, old.Requires) && !sameSet(w.Requires, old.Requires) {
		return false
	}
	for _, r := range w.Requires {
		required, before := m.plan[r.Task], m.known[r.Task]
		if required == nil || r.Task == "" {
			continue
		}
		if before == nil {
			before = m.twin(required) // of another id
		}
		if before != nil && !m.equals(required, before) {
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
	m := newMemory(p.Remembered, p.Stale, p.Lost, p.works)
	p.memory = m
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
			out = append(out, entry{Work: old, kept: true, applied: true, skip: true})
		case m.same(w) && w.Group == old.Group:
			applied := p.model.determinable(old)
			out = append(out, entry{Work: w, kept: true, applied: applied, skip: applied})
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
