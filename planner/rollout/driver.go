package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// driver is one run at work. Sessions run in goroutines of their own; everything they share is guarded by mu.
type driver struct {
	Options
	site    string
	brake   *brake
	log     *log
	machine *strategy.Machine
	work    work
	nodes   map[string]site.Node

	mu     sync.Mutex
	report Report
	cut    bool            // something was not done because the run was stopped
	told   map[string]bool // groups whose end is in the journal
	ended  map[string]bool // nodes whose last stage is in the journal
	wrong  error           // this package misused the machine
}

func newDriver(ctx context.Context, siteName string, o Options) *driver {
	d := &driver{
		Options: o, site: siteName, brake: newBrake(ctx, o.Grace, o.GiveUp),
		nodes: map[string]site.Node{}, told: map[string]bool{}, ended: map[string]bool{},
		report: Report{Site: siteName, Run: o.RunID, Nodes: map[string]NodeReport{}, Departed: map[string]DepartedReport{}},
	}
	d.log = newLog(context.WithoutCancel(ctx), o.Recorder, o.Now, d.brake.abort)
	return d
}

// close ends what newDriver started, after all sessions ended.
func (d *driver) close() error {
	err := d.log.close()
	d.brake.release()
	return err
}

// enroll gives every node of a group its place in the report.
func (d *driver) enroll() {
	for _, g := range d.machine.Report().Groups {
		for _, n := range g.Members {
			if _, ok := d.report.Nodes[n]; !ok {
				d.report.Nodes[n] = NodeReport{Group: g.Name}
			}
		}
	}
}

// group prepares and deploys one group when it is its turn, and reports whether the run may go on.
func (d *driver) group(g site.Group) bool {
	next, ok := d.machine.Next()
	if !ok || next != g.Name {
		return ok // it failed with a parent, or all are complete
	}
	if d.stopped() {
		return false
	}
	for _, c := range []call{d.prepareCall(g), d.deployCall(g)} {
		todo := c.start(g.Name)
		succeeded, whole := d.run(c, todo)
		if !whole {
			d.settle(todo, succeeded, c.stage)
			return false
		}
		if shortfalls := c.finish(g.Name, succeeded); len(shortfalls) > 0 {
			break
		}
		if c.stage == strategy.Prepared && d.stopped() {
			return false
		}
	}
	d.tellGroups()
	return true
}

// stopped reports whether the run may start no session any more, and remembers that something was left out for it.
func (d *driver) stopped() bool {
	if !d.brake.stopped() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = true
	return true
}

// call is one prepare or deploy call of a group.
type call struct {
	name   string // "prepare" or "deploy"
	group  string
	stage  strategy.Stage // of a node that succeeds
	limit  time.Duration  // for the whole call
	width  int            // nodes at once
	start  func(group string) []string
	finish func(group string, succeeded []string) []strategy.Shortfall
	rounds func(nodes []string) [][]step
	fill   func(st step) converge.Catalog
}

func (d *driver) prepareCall(g site.Group) call {
	return call{
		name: "prepare", group: g.Name, stage: strategy.Prepared,
		limit: orDuration(g.PrepareTimeout, DefaultPrepareTimeout), width: d.Parallelism,
		start: d.machine.StartPrepare,
		finish: func(group string, succeeded []string) []strategy.Shortfall {
			shortfalls, _ := d.machine.FinishPrepare(group, succeeded)
			return shortfalls
		},
		rounds: func(nodes []string) [][]step {
			round := make([]step, len(nodes))
			for i, n := range nodes {
				round[i] = d.work.prepare[n]
				round[i].node = n
			}
			return [][]step{round}
		},
		fill: func(step) converge.Catalog { return d.catalog(converge.Prepare, nil) },
	}
}

