package sequence

// edge is one requirement: from requires to.
type edge struct{ from, to int32 }

// adjacency is a graph in two flat arrays: what v leads to is to[start[v]:start[v+1]], in the order in which the edges were given.
type adjacency struct{ start, to []int32 }

// newAdjacency makes the graph of n vertices. It takes time and memory in the number of vertices and edges.
func newAdjacency(n int, edges []edge) adjacency {
	a := adjacency{start: make([]int32, n+1), to: make([]int32, len(edges))}
	for _, e := range edges {
		a.start[e.from+1]++
	}
	for v := range n {
		a.start[v+1] += a.start[v]
	}
	next := make([]int32, n)
	copy(next, a.start)
	for _, e := range edges {
		a.to[next[e.from]] = e.to
		next[e.from]++
	}
	return a
}

func (a adjacency) vertices() int { return len(a.start) - 1 }

// from returns what v leads to.
func (a adjacency) from(v int32) []int32 { return a.to[a.start[v]:a.start[v+1]] }

// reversed returns the graph with every edge turned round.
func (a adjacency) reversed() adjacency {
	n := a.vertices()
	r := adjacency{start: make([]int32, n+1), to: make([]int32, len(a.to))}
	for _, to := range a.to {
		r.start[to+1]++
	}
	for v := range n {
		r.start[v+1] += r.start[v]
	}
	next := make([]int32, n)
	copy(next, r.start)
	for v := range int32(n) {
		for _, to := range a.from(v) {
			r.to[next[to]] = v
			next[to]++
		}
	}
	return r
}
