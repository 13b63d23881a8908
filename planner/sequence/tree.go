package sequence

import (
	"maps"
	"slices"
)

// TreePhase is what decides when a phase may run beside others.
type TreePhase struct {
	Clusters []string // that its tasks belong to, each once; empty for none
	Common   bool     // some task belongs to no cluster, or must not run beside others
}

// cluster is the one cluster of the phase; empty for a phase that is common to several, or to all.
func (p TreePhase) cluster() string {
	if p.Common || len(p.Clusters) != 1 {
		return ""
	}
	return p.Clusters[0]
}

// Tree tells which phases each phase must wait for before it starts, ascending (litp.md 103 to 107). What dependsOn says of clusters counts
// through clusters without phases too, and no phase overtakes the last common phase or its own cluster's last phase (litp.md Q9).
func Tree(phases []TreePhase, dependsOn map[string][]string) [][]int {
	t := &tree{
		requires: make([][]int, len(phases)), ends: make(map[string]int), taken: make(map[string]bool),
		dependsOn: dependsOn, seen: make([]int, len(phases)),
	}
	for i, p := range phases {
		if i > 0 {
			t.connect(i, p, phases[i-1].cluster())
		}
		t.ends[p.cluster()] = i
		slices.Sort(t.requires[i])
		t.requires[i] = slices.Compact(t.requires[i])
	}
	return t.requires
}

type tree struct {
	requires  [][]int
	ends      map[string]int  // the last phase so far of each cluster; "" is the common one
	taken     map[string]bool // clusters whose end another cluster waits for
	dependsOn map[string][]string
	seen      []int // marks of the last searches
	search    int
}

func (t *tree) connect(i int, p TreePhase, before string) {
	cluster := p.cluster()
	var direct, all []string // clusters that the phase depends on and that have phases
	for _, c := range p.Clusters {
		for _, d := range t.dependsOn[c] {
			if _, ok := t.ends[d]; ok {
				direct = append(direct, d)
			}
		}
		all = append(all, t.allDependencies(c)...)
	}
	switch {
	case cluster == before:
		t.requires[i] = append(t.requires[i], i-1)
	case len(direct) > 0:
		for _, d := range direct {
			t.requires[i] = append(t.requires[i], t.ends[d])
			t.taken[d] = true
		}
	case cluster == "":
		t.requires[i] = append(t.requires[i], i-1)
		for _, c := range slices.Sorted(maps.Keys(t.ends)) {
			if c != "" && !t.taken[c] {
				t.requires[i] = append(t.requires[i], t.ends[c])
			}
		}
	}
	for _, c := range append(all, cluster, "") {
		if end, ok := t.ends[c]; ok && !t.implied(i, end) {
			t.requires[i] = append(t.requires[i], end)
		}
	}
	if cluster == "" { // everything before a common phase is over before it starts
		for _, c := range slices.Sorted(maps.Keys(t.ends)) {
			if !t.implied(i, t.ends[c]) {
				t.requires[i] = append(t.requires[i], t.ends[c])
			}
		}
	}
}

// allDependencies returns the clusters that a cluster depends on, directly or not, the nearest first.
func (t *tree) allDependencies(cluster string) []string {
	seen := map[string]bool{cluster: true}
	var out []string
	for queue := []string{cluster}; len(queue) > 0; queue = queue[1:] {
		for _, d := range t.dependsOn[queue[0]] {
			if !seen[d] {
				seen[d] = true
				out = append(out, d)
				queue = append(queue, d)
			}
		}
	}
	return out
}

// implied reports whether phase i waits for phase end already, directly or through others.
func (t *tree) implied(i, end int) bool {
	t.search++
	for stack := slices.Clone(t.requires[i]); len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == end {
			return true
		}
		if at > end && t.seen[at] != t.search {
			t.seen[at] = t.search
			stack = append(stack, t.requires[at]...)
		}
	}
	return false
}

// PhaseState is how far a phase has come.
type PhaseState int

// The states of a phase.
const (
	PhaseWaiting PhaseState = iota // it has tasks that have not begun
	PhaseRunning                   // all its tasks have begun
	PhaseDone                      // all its tasks succeeded
	PhaseFailed                    // a task failed
)

// Begin is what completed is when a plan begins or is resumed.
const Begin = -1

// Ready returns the phases to start, ascending, after phase completed has ended, or at [Begin]: then the phases with failures start again,
// and all that were not begun and whose requirements are done (litp.md 108, 120).
func Ready(tree [][]int, states []PhaseState, completed int) []int {
	done := func(phase int) bool { return states[phase] == PhaseDone }
	resume := completed == Begin && slices.Contains(states, PhaseFailed)
	var out []int
	for i, requires := range tree {
		switch {
		case resume && states[i] == PhaseFailed:
			out = append(out, i)
		case states[i] != PhaseWaiting || completed != Begin && !slices.Contains(requires, completed):
		case allOf(requires, done):
			out = append(out, i)
		}
	}
	return out
}

func allOf(list []int, is func(int) bool) bool {
	return !slices.ContainsFunc(list, func(i int) bool { return !is(i) })
}
