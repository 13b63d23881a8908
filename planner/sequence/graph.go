package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
)

// graph is the requirements between tasks, which are known by their index. Where requirements leave a choice, the lower
// index comes first. It may be queried while it grows.
type graph struct {
	requires [][]int // distinct
	seen     []int   // marks of the last searches
	search   int
}

// usualRequires is the number of requirements for which memory is allocated first.
const usualRequires = 4

func newGraph(n int) *graph {
	return &graph{requires: make([][]int, n), seen: make([]int, n)}
}

func (g *graph) add(task, required int) {
	if g.requires[task] == nil {
		g.requires[task] = make([]int, 0, usualRequires)
	}
	if !slices.Contains(g.requires[task], required) {
		g.requires[task] = append(g.requires[task], required)
	}
}

// Gate adds a vertex without a task, after all tasks, and returns its number. Requiring a gate is requiring everything
// that the gate requires.
func (g *graph) Gate() int {
	g.requires = append(g.requires, nil)
	g.seen = append(g.seen, 0)
	return len(g.requires) - 1
}

// Require is [graph.add] for a requirement that is not in the graph yet.
func (g *graph) Require(from, to int) { g.requires[from] = append(g.requires[from], to) }

// depends reports whether task requires other, directly or through others. Every task depends on itself.
func (g *graph) depends(task, other int) bool {
	g.search++
	stack := []int{task}
	g.seen[task] = g.search
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == other {
			return true
		}
		for _, r := range g.requires[at] {
			if g.seen[r] != g.search {
				g.seen[r] = g.search
				stack = append(stack, r)
			}
		}
	}
	return false
}

// order returns all vertices, each after those that it requires, the lowest index first. Vertices on a cycle, and those
// that require them, are missing.
func (g *graph) order() []int { return digraph.Of(g.requires).Order() }

// cycles returns one cycle of every strongly connected component, see [digraph.Graph.Cycles].
func (g *graph) cycles() [][]int { return digraph.Of(g.requires).Cycles() }
