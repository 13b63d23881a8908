package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// driver executes the commands of a [run.Machine], which decides everything. Sessions and callbacks have their own
// goroutines, which change nothing of the driver: what came of them is taken by the goroutine of drive.
type driver struct {
	Options
	site         string
	plan         *planner.Plan // without phases: the site is torn down
	program      run.Program
	cancellation *cancellation
	log          *log
	nodes        map[string]site.Node
	wanted       map[string]site.Node     // those of the site; empty when it is torn down
	rolling      map[string]*site.Rolling // by group
	needs        map[string][]string      // node -> programs that its remote tasks call
	actions      map[string][]resource.ID

	endings      chan ending
	losses       chan loss
	lose         func(loss) // passes a loss on
	next         run.Event  // one that was received, and not handled yet
	wake         <-chan time.Time
	polls        <-chan time.Time // when to look what a person decided
	decided      []run.Event      // by a person, not handled yet
	cancelled    bool             // by a person
	stopped      bool             // the machine knows that the run is stopped
	gaveUp       bool             // and that running sessions were given up
	lost         map[run.ID]loss  // sessions that wait for what the machine says of them
	report       Report           // of the pass
	whole        Report           // of the run, up to the end of the last pass
	refused      error            // why a pass could not be driven
	removed      map[string]TearDownNode
	actionsKnown map[string]bool // nodes whose ledger has their actions
	callFailed   map[string]bool // callbacks by name
	repeats      bool            // it does again what another process kept of the run
}

// ending is the end of a session that take has not brought into the report and the journal yet.
type ending struct {
	session session
	end     *sessionEnd
}

// loss is a session that was lost before it started anything, and waits to learn whether it is tried again.
type loss struct {
	id    run.ID
	err   error
	again chan bool
}

func newDriver(ctx context.Context, siteName string, o Options) *driver {
	d := &driver{
		Options: o, site: siteName, cancellation: newCancellation(ctx, o.Grace, o.GiveUp),
		endings: make(chan ending), losses: make(chan loss), lost: map[run.ID]loss{},
	}
	d.lose = func(l loss) { d.losses <- l }
	d.log = newLog(context.WithoutCancel(ctx), o.Recorder, o.Lost, o.Now, func(err error) {
		if o.Drive != nil {
			err = elsewhere(err)
		}
		d.cancellation.abort(err)
	})
	d.repeats = len(o.Saved) > 0
	d.log.mute(d.repeats)
	d.reset()
	return d
}

// reset forgets what is known of a pass.
func (d *driver) reset() {
	d.nodes, d.wanted, d.rolling = map[string]site.Node{}, map[string]site.Node{}, map[string]*site.Rolling{}
	d.removed, d.actionsKnown = map[string]TearDownNode{}, map[string]bool{}
	d.callFailed = map[string]bool{}
	d.report = Report{
		Site: d.site, Run: d.RunID, Nodes: map[string]NodeReport{}, Departed: map[string]TearDownNode{},
		Callbacks: map[string]string{}, Values: Values{},
	}
}

// close ends what newDriver started, after all sessions have ended.
func (d *driver) close() error {
	err := d.log.close()
	d.cancellation.release()
	return err
}

// drive runs the program until the machine says that it is over.
func (d *driver) drive() *run.Report {
	if d.Drive != nil {
		return d.host(context.WithoutCancel(d.cancellation.stopping))
	}
	m := run.New(d.program)
	if d.Decisions != nil {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		d.polls = ticker.C
	}
	for d.next = (run.Event{Kind: run.Begin}); ; {
		e := d.event()
		e.Twice = d.Machines.twice()
		for _, c := range m.Handle(e, d.Now()) {
			if c.Kind == run.Finish {
				if !d.program.Asks {
					d.passOver(c.Report)
				}
				return c.Report
			}
			d.execute(c)
		}
	}
}

