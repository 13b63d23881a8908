// Package digraph puts the vertices of a directed graph in order and finds its cycles. It is pure, and the same graph
// gives the same result. The time is that of sorting the vertices and walking the edges once, but for the length of a
// cycle that is found.
package digraph

import "slices"

// Edge leads from one vertex to another; mostly it says that From requires To.
type Edge struct{ From, To int32 }

// Graph has the vertices 0 to n-1, and edges in two flat arrays: what v leads to is to[start[v]:start[v+1]], in the
// order in which the edges were given.
type Graph struct{ start, to []int32 }

// New makes the graph of n vertices. An edge may be there more than once.
func New(n int, edges []Edge) Graph {
	g := Graph{start: make([]int32, n+1), to: make([]int32, len(edges))}
	for _, e := range edges {
		g.start[e.From+1]++
	}
	for v := range n {
		g.start[v+1] += g.start[v]
	}
	next := make([]int32, n)
	copy(next, g.start)
	for _, e := range edges {
		g.to[next[e.From]] = e.To
		next[e.From]++
	}
	return g
}

// Of makes the graph in which each vertex leads to those of its list.
func Of(lists [][]int) Graph {
	count := 0
	for _, list := range lists {
		count += len(list)
	}
	edges := make([]Edge, 0, count)
	for from, list := range lists {
		for _, to := range list {
			edges = append(edges, Edge{int32(from), int32(to)})
		}
	}
	return New(len(lists), edges)
}

func (g Graph) vertices() int { return len(g.start) - 1 }

// From returns what v leads to.
func (g Graph) From(v int32) []int32 { return g.to[g.start[v]:g.start[v+1]] }

// Reversed returns the graph with every edge turned round.
func (g Graph) Reversed() Graph {
	n := g.vertices()
	r := Graph{start: make([]int32, n+1), to: make([]int32, len(g.to))}
	for _, to := range g.to {
		r.start[to+1]++
	}
	for v := range n {
		r.start[v+1] += r.start[v]
	}
	next := make([]int32, n)
	copy(next, r.start)
	for v := range int32(n) {
		for _, to := range g.From(v) {
			r.to[next[to]] = v
			next[to]++
		}
	}
	return r
}

// Order returns the vertices so that each comes after all that it leads to, the lowest first where that leaves a
// choice. When there are cycles, the vertices on them, and those that lead to them, are missing.
func (g Graph) Order() []int {
	n := g.vertices()
	back := g.Reversed()
	waiting := make([]int32, n)
	var ready []int32 // ascending
	for v := range int32(n) {
		if waiting[v] = int32(len(g.From(v))); waiting[v] == 0 {
			ready = append(ready, v)
		}
	}
	out := make([]int, 0, n)
	for len(ready) > 0 {
		v := ready[0]
		ready = ready[1:]
		out = append(out, int(v))
		for _, d := range back.From(v) {
			if waiting[d]--; waiting[d] == 0 {
				at, _ := slices.BinarySearch(ready, d)
				ready = slices.Insert(ready, at, d)
			}
		}
	}
	return out
}
