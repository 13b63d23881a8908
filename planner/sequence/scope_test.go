package sequence

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scopeOf makes a scope from tasks in words: `k1 k2<k1 r1 r2<r1,k1`. A task is named by its kind and a number: k is a
// callback, r a config task, n a config task of the first class, m a callback of it, s a config task that need not run.
// The words after a less-than sign are required.
func scopeOf(text string) (*Scope, []string) {
	var names []string
	requires := make(map[string]string)
	for word := range strings.FieldsSeq(text) {
		name, required, _ := strings.Cut(word, "<")
		names = append(names, name)
		requires[name] = required
	}
	places := make([]Place, len(names))
	for i, name := range names {
		places[i] = Place{Callback: strings.ContainsAny(name[:1], "km"), Skip: name[0] == 's'}
		if name[0] == 'n' || name[0] == 'm' {
			places[i].Class = 1
		}
	}
	s := NewScope(places)
	for i, name := range names {
		for required := range strings.SplitSeq(requires[name], ",") {
			if required != "" {
				s.Require(i, slices.Index(names, required))
			}
		}
	}
	return s, names
}

func named(phases [][]int, names []string) string {
	var out []string
	for _, phase := range phases {
		var words []string
		for _, i := range phase {
			words = append(words, names[i])
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, " | ")
}

func TestScopePhases(t *testing.T) {
	tests := map[string]struct{ tasks, want string }{
		"nothing":                               {"", ""},
		"config tasks share a phase":            {"r3<r1 r2 r1", "r3 r2 r1"},
		"callbacks first (A08)":                 {"r1 k2", "k2 | r1"},
		"callbacks in input order (A11)":        {"k2 k1", "k2 k1"},
		"a config task behind a callback (A09)": {"r1<k2 k2", "k2 | r1"},
		"callbacks in a chain":                  {"k3<k2 k2<k1 k1", "k1 | k2 | k3"},
		"alternating (A12)":                     {"r1 k2<r1 r3<k2 k4<r3 r5<k4 r6<r5", "r1 | k2 | r3 | k4 | r5 r6"},
		"chain into one phase (A13)":            {"k0 r1<k0 r2<r1 r3<r2", "k0 | r1 r2 r3"},
		"segregated to a phase of its own (A25)": {
			"k1 k2<k1 r1 r2", "k1 | r1 r2 | k2",
		},
		"segregated into the next phase":                 {"k1 r1<k1 r2", "k1 | r1 r2"},
		"next phase requires one of them (A30)":          {"k1 r1 r2<k1,r1", "k1 | r1 | r2"},
		"not into another class":                         {"k1 m2 r3 n4<k1", "m2 | k1 | r3 | n4"},
		"itself":                                         {"r1<r1", "r1"},
		"not run, but between (F06)":                     {"r3<s2 s2<k1 k1", "k1 | r3"},
		"a phase of what need not run":                   {"k1 s2<k1 k3<s2", "k1 | k3"},
		"a class first":                                  {"r1 k2 n3", "n3 | k2 | r1"},
		"a class behind what it requires":                {"r1 r2 n3<r1 r4<n3", "r1 r2 | n3 | r4"},
		"a class of callbacks and config tasks":          {"m1 n2 r3", "m1 | n2 | r3"},
		"N06: no task of a class before its requirement": {"r1 n2<r1 n3<n2 n4", "n4 | r1 | n2 n3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, names := scopeOf(tt.tasks)
			phases, cycles := s.Phases()
			if got := named(phases, names); got != tt.want || cycles != nil {
				t.Errorf("got %q (cycles %v), want %q", got, cycles, tt.want)
			}
		})
	}
}

func TestScopeCycles(t *testing.T) {
	tests := map[string]struct {
		tasks string
		want  []Cycle
	}{
		"two":                 {"k1<k2 k2<k1", []Cycle{{0, 1}}},
		"in cycle order":      {"r1 r2<r4 r3<r2 r4<r3", []Cycle{{1, 3, 2}}},
		"the shortest":        {"r1<r2,r3 r2<r3 r3<r1", []Cycle{{0, 2}}},
		"each component once": {"r1<r2 r2<r1 r3<r1,r4 r4<r3", []Cycle{{0, 1}, {2, 3}}},
		"not what requires":   {"r1<r2 r2<r3 r3<r2", []Cycle{{1, 2}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := scopeOf(tt.tasks)
			phases, cycles := s.Phases()
			if diff := cmp.Diff(tt.want, cycles); diff != "" || phases != nil {
				t.Errorf("phases %v, cycles (-want +got)\n%s", phases, diff)
			}
		})
	}
}

// TestScopeCycleThroughGate: gates do not show in a cycle.
func TestScopeCycleThroughGate(t *testing.T) {
	s := NewScope(make([]Place, 3))
	gate := s.Gate()
	s.Require(0, gate)
	s.Require(gate, 1)
	s.Require(gate, 2)
	s.Require(2, 0)
	_, cycles := s.Phases()
	if diff := cmp.Diff([]Cycle{{0, 2}}, cycles); diff != "" {
		t.Error(diff)
	}
}