// event waits for the next event. That the run is stopped comes before what happens after it.
func (d *driver) event() run.Event {
	stopping, running := d.cancellation.stopping.Done(), d.cancellation.running.Done()
	if d.stopped {
		stopping = nil
	}
	if d.gaveUp {
		running = nil
	}
	if d.next.Kind == "" && len(d.decided) > 0 {
		d.next, d.decided = d.decided[0], d.decided[1:]
	}
	if d.next.Kind == "" {
		select {
		case e := <-d.endings:
			d.next = run.Event{Kind: run.Ended, ID: e.session.ID, Result: d.take(e.session, e.end).Bounded()}
		case l := <-d.losses:
			d.next, d.lost[l.id] = run.Event{Kind: run.Lost, ID: l.id}, l
		case <-d.wake:
			d.next, d.wake = run.Event{Kind: run.Woken}, nil
		case <-d.polls:
			d.decide()
		case <-stopping:
		case <-running:
		}
	}
	switch {
	case !d.stopped && d.cancellation.stopped():
		d.stopped = true
		return run.Event{Kind: run.Stop}
	case !d.gaveUp && d.cancellation.running.Err() != nil:
		d.gaveUp = true
		return run.Event{Kind: run.GiveUp}
	}
	e := d.next
	d.next = run.Event{}
	return e
}

// pollInterval is how often a run looks what persons have decided about it.
const pollInterval = time.Second

// decide takes what persons have decided. Approval is for the plan that it was given for: another pass of the run has
// another one. When the journal cannot be read, the next poll tries again.
func (d *driver) decide() {
	decisions, err := d.Decisions.Decisions(context.WithoutCancel(d.cancellation.stopping))
	if err != nil {
		return
	}
	for _, e := range decisions {
		switch e.Action {
		case journal.Approve:
			if d.plan != nil && e.Output == d.plan.Digest {
				d.decided = append(d.decided, run.Event{Kind: run.Approve, Group: e.Group, Batch: e.Phase})
			}
		case journal.Hold:
			d.decided = append(d.decided, run.Event{Kind: run.Hold})
		case journal.Resume:
			d.decided = append(d.decided, run.Event{Kind: run.Resume})
		case journal.Cancel:
			if !d.cancelled {
				d.warn("", "", "the run was cancelled "+e.Message)
			}
			d.cancelled = true
			d.cancellation.stop(fmt.Errorf("%w: cancelled %s", run.ErrInterrupted, e.Message))
		}
	}
}

// execute executes a command.
func (d *driver) execute(c run.Command) {
	e := journal.Event{Kind: journal.Kind(c.Kind), Group: c.Group, Phase: c.Phase, Node: c.Node, Status: string(c.Stage),
		Message: c.Text}
	switch c.Kind {
	case run.Start:
		d.start(c)
		return
	case run.Retry:
		d.lost[c.ID].again <- true
		e.Kind, e.Message = journal.Note, fmt.Sprintf("the session was lost before it started anything, and is tried "+
			"again in %s: %s", c.Until.Sub(d.Now()).Round(time.Second), d.lost[c.ID].err)
	case run.Settle:
		d.lost[c.ID].again <- false
		return
	case run.NextPass:
		d.passOver(c.Report)
		d.next = d.nextPass(c, nil, d.Now())
		return
	case run.Fail:
		d.failed(c, cmp.Or(c.Err, d.Machines.refusal(c.Node)))
		return
	case run.Warn:
		d.warn(c.Group, c.Node, c.Text)
		return
	case run.Wake:
		d.wake = time.After(c.Until.Sub(d.Now()))
		return
	case run.PutBack:
		e.Kind, e.Action = journal.Note, string(task.Restore)
	case run.Pause:
		e.Kind = journal.Note
		if c.Batch > 0 {
			e.Kind, e.Phase, e.Output = journal.Paused, c.Batch, d.plan.Digest
			e.Message += ": terraform-provider-slipway runs approve " + d.RunID
		}
	case run.Removed:
		e.Kind, e.Status, e.Message = journal.NodeFinished, string(c.Removal), d.tornDown(c).Message
	case run.Depart:
		d.depart(c.Node, c.Removal)
		return
	case run.PhaseFinished:
		e.Status = string(StatusSucceeded)
		if c.Failed {
			e.Status = string(StatusFailed)
		}
	case run.NodeFinished:
		e.Message = d.report.Nodes[c.Node].Reason()
	case run.PhaseStarted, run.GroupFinished, run.Finish:
	}
	d.log.append(e)
}

// failed records in the report that a node failed before its session.
func (d *driver) failed(c run.Command, err error) {
	d.note(c.Node, func(r *NodeReport) { r.Group, r.Error = cmp.Or(c.Group, r.Group), err })
}

// warn adds a warning to the report and to the journal.
func (d *driver) warn(group, node, text string) {
	d.report.Warnings = append(d.report.Warnings, text)
	d.log.append(journal.Event{Kind: journal.Note, Group: group, Node: node, Message: text})
}