// deployCall returns the call that runs a group's phases after the preparation. In a rolling group a node is locked for each
// phase in which it has work.
func (d *driver) deployCall(g site.Group) call {
	c := call{
		name: "deploy", group: g.Name, stage: strategy.Deployed,
		limit: orDuration(g.DeployTimeout, DefaultDeployTimeout), width: d.Parallelism,
		start: d.machine.StartDeploy, finish: d.machine.FinishDeploy, rounds: d.work.rounds,
		fill: func(st step) converge.Catalog { return d.catalog(converge.Apply, Items(st.tasks)) },
	}
	if r := g.Rolling; r != nil {
		c.width = min(c.width, max(r.MaxParallel, 1))
		c.fill = func(st step) converge.Catalog {
			catalog := d.catalog(converge.Apply, Items(st.tasks))
			catalog.Lock, catalog.Unlock = r.Lock, r.Unlock
			return catalog
		}
	}
	return c
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// run works on the nodes of a call, round by round, and returns those that succeeded in time, sorted. It is not whole when the
// run was stopped before every node had its turn.
func (d *driver) run(c call, todo []string) (succeeded []string, whole bool) {
	ctx, cancel := context.WithTimeoutCause(d.brake.running, c.limit, &TimeLimitError{Call: c.name, Group: c.group, Limit: c.limit})
	defer cancel()
	failed := map[string]bool{}
	var mu sync.Mutex // guards failed and whole
	whole = true
	for _, round := range c.rounds(todo) {
		round = slices.DeleteFunc(round, func(st step) bool { return failed[st.node] })
		if len(round) == 0 {
			continue
		}
		numbers := phases(round)
		d.tellPhases(journal.PhaseStarted, c.group, numbers, "")
		before := len(failed)
		d.each(c.width, round, func(st step) {
			verdict := d.step(ctx, c, st)
			mu.Lock()
			defer mu.Unlock()
			if verdict != done {
				failed[st.node] = true
			}
			if verdict == cutShort {
				whole = false
			}
		})
		status := StatusSucceeded
		if len(failed) > before {
			status = StatusFailed
		}
		d.tellPhases(journal.PhaseFinished, c.group, numbers, status)
	}
	for _, n := range todo {
		if !failed[n] {
			succeeded = append(succeeded, n)
		}
	}
	if c.stage == strategy.Deployed {
		d.tellNodes(succeeded, strategy.Deployed)
	}
	return succeeded, whole
}

// verdict is what became of a node's step.
type verdict int

const (
	done     verdict = iota
	failure          // the node gets no further task in this run
	cutShort         // not started, or given up, because the run was stopped
)

// each calls work for every step, in order, for up to width steps at once, and returns when all calls have.
func (d *driver) each(width int, steps []step, work func(step)) {
	var running sync.WaitGroup
	slots := make(chan struct{}, width)
	for _, st := range steps {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			work(st)
		})
	}
	running.Wait()
}

// step runs one session and puts its outcome into the report.
func (d *driver) step(ctx context.Context, c call, st step) verdict {
	if d.stopped() {
		return cutShort
	}
	if ctx.Err() != nil {
		err := fmt.Errorf("not started: %w", context.Cause(ctx))
		d.note(st.node, func(r *NodeReport) { r.Group, r.Error = c.group, err })
		d.tellNode(c.group, st.node, strategy.Failed, err.Error())
		return failure
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
	d.tellNode(c.group, st.node, strategy.Failed, d.reason(st.node))
	if d.brake.running.Err() != nil && o.err != nil {
		d.stopped()
		return cutShort
	}
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

// settle tells the machine the truth about the nodes of a call that the run was stopped in: those that ended, ended as they did,
// and those that had no turn stay as they were.
func (d *driver) settle(todo, succeeded []string, stage strategy.Stage) {
	for _, n := range todo {
		switch r := d.report.Nodes[n]; {
		case r.failed():
			d.wrong = errors.Join(d.wrong, d.machine.SetNode(n, strategy.Failed))
		case slices.Contains(succeeded, n):
			d.wrong = errors.Join(d.wrong, d.machine.SetNode(n, stage))
		}
	}
}

// remaining brings the machine's last word into the report.
func (d *driver) remaining() {
	d.tellGroups()
	last := d.machine.Report()
	d.report.Groups = last.Groups
	for _, w := range last.Warnings {
		d.warn("", "", w.Error())
	}
	for _, s := range last.Nodes {
		for _, n := range s.Nodes {
			d.note(n, func(r *NodeReport) { r.Stage = s.Stage })
			if r := d.report.Nodes[n]; r.Attempted {
				d.tellNode(r.Group, n, s.Stage, r.Reason())
			}
		}
	}
}
