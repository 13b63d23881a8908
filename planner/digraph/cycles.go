package digraph

import (
	"maps"
	"slices"
)

// Cycles returns one cycle of every strongly connected component (vertices that can all reach each other): the shortest
// one through the component's lowest vertex, each vertex leading to the next and the last to the first; of several, the
// one with the lower vertices first. The cycles are ordered by their first vertex. An edge from a vertex to itself is a
// cycle of one.
func (g Graph) Cycles() [][]int {
	if g.acyclic() {
		return nil
	}
	component := g.components()
	size := make([]int32, g.vertices())
	for _, c := range component {
		size[c]++
	}
	var out [][]int
	from := make([]int32, g.vertices())
	for v := range int32(g.vertices()) {
		c := component[v]
		if size[c] > 1 || size[c] == 1 && slices.Contains(g.From(v), v) {
			out = append(out, g.shortestCycle(v, component, from))
			size[c] = 0 // reported
		}
	}
	return out
}

// CyclesOf is [Graph.Cycles] of a graph of names, in alphabetical order. Each cycle begins and ends with the same name.
// What is no key leads nowhere.
func CyclesOf(edges map[string][]string) [][]string {
	names := slices.Sorted(maps.Keys(edges))
	lists := make([][]int, len(names))
	for i, name := range names {
		for _, to := range edges[name] {
			if at, known := slices.BinarySearch(names, to); known {
				lists[i] = append(lists[i], at)
			}
		}
	}
	var out [][]string
	for _, cycle := range Of(lists).Cycles() {
		named := make([]string, 0, len(cycle)+1)
		for _, v := range append(cycle, cycle[0]) {
			named = append(named, names[v])
		}
		out = append(out, named)
	}
	return out
}

// acyclic reports whether there is no cycle at all. It takes a fraction of the time of finding cycles.
func (g Graph) acyclic() bool {
	n := g.vertices()
	room := make([]int32, 2*n)
	waiting, free := room[:n:n], room[n:n]
	for _, to := range g.to {
		waiting[to]++
	}
	for v := range int32(n) {
		if waiting[v] == 0 {
			free = append(free, v)
		}
	}
	for next := 0; next < len(free); next++ {
		for _, to := range g.From(free[next]) {
			if waiting[to]--; waiting[to] == 0 {
				free = append(free, to)
			}
		}
	}
	return len(free) == n
}

// components numbers the strongly connected components and returns the number of each vertex's. It keeps its own stack,
// so that a long chain costs memory and not the goroutine's stack (Tarjan's algorithm).
func (g Graph) components() []int32 {
	n := g.vertices()
	var (
		component = make([]int32, n)
		index     = make([]int32, n) // order of discovery, from 1
		low       = make([]int32, n)
		inside    = make([]bool, n) // on the stack of open vertices
		next      = make([]int32, n)
		open      []int32
		visits    []int32
		found     int32
		count     int32
	)
	enter := func(v int32) {
		found++
		index[v], low[v], inside[v], next[v] = found, found, true, g.start[v]
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
			if next[v] < g.start[v+1] {
				to := g.to[next[v]]
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
				inside[member], component[member] = false, count
			}
			count++
		}
	}
	return component
}

// shortestCycle finds the way from a vertex back to itself, within its component. cameFrom is room to work in.
func (g Graph) shortestCycle(start int32, component, cameFrom []int32) []int {
	seen := map[int32]bool{start: true}
	queue := []int32{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		targets := slices.Clone(g.From(at))
		slices.Sort(targets)
		for _, to := range targets {
			if to == start {
				var cycle []int
				for ; at != start; at = cameFrom[at] {
					cycle = append(cycle, int(at))
				}
				cycle = append(cycle, int(start))
				slices.Reverse(cycle)
				return cycle
			}
			if component[to] == component[start] && !seen[to] {
				seen[to], cameFrom[to] = true, at
				queue = append(queue, to)
			}
		}
	}
	return []int{int(start)} // it is on no cycle
}