// note changes a node's report.
func (d *driver) note(node string, change func(*NodeReport)) {
	r := d.report.Nodes[node]
	change(&r)
	d.report.Nodes[node] = r
}

// session is a session that runs.
type session struct {
	run.Command
	node   site.Node
	tasks  []task.Task
	begins []resource.ID // actions that it starts in the ledger
	values Values        // what callbacks have returned by now; not changed
	// restored: another process started it, and may have begun it
	restored bool
}

// prepared returns a session or a callback that is to start.
func (d *driver) prepared(c run.Command) session {
	s := session{Command: c, node: d.nodes[c.Node], tasks: d.tasks(c), values: d.report.Values}
	if c.Session.Kind != run.TearDown && c.Session.Kind != run.Check && !d.actionsKnown[c.Node] {
		s.begins = d.actions[c.Node]
	}
	return s
}

// within returns the context of a session that may take so long.
func (d *driver) within(c run.Command, limit time.Duration) (context.Context, context.CancelFunc) {
	base := d.cancellation.running
	if c.ID.Purpose == run.UnlockAfter {
		base = d.cancellation.unlocking
	}
	return context.WithTimeoutCause(base, limit, c.Limit)
}

// start starts a session or a callback.
func (d *driver) start(c run.Command) {
	s := d.prepared(c)
	ctx, cancel := d.within(c, c.Until.Sub(d.Now()))
	go func() {
		defer cancel()
		if e := d.runs(ctx, s); e != nil {
			d.endings <- ending{s, e}
		}
	}()
}

// tasks returns the tasks of a session.
func (d *driver) tasks(c run.Command) []task.Task {
	switch s := c.Session; {
	case c.ID.Purpose == run.UnlockAfter:
		return []task.Task{{Node: s.Node, Group: task.Node, Action: task.Unlock}}
	case c.ID.Purpose == run.Work && s.Phase > 0 && s.Kind != run.Separation:
		return d.plan.Phases[s.Phase-1].Tasks[s.From:s.To]
	case s.Kind == run.Check:
		return []task.Task{{Node: s.Node, Group: task.Node, Action: task.HealthCheck}}
	case s.Kind == run.TearDown:
		return []task.Task{{Node: s.Node, Group: task.Cleanup, Action: task.Forget}}
	}
	return nil
}

// sessionEnd is what came of a session.
type sessionEnd struct {
	Outcome outcome        // of a session with a node
	Status  run.Outcome    // of one without a node, or a tear-down
	Called  bool           // the callback was called
	Digest  string         // of the task of the callback, as it was called
	Values  map[string]any // what it returned
	Err     error          // why it failed, or why the tasks of a session cannot be resolved
	// Removed are the nodes that are not torn down, or the one that was.
	Removed map[string]TearDownNode
	// GaveUp: running sessions were given up when the end was taken.
	GaveUp bool
}

// runs runs a session to its end; nil: it was lost before it started anything, and is tried again.
func (d *driver) runs(ctx context.Context, s session) *sessionEnd {
	switch {
	case s.Session.Kind == run.Separation:
		return d.separation(ctx, s)
	case s.Session.Kind == run.TearDown:
		return d.tearDownNode(ctx, s)
	case s.Session.Kind == run.Soak:
		return d.soak(s)
	case s.ID.Purpose == run.UnlockAfter:
		return d.unlock(ctx, s)
	case s.ID.Purpose == run.Work && s.Session.Kind == run.Callback:
		return d.callback(ctx, s)
	}
	planned := len(s.tasks)
	warnings, err := d.resolveAll(ctx, &s)
	if err != nil {
		return &sessionEnd{Err: err}
	}
	var o outcome
	if planned > 0 && len(s.tasks) == 0 && d.rolling[s.Group] == nil { // none could be resolved, and all may fail
		o.nothing = true
	} else {
		o = d.session(ctx, s, d.manifest(s))
	}
	if o.again {
		return nil
	}
	o.warnings = append(warnings, o.warnings...)
	return &sessionEnd{Outcome: o}
}

