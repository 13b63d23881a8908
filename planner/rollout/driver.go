package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// driver is one active run. Sessions, and groups that run in parallel, have their own goroutines. mu guards what they
// share; walk guards the group machine. walk is never taken while mu is held.
type driver struct {
	Options
	site         string
	cancellation *cancellation
	log          *log
	schedule     schedule
	nodes        map[string]site.Node
	wanted       map[string]site.Node // those of the site; empty when it is torn down
	owned        map[string][]string  // group -> the nodes that the plan assigns to it
	// group -> the groups that must finish before it because of its tasks
	waits   map[string][]string
	locks   locks
	slots   chan struct{} // one token per active node: Parallelism
	calling chan struct{} // one token: the running callback

	walk           sync.Mutex
	machine        *strategy.Machine
	recordedGroups map[string]bool // groups whose end is in the journal
	wrong          error           // this package misused the machine

	mu           sync.Mutex
	report       Report
	cut          bool            // something was left out because the run was stopped
	halted       error           // why no group was started
	worst        Status          // status of what the machine does not see: degraded, failed, or empty
	ended        map[string]bool // nodes whose last stage is in the journal
	actionsKnown map[string]bool // nodes whose ledger has their actions
	callFailed   map[string]bool // callbacks by name
	contacted    map[string]bool // nodes that answered in this run
}

func newDriver(ctx context.Context, siteName string, o Options) *driver {
	d := &driver{
		Options: o, site: siteName, cancellation: newCancellation(ctx, o.Grace, o.GiveUp),
		nodes: map[string]site.Node{}, wanted: map[string]site.Node{}, owned: map[string][]string{},
		waits: map[string][]string{}, locks: locks{locked: map[string]bool{}},
		slots: make(chan struct{}, o.Parallelism), calling: make(chan struct{}, 1),
		recordedGroups: map[string]bool{}, ended: map[string]bool{}, actionsKnown: map[string]bool{},
		callFailed: map[string]bool{}, contacted: map[string]bool{},
		report: Report{
			Site: siteName, Run: o.RunID, Nodes: map[string]NodeReport{}, Departed: map[string]DepartedReport{},
			Callbacks: map[string]string{}, Values: Values{},
		},
	}
	d.log = newLog(context.WithoutCancel(ctx), o.Recorder, o.Now, d.cancellation.abort)
	return d
}

// close ends what newDriver started, after all sessions have ended.
func (d *driver) close() error {
	err := d.log.close()
	d.cancellation.release()
	return err
}

// outsideStage is the stage of a node without a group.
func outsideStage(r NodeReport, halted bool) strategy.Stage {
	switch {
	case halted || !r.Attempted && r.Error == nil:
		return strategy.NotStarted
	case r.failed():
		return strategy.Failed
	}
	return strategy.Deployed
}

// enroll adds every node of a group to the report.
func (d *driver) enroll() {
	for _, g := range d.machine.Report().Groups {
		for _, n := range g.Members {
			if _, ok := d.report.Nodes[n]; !ok {
				d.report.Nodes[n] = NodeReport{Group: g.Name}
			}
		}
	}
}

// group prepares and deploys one group and reports whether the run may continue.
func (d *driver) group(g site.Group) bool {
	if d.stopped() {
		return false
	}
	for _, c := range []call{d.prepareCall(g), d.deployCall(g)} {
		todo := d.start(c)
		succeeded, whole := d.run(c, todo)
		if !whole {
			d.recordInterrupted(todo, succeeded, c.stage)
			return false
		}
		if shortfalls := d.finish(c, succeeded); len(shortfalls) > 0 {
			break
		}
		if c.stage == strategy.Prepared && d.stopped() {
			return false
		}
	}
	d.recordGroups()
	return true
}

// stopped reports whether no session may be started any more, and records that something was left out.
func (d *driver) stopped() bool {
	if !d.cancellation.stopped() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = true
	return true
}

// call is one prepare or deploy call of a group, or a phase outside of groups.
type call struct {
	name     string // "prepare" or "deploy", or the task group of a phase outside of groups
	group    string // empty outside
	critical bool
	stage    strategy.Stage // of a node that succeeds; empty outside
	limit    time.Duration  // for the whole call
	width    int            // nodes at once
	rolling  *site.Rolling  // nil: nodes are not locked
	start    func(group string) []string
	finish   func(group string, succeeded []string) []strategy.Shortfall
	rounds   func(nodes []string) []round
	fill     func(st step) converge.Catalog
}

func (d *driver) prepareCall(g site.Group) call {
	return call{
		name: "prepare", group: g.Name, critical: g.Critical, stage: strategy.Prepared,
		limit: orDuration(g.PrepareTimeout, DefaultPrepareTimeout), width: d.Parallelism,
		start: d.machine.StartPrepare,
		finish: func(group string, succeeded []string) []strategy.Shortfall {
			shortfalls, _ := d.machine.FinishPrepare(group, succeeded)
			return shortfalls
		},
		rounds: d.schedule.prepareRounds,
		fill: func(st step) converge.Catalog {
			catalog := d.catalog(converge.Prepare, nil)
			catalog.Needs = d.schedule.needs[st.node]
			return catalog
		},
	}
}

