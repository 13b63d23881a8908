package sequence

import (
	"cmp"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
)

// Scope is the tasks of one task group and their requirements (litp.md 88). Tasks are numbered from 0 in the order of
// the input. A scope may also have gates. A gate is a vertex without a task: requiring it is requiring everything that
// it requires. So n tasks that require the same m tasks need n+m requirements, not n*m. A scope never computes the
// transitive closure.
type Scope struct {
	tasks []Place
	gates int
	edges []digraph.Edge
}

// Place is what orders a task in addition to its requirements. The zero value is a config task without a class.
type Place struct {
	Class    int  // priority class, 1 first; 0 is no class, which comes last (litp.md section 10, D1)
	Callback bool // a callback or remote task, which shares no phase with what it requires (litp.md 98)
	Skip     bool // need not run: it orders the others and is then left out (litp.md 100)
}

// NewScope returns a scope of tasks without requirements.
func NewScope(tasks []Place) *Scope { return &Scope{tasks: tasks} }

// Require makes a task or gate require another. A requirement on itself is ignored (litp.md 94).
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

// Align makes the tasks of each set require everything that any of them requires, so that they are in one phase. It
// affects only the requirements added before.
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

// Cycle is a cycle of tasks: each requires the next, and the last requires the first.
type Cycle []int

// Phases orders the tasks into as few phases as litp.md 97 to 101 allow. A phase has either callbacks or config tasks
// of one class, in ascending order. Config tasks that require each other may share a phase, because the node orders
// them (litp.md 101); callbacks may not. If there are cycles, Phases returns one for each strongly connected component,
// and no phases. The time is that of sorting the tasks and visiting each requirement once.
func (s *Scope) Phases() ([][]int, []Cycle) {
	if len(s.tasks) == 0 {
		return nil, nil
	}
	a := s.newLayout()
	if !a.place() {
		return nil, s.cycles(a.requires)
	}
	a.splitMixed()
	return a.result(), nil
}

// phaseLayout assigns the tasks of a scope to phases.
type phaseLayout struct {
	tasks    []Place
	requires digraph.Graph
	phase    []int32 // by vertex; a gate's is the last phase of what it requires
	phases   [][]int32
}

func (s *Scope) newLayout() *phaseLayout {
	n := len(s.tasks) + s.gates
	return &phaseLayout{tasks: s.tasks, requires: digraph.New(n, s.edges), phase: make([]int32, n)}
}

func (a *phaseLayout) gate(v int32) bool { return int(v) >= len(a.tasks) }

// cycles returns the cycles without their gates.
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

// result returns the phases without the tasks that need not run, and without the phases that this leaves empty (litp.md
// 100). The tasks of a phase are in the order of the input.
func (a *phaseLayout) result() [][]int {
	var out [][]int
	for _, phase := range a.phases {
		slices.Sort(phase)
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