// take brings the end of a session into the report and the journal.
func (d *driver) take(s session, e *sessionEnd) run.Result {
	e.GaveUp = e.GaveUp || d.cancellation.running.Err() != nil
	switch {
	case s.Session.Kind == run.Separation:
		out := make(map[string]run.Removal, len(e.Removed))
		for name, n := range e.Removed {
			d.removed[name], out[name] = n, n.Status
		}
		return run.Result{Outcome: run.Succeeded, Decided: out}
	case s.Session.Kind == run.TearDown:
		for _, w := range e.Outcome.warnings {
			d.warn("", s.Node, w)
		}
		d.removed[s.Node] = e.Removed[s.Node]
		return e.Outcome.result(run.Result{Outcome: e.Status, Removal: e.Removed[s.Node].Status})
	case s.Session.Kind == run.Soak:
		return run.Result{Outcome: e.Status}
	case s.ID.Purpose == run.UnlockAfter:
		return d.unlocked(s, e.Outcome)
	case s.ID.Purpose == run.Work && s.Session.Kind == run.Callback:
		return d.calledBack(s, e)
	case e.Err != nil:
		d.failed(s.Command, e.Err)
		return run.Result{Outcome: run.Failed, Err: e.Err}
	}
	return d.ended(s, e.Outcome, e.GaveUp)
}

// soak lets the time of a soak pass. It ends when the run is stopped.
func (d *driver) soak(s session) *sessionEnd {
	left := s.Until.Sub(d.Now())
	d.log.append(journal.Event{Kind: journal.Note, Group: s.Group, Action: journal.Soak,
		Message: fmt.Sprintf("%s soaks for %s", s.Text, left.Round(time.Second))})
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return &sessionEnd{Status: run.Succeeded}
	case <-d.cancellation.stopping.Done():
		return &sessionEnd{Status: run.NotStarted}
	}
}

// manifest returns what a node is to do in a session.
func (d *driver) manifest(s session) converge.Manifest {
	mode := converge.Apply
	switch s.Session.Kind {
	case run.Prepare:
		mode = converge.Prepare
	case run.Check:
		mode = converge.Check
	}
	c := d.catalog(mode, Items(s.tasks))
	switch {
	case mode == converge.Check:
		h, last := d.checkOf(s)
		c.Health = &converge.HealthCheck{Command: h.Command, Retries: h.Retries,
			Timeout:  cmp.Or(h.Timeout, site.DefaultCheckTimeout),
			Interval: cmp.Or(h.Interval, site.DefaultCheckInterval)}
		c.Checked = last
	case mode == converge.Prepare:
		c.Needs = d.needs[s.Node]
	case s.Group == "": // no preparation has checked them
		c.Needs = needed(s.tasks, d.needs[s.Node])
	}
	c.Restore = s.Session.Kind == run.Rollback
	r := d.rolling[s.Group]
	works := r != nil && mode == converge.Apply && !c.Restore && !s.Session.Last
	c.Images = works && r.OnFailure == site.OnFailureRollback
	c.Unchecked = works && r.HealthCheck != nil && s.Session.Kind != run.Unlock
	if r != nil && s.Window {
		c.Lock, c.Unlock, c.Keep = r.Lock, r.Unlock, s.Keep
	} else if r != nil && s.Session.Kind == run.Unlock {
		c.Unlock = r.Unlock
	}
	return c
}

// checkOf returns the health check of a session, and whether it is the last one of its batch. Where the group that
// works on a node has none, it is that of the group in the plan.
func (d *driver) checkOf(s session) (h *site.HealthCheck, last bool) {
	r := d.rolling[s.Group]
	if r == nil || r.HealthCheck == nil {
		return d.rolling[s.Session.Group].HealthCheck, true
	}
	return r.HealthCheck, s.Session.Soaked || r.Soak == 0
}

