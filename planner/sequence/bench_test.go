package sequence

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// BenchmarkScope orders one scope: tasks with three requirements each, a fifth of them callbacks.
func BenchmarkScope(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			places := make([]Place, n)
			for i := range places {
				places[i] = Place{Path: fmt.Sprintf("/sites/s/clusters/c/nodes/n%d/items/i%d", r.IntN(5000), i), Callback: r.IntN(5) == 0}
			}
			s := NewScope(places)
			for i := 1; i < n; i++ {
				for range 3 {
					s.Require(i, r.IntN(i))
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, cycles := s.Phases(); cycles != nil {
					b.Fatal(cycles)
				}
			}
		})
	}
}

// BenchmarkScopeChain orders the deepest scope there is: every task requires the one before it, and every second one is a callback.
func BenchmarkScopeChain(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			places := make([]Place, n)
			for i := range places {
				places[i].Callback = i%2 == 0
			}
			s := NewScope(places)
			for i := 1; i < n; i++ {
				s.Require(i, i-1)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, cycles := s.Phases(); cycles != nil {
					b.Fatal(cycles)
				}
			}
		})
	}
}

// BenchmarkMake makes a whole schedule: nodes with twenty tasks each in ten clusters, three requirements a task, ordered by the sections of
// the nodes too, half of the tasks remembered.
func BenchmarkMake(b *testing.B) {
	for _, nodes := range []int{500, 1_500, 5_000, 15_000, 50_000} {
		b.Run(fmt.Sprint(nodes*20), func(b *testing.B) {
			if testing.Short() && nodes > 5_000 {
				b.Skip("large")
			}
			in := bigInput(nodes)
			b.ReportAllocs()
			for b.Loop() {
				if _, problems := Make(in); problems != nil {
					b.Fatal(problems)
				}
			}
		})
	}
}

func bigInput(nodes int) Input {
	r := rand.New(rand.NewPCG(1, 2))
	m := &testModel{flags: map[string]Item{}}
	for c := range 10 {
		m.clusters = append(m.clusters, Cluster{Path: fmt.Sprintf("/sites/s/clusters/c%d", c), Site: "/sites/s"})
	}
	in := Input{Model: m, Rules: DefaultRules()}
	names := []string{"system", "os", "nics", "routes", "storage", "fs", "configs", "items", "services"}
	for n := range nodes {
		c := &m.clusters[n%10]
		node := fmt.Sprintf("%s/nodes/n%d", c.Path, n)
		c.Nodes = append(c.Nodes, node)
		for i := range 20 {
			section := names[i*len(names)/20]
			w := Work{ID: fmt.Sprintf("n%d-%d", n, i), Node: node, Item: fmt.Sprintf("%s/%s/i%d", node, section, i), Resource: Resource{"file", fmt.Sprintf("/f%d", i)}}
			if i == 10 {
				w.Kind, w.Node = task.Callback, ""
			}
			for range min(i, 3) {
				w.Requires = append(w.Requires, Requirement{Task: fmt.Sprintf("n%d-%d", n, r.IntN(i))})
			}
			in.Works = append(in.Works, w)
			if n%2 == 0 && w.Kind == task.Config {
				in.Remembered = append(in.Remembered, w)
			}
		}
	}
	return in
}
