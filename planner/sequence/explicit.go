package sequence

import "slices"

// addExplicit enters the requirements that tasks name (litp.md 57, 58, 94).
func (b *builder) addExplicit(s *scopeBuild) {
	f := newFinder(s, b)
	for i, w := range s.works {
		for _, r := range w.Requires {
			targets, gate := f.find(i, r)
			if gate >= 0 {
				s.Require(i, gate)
				s.explicit[i] = append(s.explicit[i], int32(gate))
				continue
			}
			b.requireAll(s, i, r, targets)
		}
	}
	b.passThrough(s)
}

// requireAll enters a requirement on tasks, as far as it can be kept. When none can, it is told.
func (b *builder) requireAll(s *scopeBuild, i int, r Requirement, targets []int32) {
	kept := false
	first, why := int32(-1), Reason("")
	for _, t := range targets {
		if int(t) == i {
			continue
		}
		reason := MayDepend(s.sides[i], s.sides[t])
		if reason == "" {
			kept = true
			b.require(s, i, int(t))
			s.explicit[i] = append(s.explicit[i], t)
			continue
		}
		s.lost[i] = append(s.lost[i], t)
		if first < 0 {
			first, why = t, reason
		}
	}
	if !kept && first >= 0 && !s.entries[i].skip {
		b.schedule.Unkept = append(b.schedule.Unkept, Unkept{s.works[i].ID, r, s.works[first].ID, why})
	}
}

// finder finds the tasks of a scope that a requirement means.
type finder struct {
	s          *scopeBuild
	b          *builder
	byID       map[string]int32
	byPath     []int32              // sorted by item path
	byResource map[Resource][]int32 // in input order
	onNode     map[resourceOn][]int32
	gates      map[gateKey]gate
}

type gateKey struct {
	item string
	side Side
}

// gate stands for all tasks on an item that a task of some side may require.
type gate struct {
	number  int
	targets []int32
	whole   bool // all tasks on the item are there
}

func newFinder(s *scopeBuild, b *builder) *finder {
	f := &finder{s: s, b: b, byID: make(map[string]int32, len(s.works)), gates: make(map[gateKey]gate)}
	for i, w := range s.works {
		f.byID[w.ID] = int32(i)
	}
	return f
}

// find returns the tasks that a requirement of task i means. When there is a gate (not negative) for exactly them, all of which i may
// require, requiring it is enough.
func (f *finder) find(i int, r Requirement) (targets []int32, gate int) {
	switch {
	case r.Task != "":
		if old := f.b.memory.known[r.Task]; f.s.entries[i].kept && old != nil {
			return f.asRemembered(old), -1
		}
		return f.tasks(r.Task), -1
	case r.Item != "":
		return f.item(i, r.Item)
	default:
		return f.resource(i, r.Resource), -1
	}
}

// asRemembered returns the task that a remembered one required, if it is still what it was then. A callback ran in an earlier plan (litp.md
// 127), and an older version of a task that changed since is not brought back (126).
func (f *finder) asRemembered(old *Work) []int32 {
	if !old.config() {
		return nil
	}
	return slices.DeleteFunc(f.tasks(old.ID), func(t int32) bool {
		w := f.s.works[t]
		return w != old && !f.b.memory.equals(w, old)
	})
}

func (f *finder) tasks(id string) []int32 {
	if other, ok := f.b.alias[id]; ok {
		if _, there := f.byID[id]; !there {
			id = other
		}
	}
	if t, ok := f.byID[id]; ok {
		return []int32{t}
	}
	var out []int32
	for _, part := range f.b.parts[id] {
		if t, ok := f.byID[part]; ok {
			out = append(out, t)
		}
	}
	return out
}

// resource returns the config tasks of a resource. Those on the node of a task that runs on one are enough where there are any: it may
// require no others.
func (f *finder) resource(i int, r Resource) []int32 {
	if f.byResource == nil {
		f.byResource, f.onNode = make(map[Resource][]int32), make(map[resourceOn][]int32)
		for t, w := range f.s.works {
			if w.config() {
				f.byResource[w.Resource] = append(f.byResource[w.Resource], int32(t))
				f.onNode[w.where()] = append(f.onNode[w.where()], int32(t))
			}
		}
	}
	if node := f.s.sides[i].Node; node != "" {
		if own := f.onNode[resourceOn{node, r}]; len(own) > 0 {
			return own
		}
		if all := f.byResource[r]; len(all) > 0 {
			return all[:1] // on another node: enough to tell
		}
	}
	return f.byResource[r]
}

// item returns the tasks on an item and below it. Tasks of the same side share a gate.
func (f *finder) item(i int, item string) ([]int32, int) {
	if f.byPath == nil {
		f.byPath = sortedByPath(len(f.s.works), func(t int32) string { return f.s.works[t].Item })
	}
	from, to := pathRange(item, len(f.byPath), func(at int) string { return f.s.works[f.byPath[at]].Item })
	all := f.byPath[from:to]
	if to-from < 2 || within(f.s.works[i].Item, item) || f.s.tasks[i].Class > 0 {
		return all, -1
	}
	key := gateKey{item, f.s.sides[i]}
	g, ok := f.gates[key]
	if !ok {
		for _, t := range all {
			if MayDepend(key.side, f.s.sides[t]) == "" {
				g.targets = append(g.targets, t)
			}
		}
		g.number = -1
		if g.whole = len(g.targets) == len(all); g.whole {
			g.number = f.s.Gate()
			for _, t := range all {
				f.s.Require(g.number, int(t))
			}
			f.s.explicit = append(f.s.explicit, all) // under the number of the gate
		}
		f.gates[key] = g
	}
	if !g.whole {
		return all, -1
	}
	return all, g.number
}

// sortedByPath returns the numbers below n sorted by path, equal paths in order.
func sortedByPath(n int, path func(int32) string) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	slices.SortStableFunc(out, func(a, b int32) int { return comparePaths(path(a), path(b)) })
	return out
}
