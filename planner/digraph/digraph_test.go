package digraph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		lists [][]int
		want  []int
	}{
		"nothing":                       {nil, []int{}},
		"the lowest first":              {[][]int{{}, {}, {}}, []int{0, 1, 2}},
		"after what it leads to":        {[][]int{{2}, {}, {1}}, []int{1, 2, 0}},
		"an edge twice":                 {[][]int{{1, 1}, {}}, []int{1, 0}},
		"without cycles and what leads": {[][]int{{1}, {2}, {1}, {}}, []int{3}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Of(tt.lists).Order()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCycles(t *testing.T) {
	tests := map[string]struct {
		edges map[string][]string
		want  [][]string
	}{
		"none":   {map[string][]string{"a": {"b"}, "b": nil}, nil},
		"itself": {map[string][]string{"a": {"a"}}, [][]string{{"a", "a"}}},
		"from the first name": {map[string][]string{"c": {"b"}, "b": {"c"}, "a": {"c"}},
			[][]string{{"b", "c", "b"}}},
		"the shortest": {map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": {"a"}},
			[][]string{{"a", "c", "a"}}},
		"the lower of two as short": {map[string][]string{"a": {"c", "b"}, "b": {"a"}, "c": {"a"}},
			[][]string{{"a", "b", "a"}}},
		"one of each component": {map[string][]string{"a": {"b"}, "b": {"a"}, "c": {"d", "a"}, "d": {"c"}},
			[][]string{{"a", "b", "a"}, {"c", "d", "c"}}},
		"a name that leads to nothing": {map[string][]string{"a": {"x"}}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, CyclesOf(tt.edges)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestProperties compares random graphs with what the definitions say: the order holds what reaches no cycle, each
// vertex after all that it leads to and never after a lower one that could have come; a cycle is one, from the lowest
// vertex of its component, and no shorter one goes through it.
func TestProperties(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(9)
		lists := make([][]int, n)
		for range r.IntN(2 * n) {
			from := r.IntN(n)
			lists[from] = append(lists[from], r.IntN(n))
		}
		distance := distances(lists)
		var order []int
		for {
			next := -1
			for v := range n {
				ready := !slices.Contains(order, v) &&
					!slices.ContainsFunc(lists[v], func(to int) bool { return !slices.Contains(order, to) })
				if ready && next < 0 {
					next = v
				}
			}
			if next < 0 {
				break
			}
			order = append(order, next)
		}
		if got := Of(lists).Order(); !slices.Equal(got, order) {
			t.Fatalf("seed %d: %v: order %v, want %v", seed, lists, got, order)
		}
		cycles := Of(lists).Cycles()
		reported := make(map[int]bool)
		for _, cycle := range cycles {
			lowest := cycle[0]
			for i, v := range cycle {
				if !slices.Contains(lists[v], cycle[(i+1)%len(cycle)]) {
					t.Fatalf("seed %d: %v: %v is no cycle", seed, lists, cycle)
				}
			}
			if len(cycle) != distance[lowest][lowest] {
				t.Fatalf("seed %d: %v: %v is not the shortest", seed, lists, cycle)
			}
			reported[lowest] = true
		}
		for v := range n {
			lowest := distance[v][v] > 0
			for other := range v {
				lowest = lowest && (distance[v][other] == 0 || distance[other][v] == 0)
			}
			if lowest != reported[v] {
				t.Fatalf("seed %d: %v: %v, want one from %d: %t", seed, lists, cycles, v, lowest)
			}
		}
	}
}

// distances returns the number of edges of the shortest way, at least one edge, from each vertex to each; 0 where there
// is none.
func distances(lists [][]int) [][]int {
	n := len(lists)
	out := make([][]int, n)
	for v := range n {
		out[v] = make([]int, n)
		for step, at := 1, lists[v]; len(at) > 0; step++ {
			var next []int
			for _, to := range at {
				if out[v][to] == 0 {
					out[v][to] = step
					next = append(next, lists[to]...)
				}
			}
			at = next
		}
	}
	return out
}
