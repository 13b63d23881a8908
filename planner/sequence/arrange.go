package sequence

import (
	"cmp"
	"slices"
)

// arranged gives the phases their last form: without the tasks that need not run and without phases that are empty then (litp.md
// 100); callbacks in input order, config tasks in a stable topological order in which the item path decides and then the input
// order (litp.md 101).
func (a *arrangement) arranged() [][]int {
	sorter := newPhaseSorter(a)
	var out [][]int
	for p, phase := range a.phases {
		if !a.tasks[phase[0]].Callback {
			phase = sorter.sort(phase, int32(p))
		} else {
			slices.Sort(phase)
		}
		var run []int
		for _, v := range phase {
			if !a.tasks[v].Skip {
				run = append(run, int(v))
			}
		}
		if len(run) > 0 {
			out = append(out, run)
		}
	}
	return out
}

// phaseSorter sorts phases one after the other with the same room.
type phaseSorter struct {
	*arrangement
	rank    []int32 // by vertex: path, then number; gates before all tasks, so that they hold nothing up
	waiting []int32
	heads   []int32 // by vertex: its first dependent in the list, -1 for none
	links   []link
	ready   heap
}

type link struct{ dependent, next int32 }

func newPhaseSorter(a *arrangement) *phaseSorter {
	n := len(a.phase)
	s := &phaseSorter{arrangement: a, rank: make([]int32, n), waiting: make([]int32, n), heads: make([]int32, n)}
	byPath := make([]int32, len(a.tasks))
	for v := range byPath {
		byPath[v] = int32(v)
	}
	slices.SortFunc(byPath, func(v, w int32) int {
		return cmp.Or(cmp.Compare(a.tasks[v].Path, a.tasks[w].Path), cmp.Compare(v, w))
	})
	gates := int32(n - len(a.tasks))
	for i, v := range byPath {
		s.rank[v] = gates + int32(i)
	}
	for v := len(a.tasks); v < n; v++ {
		s.rank[v] = int32(v - len(a.tasks))
	}
	for v := range s.heads {
		s.heads[v] = -1
	}
	s.ready.rank = s.rank
	return s
}

// sort orders the config tasks of phase p. A requirement that leads to an earlier phase holds nothing up, and a gate whose last
// task lies in an earlier phase is not even looked at.
func (s *phaseSorter) sort(phase []int32, p int32) []int32 {
	s.links = s.links[:0]
	vertices := slices.Clone(phase)
	for i := 0; i < len(vertices); i++ { // grows by the gates
		v := vertices[i]
		for _, r := range s.requires.from(v) {
			if s.phase[r] != p {
				continue
			}
			if s.gate(r) && s.heads[r] == -1 {
				vertices = append(vertices, r)
			}
			s.links = append(s.links, link{v, s.heads[r]})
			s.heads[r] = int32(len(s.links) - 1)
			s.waiting[v]++
		}
	}
	for _, v := range vertices {
		if s.waiting[v] == 0 {
			s.ready.push(v)
		}
	}
	out := make([]int32, 0, len(phase))
	for len(s.ready.items) > 0 {
		v := s.ready.pop()
		if !s.gate(v) {
			out = append(out, v)
		}
		for l := s.heads[v]; l != -1; l = s.links[l].next {
			if d := s.links[l].dependent; s.waiting[d] == 1 {
				s.waiting[d] = 0
				s.ready.push(d)
			} else {
				s.waiting[d]--
			}
		}
		s.heads[v] = -1
	}
	return out
}
