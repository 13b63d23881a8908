package conformance

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// entry is what one node or the controller does at once during a run: the tasks of a session, a lock, an unlock, a
// callback.
type entry struct {
	ids        []string
	phase      int  // of the plan; -1 for a lock or an unlock around a node's tasks
	config     bool // it has configuration resources
	start, end time.Duration
}

// nodes are machines and a controller on which everything succeeds. They note what they do.
type nodes struct {
	planned
	slow    []string // what takes long
	began   time.Time
	mu      sync.Mutex
	locked  map[string]bool
	entries []entry
}

// trace runs a plan and returns what is done, in order. Groups that may are worked on at once.
func (p planned) trace(t testing.TB, parallel bool, slow ...string) []entry {
	t.Helper()
	n := &nodes{planned: p, slow: slow, locked: make(map[string]bool)}
	if node, _ := nodeOf(p.model.leftLocked); node != "" {
		n.locked[node] = true
	}
	departed := make(map[string]site.Node)
	for _, node := range p.plan.Departed {
		departed[node] = site.Node{Name: node, Address: node}
	}
	options := rollout.Options{
		Departed: departed,
		Executor: n, Recorder: forgetful{}, Caller: n, RunID: "run", Parallelism: 1,
		Resolve: func(_ *planner.Plan, of task.Task, v rollout.Values) (task.Task, error) { return p.plan.Resolve(of, v) },
	}
	if parallel {
		options.Parallelism, options.ParallelGroups = 100, 100
	}
	var report rollout.Report
	var err error
	synctest.Test(under(t), func(t *testing.T) {
		n.began = time.Now()
		report, err = rollout.Run(t.Context(), p.site, p.plan, options)
	})
	if err != nil || report.Status != rollout.StatusSucceeded {
		t.Fatalf("the run ends as %s: %v", report.Status, err)
	}
	slices.SortStableFunc(n.entries, func(a, b entry) int { return int(a.start - b.start) })
	return n.entries
}

// under returns the test that an attempt belongs to.
func under(t testing.TB) *testing.T {
	if a, ok := t.(*attempted); ok {
		return under(a.TB)
	}
	return t.(*testing.T)
}

// pause takes a second, or long.
func (n *nodes) pause(ids []string) {
	if slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(n.slow, id) }) {
		time.Sleep(20 * time.Minute)
	}
	time.Sleep(time.Second)
}

// do notes an entry.
func (n *nodes) do(e entry) {
	e.start = time.Since(n.began)
	n.pause(e.ids)
	e.end = time.Since(n.began)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entries = append(n.entries, e)
}

func (n *nodes) Close() error { return nil }

// find returns a task of the plan and the number of its phase.
func (n *nodes) find(node string, is func(task.Task) bool) (task.Task, int) {
	for i, phase := range n.plan.Phases {
		for _, of := range phase.Tasks {
			if of.Node == node && is(of) {
				return of, i
			}
		}
	}
	return task.Task{}, -1
}

func (n *nodes) Call(_ context.Context, _ io.Writer, of task.Task) (map[string]any, error) {
	_, phase := n.find(of.Node, func(other task.Task) bool { return other.Name == of.Name })
	n.do(entry{ids: []string{n.id(of)}, phase: phase})
	return nil, nil
}

// lock locks or unlocks a node.
func (n *nodes) lock(node, what string, locked bool) {
	n.do(entry{ids: []string{what + ":" + node}, phase: -1})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.locked[node] = locked
}

func (n *nodes) isLocked(node string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.locked[node]
}

