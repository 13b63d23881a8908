package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
)

// graph is the requirements between tasks that are known by their index; a lower index goes first where requirements
// leave a choice. It can be asked while it grows.
type graph struct {
	requires [][]int // distinct
	seen     []int   // marks of the last searches
	search   int
}

// usual is how many requirements a task has that has any.
const usual = 4

func newGraph(n int) *graph {
	return &graph{requires: make([][]int, n), seen: make([]int, n)}
}

func (g *graph) add(task, required int) {
	if g.requires[task] == nil {
		g.requires[task] = make([]int, 0, usual)
	}
	if !slices.Contains(g.requires[task], required) {
		g.requires[task] = append(g.requires[task], required)
	}
}

// Gate adds a vertex that stands for what it requires, after all tasks, and returns its number.
func (g *graph) Gate() int {
	g.requires = append(g.requires, nil)
	g.seen = append(g.seen, 0)
	return len(g.requires) - 1
}

// Require is add for what is not there yet.
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

// order returns all tasks so that each comes after those it requires, the lowest index first. When there are cycles,
// the tasks on them, and those that require them, are missing.
func (g *graph) order() []int { return digraph.Of(g.requires).Order() }

// cycles returns one cycle of every set of tasks that all require each other, the shortest one through its lowest
// index: the tasks in order, each requiring the next and the last the first.
func (g *graph) cycles() [][]int { return digraph.Of(g.requires).Cycles() }
