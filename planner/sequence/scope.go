package sequence

import (
	"cmp"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
)

// Scope is the tasks of one build and what they require of each other (litp.md 88). Its tasks are numbers from 0 in the
// order in which they were handed in. Beside the tasks it may have gates: a gate stands for all that it requires, so
// that n tasks that require the same m tasks need n+m requirements and not n*m. A scope never holds the transitive
// closure.
type Scope struct {
	tasks []Place
	gates int
	edges []digraph.Edge
}

// Place is what the order of a task depends on beside its requirements. The zero value is a config task.
type Place struct {
	Class    int  // priority class, 1 first; 0 is no class, which comes last (litp.md section 10, D1)
	Callback bool // a callback or remote task, which shares no phase with what it requires (litp.md 98)
	Skip     bool // need not run: it orders the others and is then left out (litp.md 100)
}

// NewScope makes a scope of tasks without requirements.
func NewScope(tasks []Place) *Scope { return &Scope{tasks: tasks} }

// Require says that a task or gate requires another. What a task says about itself is ignored (litp.md 94).
func (s *Scope) Require(from, to int) {
	if from != to {
		s.edges = append(s.edges, digraph.Edge{From: int32(from), To: int32(to)})
	}
}

// Gate adds a gate and returns its number.
func (s *Scope) Gate() int {
	s.gates++
	return len(s.tasks) + s.gates - 1
}

// Align makes the tasks of each set require all that any of them requires, so that they lie in one phase. It concerns
// the requirements that are there.
func (s *Scope) Align(sets [][]int) {
	gate := make(map[int32]int)
	for _, set := range sets {
		g := s.Gate()
		for _, task := range set {
			gate[int32(task)] = g
		}
	}
	for i, e := range slices.Clone(s.edges) {
		if g, ok := gate[e.From]; ok {
			s.edges[i].From = int32(g)
		}
	}
	for _, set := range sets {
		for _, task := range set {
			s.Require(task, gate[int32(task)])
		}
	}
}

// Cycle is tasks of a scope that wait for each other: each requires the next, and the last the first.
type Cycle []int

// Phases orders the tasks into phases: as few as litp.md 97 to 101 makes, each either of callbacks or of config tasks
// of one class, in ascending order. Config tasks that require each other may share a phase: the node puts them in order
// (litp.md 101); a callback never does. Instead of phases there are cycles, one for each set of tasks that all wait for
// each other. The time is that of sorting the tasks and walking the requirements once.
func (s *Scope) Phases() ([][]int, []Cycle) {
	if len(s.tasks) == 0 {
		return nil, nil
	}
	a := s.arrangement()
	if !a.place() {
		return nil, s.cycles(a.requires)
	}
	a.segregate()
	return a.arranged(), nil
}

// arrangement is a scope on its way into phases.
type arrangement struct {
	tasks    []Place
	requires digraph.Graph
	phase    []int32 // by vertex; a gate's is the last phase of what it requires
	phases   [][]int32
}

func (s *Scope) arrangement() *arrangement {
	n := len(s.tasks) + s.gates
	return &arrangement{tasks: s.tasks, requires: digraph.New(n, s.edges), phase: make([]int32, n)}
}

func (a *arrangement) gate(v int32) bool { return int(v) >= len(a.tasks) }

// cycles leaves the gates out.
func (s *Scope) cycles(requires digraph.Graph) []Cycle {
	var out []Cycle
	for _, vertices := range requires.Cycles() {
		var cycle Cycle
		for _, v := range vertices {
			if v < len(s.tasks) {
				cycle = append(cycle, v)
			}
		}
		first := 0
		for i, v := range cycle {
			if v < cycle[first] {
				first = i
			}
		}
		out = append(out, append(cycle[first:len(cycle):len(cycle)], cycle[:first]...))
	}
	slices.SortFunc(out, func(a, b Cycle) int { return cmp.Compare(a[0], b[0]) })
	return out
}