// randomScope makes a scope without cycles. requires holds the same requirements without gates.
func randomScope(r *rand.Rand, classes int) (*Scope, []Place, [][]int) {
	n := 1 + r.IntN(30)
	places := make([]Place, n)
	for i := range places {
		places[i] = Place{
			Callback: r.IntN(3) == 0, Skip: r.IntN(6) == 0, Class: r.IntN(classes + 1),
		}
	}
	s := NewScope(places)
	order := r.Perm(n) // a task requires such as come earlier here
	requires := make([][]int, n)
	for at := 1; at < n; at++ {
		for range r.IntN(4) {
			i, to := order[at], order[r.IntN(at)]
			s.Require(i, to)
			requires[i] = append(requires[i], to)
		}
	}
	for range r.IntN(3) {
		if n < 4 {
			break
		}
		middle := 1 + r.IntN(n-1)
		gate := s.Gate()
		for range 1 + r.IntN(3) {
			s.Require(gate, order[r.IntN(middle)])
		}
		for range 1 + r.IntN(3) {
			i := order[middle+r.IntN(n-middle)]
			s.Require(i, gate)
			for _, e := range s.edges {
				if int(e.From) == gate {
					requires[i] = append(requires[i], int(e.To))
				}
			}
		}
	}
	return s, places, requires
}

// TestScopeProperties checks random scopes: nothing lies before what it requires, or beside it where one is a callback;
// no phase is mixed; what needs to run is there once and nothing else; the same scope gives the same phases; a phase is
// in input order.
func TestScopeProperties(t *testing.T) {
	for seed := range uint64(3000) {
		s, places, requires := randomScope(rand.New(rand.NewPCG(seed, 1)), int(seed%3))
		phases, cycles := s.Phases()
		if cycles != nil {
			t.Fatalf("seed %d: cycles %v", seed, cycles)
		}
		at, seen := make(map[int]int), 0
		for p, phase := range phases {
			for w, i := range phase {
				at[i] = p
				seen++
				if first := places[phase[0]]; places[i].Callback != first.Callback || places[i].Class != first.Class {
					t.Fatalf("seed %d: phase %d is mixed", seed, p)
				}
				if w > 0 && phase[w-1] > i {
					t.Fatalf("seed %d: phase %d is not in input order", seed, p)
				}
			}
			if len(phase) == 0 {
				t.Fatalf("seed %d: phase %d is empty", seed, p)
			}
		}
		required := closureOf(requires)
		for i := range places {
			_, there := at[i]
			if there == places[i].Skip {
				t.Fatalf("seed %d: task %d: there is %t, skip is %t", seed, i, there, places[i].Skip)
			}
			for r := range required[i] {
				if places[i].Skip || places[r].Skip {
					continue
				}
				together := !places[i].Callback && !places[r].Callback && at[i] == at[r]
				if at[i] <= at[r] && !together {
					t.Fatalf("seed %d: task %d in phase %d requires %d in phase %d", seed, i, at[i], r, at[r])
				}
			}
		}
		if len(at) != seen {
			t.Fatalf("seed %d: a task is there twice", seed)
		}
		again, _ := s.Phases()
		if diff := cmp.Diff(phases, again); diff != "" {
			t.Fatalf("seed %d: another result\n%s", seed, diff)
		}
		if seed%3 == 0 {
			if diff := cmp.Diff(byTheRules(places, requires), asSets(phases)); diff != "" {
				t.Fatalf("seed %d: differs from litp.md 98 to 100, told literally (-rules +got)\n%s", seed, diff)
			}
		}
	}
}

func asSets(phases [][]int) [][]int {
	var out [][]int
	for _, phase := range phases {
		out = append(out, slices.Sorted(slices.Values(phase)))
	}
	return out
}

// closureOf returns all that each task requires, directly or not.
func closureOf(requires [][]int) []map[int]bool {
	closure := make([]map[int]bool, len(requires))
	var behind func(i int) map[int]bool
	behind = func(i int) map[int]bool {
		if closure[i] == nil {
			closure[i] = make(map[int]bool)
			for _, r := range requires[i] {
				closure[i][r] = true
				for q := range behind(r) {
					closure[i][q] = true
				}
			}
		}
		return closure[i]
	}
	for i := range requires {
		behind(i)
	}
	return closure
}

// byTheRules follows litp.md 97 to 100 word by word, over the transitive closure, for tasks without classes.
func byTheRules(places []Place, requires [][]int) [][]int {
	n := len(places)
	closure := closureOf(requires)
	var phases [][]int
	placed := make([]bool, n)
	for left := n; left > 0; {
		var level []int
		for i := range n {
			ready := !placed[i]
			for r := range closure[i] {
				ready = ready && placed[r]
			}
			if ready {
				level = append(level, i)
			}
		}
		for _, callback := range []bool{true, false} {
			for _, i := range level {
				if places[i].Callback != callback {
					continue
				}
				p := len(phases) - 1
				for ; p >= 0; p-- {
					if slices.ContainsFunc(phases[p],
						func(q int) bool { return closure[i][q] && (places[i].Callback || places[q].Callback) }) {
						break
					}
				}
				if p+1 == len(phases) {
					phases = append(phases, nil)
				}
				phases[p+1] = append(phases[p+1], i)
			}
		}
		for _, i := range level {
			placed[i] = true
			left--
		}
	}
	for p := 0; p < len(phases); p++ {
		var callbacks, configs []int
		for _, i := range phases[p] {
			if places[i].Callback {
				callbacks = append(callbacks, i)
			} else {
				configs = append(configs, i)
			}
		}
		if len(callbacks) == 0 || len(configs) == 0 {
			continue
		}
		phases[p] = callbacks
		join := p+1 < len(phases)
		if join {
			for _, i := range phases[p+1] {
				join = join && !places[i].Callback &&
					!slices.ContainsFunc(configs, func(c int) bool { return closure[i][c] })
			}
		}
		if join {
			phases[p+1] = append(phases[p+1], configs...)
		} else {
			phases = slices.Insert(phases, p+1, configs)
		}
	}
	var out [][]int
	for _, phase := range phases {
		phase = slices.DeleteFunc(phase, func(i int) bool { return places[i].Skip })
		if slices.Sort(phase); len(phase) > 0 {
			out = append(out, phase)
		}
	}
	return out
}