func (n *nodes) Converge(_ context.Context, on site.Node, c converge.Manifest, each func(converge.Result)) (converge.Summary, error) {
	if c.Mode == converge.Prepare {
		n.pause([]string{"prepare:" + on.Name})
	}
	apply := c.Mode == converge.Apply && !c.TearDown
	if apply && c.Lock != "" && !n.isLocked(on.Name) {
		n.lock(on.Name, "lock", true)
	}
	e := entry{phase: -1}
	for _, i := range c.Items {
		of, phase := n.find(on.Name, func(of task.Task) bool { return of.Resource.ID() == i.ID() })
		e.ids, e.phase, e.config = append(e.ids, n.id(of)), phase, of.Kind == task.Config
	}
	if c.TearDown {
		of, phase := n.find(on.Name, func(of task.Task) bool { return of.Action == task.Forget })
		e.ids, e.phase = []string{n.id(of)}, phase
	}
	if len(e.ids) > 0 {
		n.do(e)
	}
	for _, i := range c.Items {
		each(converge.Result{ID: i.ID(), Status: converge.Changed})
	}
	if apply && n.isLocked(on.Name) && !c.Keep && (c.Unlock != "" || len(c.Items) == 0) {
		n.lock(on.Name, "unlock", false)
	}
	return converge.Summary{
		Protocol: converge.Protocol, Identity: converge.Identity{Ledger: on.Name, Machine: on.Name, Boot: "boot", Root: on.Name},
		Ledger: map[resource.ID]string{}, Locked: n.isLocked(on.Name),
	}, nil
}

// phases sorts what a run did into the phases that a vector expects, and reports what does not fit. What a phase of the
// plan holds on several nodes is one phase, and so are neighbouring phases of callbacks and remote tasks, of which
// slipway has one for each kind and remote task.
func (p planned) phases(t testing.TB, entries []entry, want [][]string) {
	t.Helper()
	var got [][]string
	same := func(a, b entry) bool {
		return a.phase >= 0 && b.phase >= 0 && (a.phase == b.phase || !a.config && !b.config)
	}
	at := 0
	for i := range want {
		want[i] = p.want(want[i])
	}
	want = slices.DeleteFunc(want, func(ids []string) bool { return len(ids) == 0 })
	for i, e := range entries {
		// A phase ends where another one begins that cannot be the same, or where it is complete.
		begins := i == 0 || !same(entries[i-1], e)
		if !begins && at < len(want) && entries[i-1].phase != e.phase && slices.Equal(sortedIDs(got[len(got)-1]), want[at]) {
			begins = true
		}
		if begins {
			at = len(got)
			got = append(got, nil)
		}
		got[len(got)-1] = append(got[len(got)-1], e.ids...)
	}
	if !slices.EqualFunc(got, want, func(a, b []string) bool { return slices.Equal(sortedIDs(a), b) }) {
		t.Errorf("phases: got %v, want %v", got, want)
	}
}

func sortedIDs(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// tree finds which of the expected phases wait for which others: in no run do they start before those are over,
// whatever takes long in it.
func (p planned) tree(t testing.TB, phases [][]string) [][]int {
	t.Helper()
	waits := make(map[[2]int]bool)
	for i := range phases {
		for j := range phases {
			waits[[2]int{i, j}] = i != j
		}
	}
	slow := each(phases, p.want)
	for _, n := range p.site.Nodes {
		slow = append(slow, []string{"prepare:" + n.Name})
	}
	for _, ids := range slow {
		starts, ends := make([]time.Duration, len(phases)), make([]time.Duration, len(phases))
		for _, e := range slices.Backward(p.trace(t, true, ids...)) {
			for i, ids := range phases {
				if slices.ContainsFunc(p.want(ids), func(id string) bool { return slices.Contains(e.ids, id) }) {
					starts[i], ends[i] = e.start, max(ends[i], e.end)
				}
			}
		}
		for pair := range waits {
			waits[pair] = waits[pair] && starts[pair[0]] >= ends[pair[1]]
		}
	}
	out := make([][]int, len(phases))
	for i := range phases {
		for j := range phases {
			if waits[[2]int{i, j}] {
				out[i] = append(out[i], j)
			}
		}
	}
	return out
}

// closed adds what is required through others to a tree.
func closed(tree map[int][]int) [][]int {
	out := make([][]int, len(tree))
	for _, i := range slices.Sorted(maps.Keys(tree)) {
		all := slices.Clone(tree[i])
		for _, j := range tree[i] {
			all = append(all, out[j]...)
		}
		out[i] = slices.Compact(slices.Sorted(slices.Values(all)))
	}
	return out
}
