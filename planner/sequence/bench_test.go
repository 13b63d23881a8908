package sequence

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkScope orders one scope: tasks with three requirements each, a fifth of them callbacks.
func BenchmarkScope(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			places := make([]Place, n)
			for i := range places {
				places[i] = Place{Callback: r.IntN(5) == 0}
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

// BenchmarkScopeChain orders the deepest scope there is: every task requires the one before it, and every second one is
// a callback.
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
