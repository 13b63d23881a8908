package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// PhaseReport is the result of a phase outside of groups that was started.
type PhaseReport struct {
	Phase     int // its number in the plan, from 1
	TaskGroup task.Group
	Status    Status         // succeeded, failed, or interrupted
	Failures  []PhaseFailure // in the order of the phase
}

// PhaseFailure is a node or a callback that failed in a phase outside of groups.
type PhaseFailure struct {
	Node    string // empty for a callback that belongs to no node
	Message string
}

func (f PhaseFailure) String() string {
	if f.Node == "" {
		return short(f.Message)
	}
	return f.Node + ": " + short(f.Message)
}

// before runs the phases that come before all groups, and reports whether the groups may begin: the first failure stops
// the run (design.md 6). Then groups and nodes are as if they had not started, except nodes without changes.
func (d *driver) before() bool {
	for _, ph := range d.schedule.before {
		status := StatusInterrupted
		if !d.stopped() {
			status, _ = d.outside(ph, true)
		}
		if status == StatusSucceeded {
			continue
		}
		if status == StatusFailed {
			d.halted = fmt.Errorf("the task group %s failed, which stops the run", ph.group)
		}
		for n := range nodesOf(slices.Concat(d.schedule.before, d.schedule.after)...) {
			d.setNode(n, strategy.NotStarted)
		}
		return false
	}
	return true
}

// after runs the phases that come after all groups, on the nodes that are deployed by then. A callback that belongs to
// no node and does not succeed ends them, because what comes later may wait for it.
func (d *driver) after() {
	for i, ph := range d.schedule.after {
		if d.stopped() {
			d.unfinished(d.schedule.after[i:]...)
			break
		}
		if _, goOn := d.outside(ph, false); !goOn {
			d.unfinished(d.schedule.after[i+1:]...)
			break
		}
	}
	for _, n := range slices.Sorted(maps.Keys(nodesOf(d.schedule.after...))) {
		d.mu.Lock()
		r := d.report.Nodes[n]
		d.mu.Unlock()
		if stage := d.nodeStage(n); r.Attempted && stage == strategy.Deployed {
			d.recordNode(r.Group, n, stage, "")
		}
	}
}

// outside runs one phase outside of groups: with first, up to its first failure and to what runs then; else on all
// nodes that are deployed. goOn reports whether the phase behind it may run. A phase of which nothing is left to run is
// not in the report.
func (d *driver) outside(ph phase, first bool) (status Status, goOn bool) {
	c := call{name: string(ph.group), limit: DefaultDeployTimeout, width: d.Parallelism}
	c.fill = func(st step) converge.Catalog {
		catalog := d.catalog(converge.Apply, Items(st.tasks))
		catalog.Needs = d.schedule.needed(st)
		return catalog
	}
	ctx, cancel := context.WithTimeoutCause(d.cancellation.running, c.limit,
		&TimeLimitError{Call: c.name, Limit: c.limit})
	defer cancel()
	x := outsidePhase{verdicts: make([]verdict, len(ph.steps)), failures: make([]string, len(ph.steps)), first: first}
	if !slices.ContainsFunc(ph.steps, func(st step) bool { return d.left(&x, st) }) {
		return StatusSucceeded, true
	}
	d.recordPhases(journal.PhaseStarted, "", []int{ph.number}, nil)
	if ph.kind == callbackKind {
		for i, st := range ph.steps {
			if d.left(&x, st) {
				x.put(i, d.outsideCallback(ctx, &x, i, st))
			}
		}
	} else {
		at := make(map[string]int, len(ph.steps))
		for i, st := range ph.steps {
			at[st.node] = i
		}
		d.each(round{steps: ph.steps}.width(c.width), ph.steps, func(st step) {
			if !d.left(&x, st) {
				return
			}
			v := d.step(ctx, c, st)
			if v == failure {
				x.fail(at[st.node], d.reason(st.node))
			}
			x.put(at[st.node], v)
		})
	}
	return d.concludeOutside(ph, &x)
}

// outsidePhase is a running phase outside of groups.
type outsidePhase struct {
	first bool // the first failure ends it

	mu       sync.Mutex
	verdicts []verdict // by step
	failures []string  // by step: why it failed
	over     bool      // no step is started any more
	broken   bool      // a callback that belongs to no node did not succeed
}

func (x *outsidePhase) put(i int, v verdict) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.verdicts[i] = v
	x.over = x.over || v != done && x.first
}

func (x *outsidePhase) fail(i int, why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failures[i] = why
}

// left reports whether a step is to run: nothing is begun after what ended the phase, and behind the groups only a node
// that is deployed gets more.
func (d *driver) left(x *outsidePhase, st step) bool {
	x.mu.Lock()
	over := x.over || x.broken && st.node == ""
	x.mu.Unlock()
	if over {
		return false
	}
	if x.first || st.node == "" {
		return true
	}
	stage := d.nodeStage(st.node)
	d.mu.Lock()
	defer d.mu.Unlock()
	return stage == strategy.Deployed || stage == "" && !d.report.Nodes[st.node].failed()
}

// outsideCallback carries out a callback outside of groups. Behind the groups, one that belongs to no node is for a
// site that stands: not after a critical group failed.
func (d *driver) outsideCallback(ctx context.Context, x *outsidePhase, i int, st step) verdict {
	if st.node == "" && !x.first && d.criticalFailed() {
		d.warn("", "", fmt.Sprintf("the callback %s is not called, because a critical group failed", st.tasks[0].Name))
		x.broken = true
		return done
	}
	v, err := d.callback(ctx, "", st)
	if v == failure {
		x.fail(i, err.Error())
		if st.node != "" {
			d.note(st.node, func(r *NodeReport) { r.Error = err })
		}
	}
	x.broken = x.broken || v != done && st.node == ""
	return v
}

// concludeOutside brings the end of a phase into the report and the journal.
func (d *driver) concludeOutside(ph phase, x *outsidePhase) (status Status, goOn bool) {
	r := PhaseReport{Phase: ph.number, TaskGroup: ph.group, Status: StatusSucceeded}
	for i, st := range ph.steps {
		switch x.verdicts[i] {
		case failure:
			r.Failures = append(r.Failures, PhaseFailure{st.node, x.failures[i]})
			if !x.first && st.node != "" {
				d.setNode(st.node, strategy.Failed)
				d.mu.Lock()
				group := d.report.Nodes[st.node].Group
				d.mu.Unlock()
				d.recordNode(group, st.node, strategy.Failed, d.reason(st.node))
			}
		case cutShort:
			r.Status = StatusInterrupted
			if !x.first {
				d.unfinished(phase{steps: []step{st}})
			}
		}
	}
	if len(r.Failures) > 0 {
		r.Status = StatusFailed
		d.failRun(true)
	}
	d.report.Outside = append(d.report.Outside, r)
	d.recordPhases(journal.PhaseFinished, "", []int{ph.number}, func(int) bool { return r.Status != StatusSucceeded })
	return r.Status, r.Status != StatusInterrupted && !x.broken
}

// unfinished takes back that nodes are deployed: they have work in phases that were not run.
func (d *driver) unfinished(phases ...phase) {
	for n := range nodesOf(phases...) {
		if d.nodeStage(n) == strategy.Deployed {
			d.setNode(n, strategy.Prepared)
		}
	}
}

// failRun remembers that something failed that the group machine does not see.
func (d *driver) failRun(critical bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case critical:
		d.worst = StatusFailed
	case d.worst == "":
		d.worst = StatusDegraded
	}
}