// deployCall returns the call that runs a group's phases after the preparation.
func (d *driver) deployCall(g site.Group) call {
	c := call{
		name: "deploy", group: g.Name, critical: g.Critical, stage: strategy.Deployed, rolling: g.Rolling,
		limit: orDuration(g.DeployTimeout, DefaultDeployTimeout), width: d.Parallelism,
		start: d.machine.StartDeploy, finish: d.machine.FinishDeploy,
		rounds: func(nodes []string) []round { return d.schedule.rounds(g.Name, nodes, g.Rolling != nil) },
		fill: func(st step) converge.Catalog {
			catalog := d.catalog(converge.Apply, Items(st.tasks))
			catalog.Unlock = st.unlock
			return catalog
		},
	}
	if r := g.Rolling; r != nil {
		c.width = min(c.width, max(r.MaxParallel, 1))
	}
	return c
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// run runs a call on its nodes, round by round, and returns those that succeeded in time, in their order. whole is
// false when the run was stopped before every node had run.
func (d *driver) run(c call, todo []string) (succeeded []string, whole bool) {
	ctx, cancel := context.WithTimeoutCause(d.cancellation.running, c.limit,
		&TimeLimitError{Call: c.name, Group: c.group, Limit: c.limit})
	defer cancel()
	p := newProgress(todo)
	for _, r := range c.rounds(todo) {
		r = r.of(p)
		numbers := r.phases()
		if len(r.steps)+len(r.lockWindows) == 0 || r.kind == callbackKind && !d.anyCallback(c, r, p) {
			continue
		}
		d.recordPhases(journal.PhaseStarted, c.group, numbers, nil)
		switch {
		case r.lockWindows != nil:
			d.lockWindows(ctx, c, r, p)
		case r.kind == callbackKind:
			d.callbacks(ctx, c, r, p)
		default:
			d.each(r.width(c.width), r.steps, func(st step) {
				if st.waits != "" {
					d.refuse(c, st, p, errors.New(st.waits))
					return
				}
				p.add(st, d.step(ctx, c, st))
			})
		}
		d.recordPhases(journal.PhaseFinished, c.group, numbers, p.failedIn)
	}
	succeeded = p.succeeded()
	if c.stage == strategy.Deployed {
		d.recordNodes(succeeded, strategy.Deployed)
	}
	return succeeded, p.whole
}

// verdict is the result of a step.
type verdict int

const (
	done     verdict = iota
	failure          // the node gets no further task in this run
	cutShort         // not started, or given up, because the run was stopped
)

// each calls do for every step, in order, at most width at once, and returns when all calls have returned.
func (d *driver) each(width int, steps []step, do func(step)) {
	var running sync.WaitGroup
	limit := make(chan struct{}, width)
	for _, st := range steps {
		limit <- struct{}{}
		d.slots <- struct{}{}
		running.Go(func() {
			defer func() {
				<-d.slots
				<-limit
			}()
			do(st)
		})
	}
	running.Wait()
}

// step runs one session and records its outcome in the report.
func (d *driver) step(ctx context.Context, c call, st step) verdict {
	if d.stopped() {
		return cutShort
	}
	fail := func(err error) verdict {
		d.note(st.node, func(r *NodeReport) { r.Group, r.Error = or(c.group, r.Group), err })
		d.recordFailure(c, st.node)
		return failure
	}
	if ctx.Err() != nil {
		return fail(fmt.Errorf("not started: %w", context.Cause(ctx)))
	}
	st, err := d.resolved(c.group, st)
	if err != nil {
		return fail(err)
	}
	if len(st.tasks) == 0 && c.stage != strategy.Prepared && c.rolling == nil {
		return done // none could be resolved, and all of them may fail
	}
	o := d.session(ctx, d.nodes[st.node], c.fill(st), st, c.group)
	if !o.sent {
		d.stopped()
		return cutShort
	}
	for _, w := range o.warnings {
		d.warn(c.group, st.node, w)
	}
	d.note(st.node, func(r *NodeReport) { r.take(c.group, o) })
	if o.ok() {
		return done
	}
	if o.err != nil && (d.cancellation.running.Err() != nil || busy(o.err) && d.cancellation.stopped()) {
		d.recordFailure(c, st.node)
		d.stopped()
		return cutShort
	}
	d.recordFailure(c, st.node)
	return failure
}

// note changes a node's report.
func (d *driver) note(node string, change func(*NodeReport)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.report.Nodes[node]
	change(&r)
	d.report.Nodes[node] = r
}

func (d *driver) reason(node string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.report.Nodes[node].Reason()
}

// remaining copies the final state of the group machine to the report.
func (d *driver) remaining() {
	d.refuseIdle()
	d.recordGroups()
	last := d.machine.Report()
	d.report.Groups = last.Groups
	for _, w := range last.Warnings {
		d.warn("", "", w.Error())
	}
	for _, s := range last.Nodes {
		for _, n := range s.Nodes {
			d.note(n, func(r *NodeReport) { r.Stage = s.Stage })
			if r := d.report.Nodes[n]; r.Attempted {
				d.recordNode(r.Group, n, s.Stage, r.Reason())
			}
		}
	}
	for n := range d.report.Nodes {
		d.note(n, func(r *NodeReport) {
			if r.Stage == "" { // it is in no group and has work outside of groups
				r.Stage = outsideStage(*r, d.halted != nil)
			}
			r.Locked = d.locks.isLocked(n)
			r.Ledger = withLock(r.Ledger, r.Locked)
		})
	}
}

// refuseIdle fails nodes without changes that are the machine of another node: such a machine is left alone under both
// names.
func (d *driver) refuseIdle() {
	for _, n := range slices.Sorted(maps.Keys(d.wanted)) {
		if err := d.Machines.refusal(n); err != nil && d.nodeStage(n) == strategy.Deployed &&
			!d.report.Nodes[n].Attempted {
			d.failRun(true)
			d.setNode(n, strategy.Failed)
			d.note(n, func(r *NodeReport) { r.Error = err })
			d.recordNode(d.report.Nodes[n].Group, n, strategy.Failed, err.Error())
		}
	}
}
