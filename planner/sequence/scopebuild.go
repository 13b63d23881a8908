package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// scopeBuild is the tasks of one scope while their requirements are found.
type scopeBuild struct {
	*Scope
	entries  []entry
	works    []*Work // the tasks themselves
	sides    []Side
	paths    []string // by which the model orders: the item's, or that of its alias
	explicit [][]int32
	lost     [][]int32 // requirements as written that cannot be kept
}

// builder makes the scopes of one schedule.
type builder struct {
	*pipeline
	alias    map[string]string // resources of remembered tasks that another task has now: old id -> new id
	schedule *Schedule
}

// scope orders the tasks of one scope and returns its phases.
func (b *builder) scope(entries []entry) [][]Work {
	if len(entries) == 0 {
		return nil
	}
	s := b.newScope(entries)
	b.addExplicit(s)
	b.addFirst(s)
	b.addModel(s)
	phases, cycles := s.Phases()
	for _, cycle := range cycles {
		ids := make([]string, len(cycle))
		for i, at := range cycle {
			ids[i] = s.works[at].ID
		}
		b.problems = append(b.problems, cyclic(ids))
	}
	out := make([][]Work, len(phases))
	for i, phase := range phases {
		out[i] = make([]Work, len(phase))
		for j, at := range phase {
			out[i][j] = *s.works[at]
		}
	}
	return out
}

func (b *builder) newScope(entries []entry) *scopeBuild {
	n := len(entries)
	s := &scopeBuild{
		entries: entries, works: make([]*Work, n), sides: make([]Side, n), paths: make([]string, n),
		explicit: make([][]int32, n), lost: make([][]int32, n),
	}
	places := make([]Place, n)
	for i, e := range entries {
		s.works[i] = e.Work
		side := b.side(e.Work)
		side.Removes = side.Removes && !e.applied
		s.sides[i] = side
		s.paths[i] = b.orderPath(e.Work)
		places[i] = Place{Path: e.Item, Callback: !e.config(), Skip: e.skip, Class: b.class(e.Work, side)}
	}
	s.Scope = NewScope(places)
	b.schedule.scopes = append(b.schedule.scopes, s)
	for i, w := range s.works {
		b.schedule.byID[w.ID] = scopeTask{s, i}
	}
	return s
}

// class is the priority class of a task, 0 for none.
func (b *builder) class(w *Work, side Side) int {
	if len(b.Rules.Classes) == 0 || side.Removes {
		return 0
	}
	it := b.model.item(w.Item)
	return 1 + slices.IndexFunc(b.Rules.Classes, func(c Class) bool { return it.isA(c.Types...) })
}

// orderPath is the item path by which the model orders a task: that of its alias, or its own.
func (b *builder) orderPath(w *Work) string {
	if len(b.Rules.Aliases) == 0 || !w.config() {
		return w.Item
	}
	for _, alias := range b.Rules.Aliases {
		for path := w.Item; path != ""; path = path[:max(0, len(path)-len(pathID(path))-1)] {
			if b.model.item(path).isA(alias.Type) {
				return w.Node + "/" + alias.Section
			}
		}
	}
	return w.Item
}

// require enters a requirement unless the priority class of the task ignores it.
func (b *builder) require(s *scopeBuild, from, to int) {
	if class := s.tasks[from].Class; class > 0 {
		if ignored := b.Rules.Classes[class-1].Ignore; len(ignored) > 0 && b.model.item(s.works[to].Item).isA(ignored...) {
			return
		}
	}
	s.Require(from, to)
}

// build forms the scopes in the order of the task groups, and puts their phases together (litp.md 88).
func (p *pipeline) build() (*Schedule, Problems) {
	b := &builder{pipeline: p, alias: make(map[string]string)}
	b.schedule = &Schedule{model: p.model, byID: make(map[string]scopeTask, len(p.works))}
	clusters, problems := OrderClusters(p.model.clusters)
	if len(problems) > 0 {
		return nil, problems
	}
	entries := p.merge()
	current := make(map[resourceOn]string, len(entries))
	for _, e := range entries {
		if e.config() {
			current[e.where()] = e.ID
		}
	}
	for i := range p.Remembered {
		if old := &p.Remembered[i]; old.config() {
			if id, ok := current[old.where()]; ok && id != old.ID {
				b.alias[old.ID] = id
			}
		}
	}
	layout := b.layOut(entries, clusters)
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	b.schedule.Phases = layout
	if len(p.cleanups) > 0 {
		b.schedule.Phases = append(b.schedule.Phases, Batch{Group: task.Cleanup, Works: p.cleanups})
	}
	b.schedule.Warnings = p.warnings
	return b.schedule, nil
}
