package sequence

import "slices"

// graph is the requirements between tasks that are known by their index; a lower index goes first where requirements
// leave a choice.
type graph struct {
	requires [][]int // distinct
	seen     []int   // marks of the last searches
	search   int
}

func newGraph(n int) *graph {
	return &graph{requires: make([][]int, n), seen: make([]int, n)}
}

func (g *graph) add(task, required int) {
	if !slices.Contains(g.requires[task], required) {
		g.requires[task] = append(g.requires[task], required)
	}
}

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

// order returns all tasks so that each comes after those it requires, the lowest index first. When there are cycles, the
// tasks on them, and those that require them, are missing.
func (g *graph) order() []int {
	waiting := make([]int, len(g.requires))
	dependents := make([][]int, len(g.requires))
	ready := make([]int, 0, len(g.requires)) // ascending
	for i, requires := range g.requires {
		waiting[i] = len(requires)
		for _, r := range requires {
			dependents[r] = append(dependents[r], i)
		}
		if len(requires) == 0 {
			ready = append(ready, i)
		}
	}
	out := make([]int, 0, len(g.requires))
	for len(ready) > 0 {
		at := ready[0]
		ready = ready[1:]
		out = append(out, at)
		for _, d := range dependents[at] {
			if waiting[d]--; waiting[d] == 0 {
				place, _ := slices.BinarySearch(ready, d)
				ready = slices.Insert(ready, place, d)
			}
		}
	}
	return out
}

// cycles returns one cycle of every knot of tasks that all require each other, the shortest one through the knot's lowest
// index: the tasks in order, each requiring the next and the last the first.
func (g *graph) cycles() [][]int {
	ordered := g.order()
	if len(ordered) == len(g.requires) {
		return nil
	}
	done := make([]bool, len(g.requires))
	for _, i := range ordered {
		done[i] = true
	}
	var out [][]int
	for i := range g.requires {
		if done[i] {
			continue
		}
		if cycle := g.shortestCycle(i); cycle != nil {
			out = append(out, cycle)
			for j := i; j < len(done); j++ {
				if !done[j] && g.depends(i, j) && g.depends(j, i) {
					done[j] = true
				}
			}
		}
	}
	return out
}

func (g *graph) shortestCycle(start int) []int {
	cameFrom := map[int]int{}
	queue := []int{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		requires := slices.Clone(g.requires[at])
		slices.Sort(requires)
		for _, r := range requires {
			if r == start {
				cycle := []int{at}
				for at != start {
					at = cameFrom[at]
					cycle = append(cycle, at)
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, seen := cameFrom[r]; !seen {
				cameFrom[r] = at
				queue = append(queue, r)
			}
		}
	}
	return nil
}