// ended takes the outcome of a session.
func (d *driver) ended(s session, o outcome, gaveUp bool) run.Result {
	for _, w := range o.warnings {
		d.warn(s.Group, s.Node, w)
	}
	switch {
	case o.nothing:
		return run.Result{Outcome: run.Succeeded}
	case !o.sent:
		return run.Result{Outcome: run.NotStarted}
	}
	if s.Session.Kind == run.Check && o.ledger == nil { // it changes nothing
		o.ledger = d.report.Nodes[s.Node].Ledger
	}
	d.actionsKnown[s.Node] = d.actionsKnown[s.Node] || o.begun
	if s.Session.Kind == run.Rollback {
		d.keepsCalls(s)
	}
	d.note(s.Node, func(r *NodeReport) {
		if s.Session.Kind == run.Rollback { // what was done is done no more
			r.Restored = o.ok()
			r.Done, r.Altered, r.PutBack, o.Done, o.Altered = nil, nil, o.Altered, nil, nil
		}
		r.take(s.Group, o)
		if s.Session.Kind != run.Check {
			return
		}
		if _, last := d.checkOf(s); !o.ok() {
			r.Unhealthy, r.Healthy = task.CheckFailed+d.RunID, false
		} else if last {
			r.Unhealthy, r.Healthy = "", true
		}
	})
	result := o.result(run.Result{Outcome: run.Succeeded, Sent: true, Lock: o.lock})
	switch {
	case o.ok():
		return result
	case o.err != nil && (gaveUp || busy(o.err) && d.cancellation.stopped()):
		result.Outcome = run.GivenUp
	default:
		result.Outcome = run.Failed
	}
	result.Err = fmt.Errorf("%s", d.report.Nodes[s.Node].Reason())
	return result
}

// unlock unlocks a node, also while the run is being stopped and after the time limit of its call.
func (d *driver) unlock(ctx context.Context, s session) *sessionEnd {
	c := d.catalog(converge.Apply, nil)
	c.Unlock = d.rolling[s.Group].Unlock
	o := outcome{err: context.Cause(ctx)}
	if ctx.Err() == nil {
		o = d.session(ctx, s, c)
	}
	if o.again {
		return nil
	}
	return &sessionEnd{Outcome: o}
}

// unlocked takes the outcome of unlock.
func (d *driver) unlocked(s session, o outcome) run.Result {
	for _, w := range o.warnings {
		d.warn(s.Group, s.Node, w)
	}
	if o.err != nil && o.lock != run.IsStuck {
		d.warn(s.Group, s.Node, fmt.Sprintf("node %q may stay locked: %s", s.Node, o.err))
	}
	d.actionsKnown[s.Node] = d.actionsKnown[s.Node] || o.begun
	d.note(s.Node, func(r *NodeReport) {
		if o.ledger != nil {
			r.Ledger = o.ledger
		}
		if r.Error == nil {
			r.Error = o.err
		}
	})
	if o.err != nil {
		return o.result(run.Result{Outcome: run.Failed, Sent: o.sent, Lock: o.lock})
	}
	return o.result(run.Result{Outcome: run.Succeeded, Sent: true, Lock: o.lock})
}

// complete brings the end of a run into the report.
func (d *driver) complete(end *run.Report) {
	r := &d.report
	r.Status, r.Groups, r.Outside, r.BudgetSpent = end.Status, end.Groups, end.Outside, end.BudgetSpent
	for _, s := range end.Nodes {
		for _, n := range s.Nodes {
			d.note(n, func(r *NodeReport) { r.Stage = s.Stage })
		}
	}
	for n, stage := range end.Alone {
		d.note(n, func(r *NodeReport) { r.Stage = stage })
	}
	var waiting []string // nothing waits when a site is torn down
	if d.plan != nil {
		waiting = d.plan.Waiting
		r.Awaits = d.plan.Awaits(func(group string) bool {
			return slices.ContainsFunc(r.Groups, func(g GroupReport) bool {
				return g.Name == group && g.Stage == strategy.Deployed
			})
		})
		for i, g := range r.Groups {
			r.Groups[i].Stage = held(d.plan, g.Name, g.Stage)
		}
	}
	for _, n := range waiting {
		if _, member := r.Nodes[n]; member {
			why := notApproved
			if d.plan.Outside(n) {
				why = outsideOfLimit
			}
			d.note(n, func(r *NodeReport) { r.Stage, r.Waits = strategy.NotStarted, why })
		}
	}
	for n := range r.Nodes {
		d.note(n, func(r *NodeReport) {
			r.Asked, r.Locked = d.Machines.identified(n), end.Locked[n]
			r.Ledger = withLock(r.Ledger, r.Locked)
		})
	}
}

// each calls do for every item, at most width at once, and returns when all calls have returned.
func each[T any](width int, items []T, do func(T)) {
	places := make(chan struct{}, width)
	for _, item := range items {
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			do(item)
		}()
	}
	for range width {
		places <- struct{}{}
	}
}

// enroll adds every node of a group to the report.
func (d *driver) enroll() {
	for _, g := range slices.Backward(d.program.Groups) {
		for _, n := range g.Members {
			d.report.Nodes[n] = NodeReport{Group: g.Name}
		}
	}
}
