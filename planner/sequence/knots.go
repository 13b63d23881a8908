package sequence

import "slices"

// cycles returns one cycle of every knot (vertices that can all reach each other): the shortest one through the knot's lowest
// vertex, each vertex leading to the next and the last to the first; of several, the one with the lower vertices first. The cycles
// are ordered by their first vertex. An edge from a vertex to itself is a cycle of one.
func (a adjacency) cycles() [][]int32 {
	if a.acyclic() {
		return nil
	}
	knot := a.knots()
	size := make([]int32, a.vertices())
	for _, k := range knot {
		size[k]++
	}
	var out [][]int32
	from := make([]int32, a.vertices())
	for v := range int32(a.vertices()) {
		k := knot[v]
		if size[k] > 1 || size[k] == 1 && slices.Contains(a.from(v), v) {
			out = append(out, a.shortestCycle(v, knot, from))
			size[k] = 0 // told
		}
	}
	return out
}

// acyclic reports whether there is no cycle at all. It takes a fraction of the time of finding cycles.
func (a adjacency) acyclic() bool {
	n := a.vertices()
	room := make([]int32, 2*n)
	waiting, free := room[:n:n], room[n:n]
	for _, to := range a.to {
		waiting[to]++
	}
	for v := range int32(n) {
		if waiting[v] == 0 {
			free = append(free, v)
		}
	}
	for next := 0; next < len(free); next++ {
		for _, to := range a.from(free[next]) {
			if waiting[to]--; waiting[to] == 0 {
				free = append(free, to)
			}
		}
	}
	return len(free) == n
}

// knots numbers the knots and returns the number of each vertex's. It keeps its own stack, so that a long chain costs memory and
// not the goroutine's stack (Tarjan's algorithm).
func (a adjacency) knots() []int32 {
	n := a.vertices()
	var (
		knot   = make([]int32, n)
		index  = make([]int32, n) // order of discovery, from 1
		low    = make([]int32, n)
		inside = make([]bool, n) // on the stack of open vertices
		next   = make([]int32, n)
		open   []int32
		visits []int32
		found  int32
		knots  int32
	)
	enter := func(v int32) {
		found++
		index[v], low[v], inside[v], next[v] = found, found, true, a.start[v]
		open = append(open, v)
		visits = append(visits, v)
	}
	for root := range int32(n) {
		if index[root] != 0 {
			continue
		}
		enter(root)
		for len(visits) > 0 {
			v := visits[len(visits)-1]
			if next[v] < a.start[v+1] {
				to := a.to[next[v]]
				next[v]++
				if index[to] == 0 {
					enter(to)
				} else if inside[to] {
					low[v] = min(low[v], index[to])
				}
				continue
			}
			visits = visits[:len(visits)-1]
			if len(visits) > 0 {
				parent := visits[len(visits)-1]
				low[parent] = min(low[parent], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			for inside[v] {
				member := open[len(open)-1]
				open = open[:len(open)-1]
				inside[member], knot[member] = false, knots
			}
			knots++
		}
	}
	return knot
}

// shortestCycle finds the way from a vertex of a knot back to itself. cameFrom is room to work in.
func (a adjacency) shortestCycle(start int32, knot, cameFrom []int32) []int32 {
	seen := map[int32]bool{start: true}
	queue := []int32{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		targets := slices.Clone(a.from(at))
		slices.Sort(targets)
		for _, to := range targets {
			if to == start {
				var cycle []int32
				for ; at != start; at = cameFrom[at] {
					cycle = append(cycle, at)
				}
				cycle = append(cycle, start)
				slices.Reverse(cycle)
				return cycle
			}
			if knot[to] == knot[start] && !seen[to] {
				seen[to], cameFrom[to] = true, at
				queue = append(queue, to)
			}
		}
	}
	return []int32{start} // not a knot
}
