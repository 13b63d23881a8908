// Package temporal drives the state machine of a run in a Temporal workflow (design.md 11). The workflow decides, with
// planner/run and nothing else; activities execute its commands and run its sessions, in the process that hosts the
// run ([rollout.Hosted]). Payloads are ids and what the machine says: parameters, templates and secrets stay there.
//
// A host saves each step of the run in the journal before the workflow learns of it, and the workflow has the machine
// and the address of the last step. When a host is gone, the next generation of the run goes on from these in another
// process, which fences off who was there before: it asks for the ends of the sessions that run, and starts none twice.
//
//	Run        the workflow of a run. It continues as new with a snapshot of the machine before its history is too long
//	Sessions   a child workflow: up to 1,000 sessions, 500 at once; their ends are reported to Run by signal
//	Activities what both call
package temporal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// Version is that of the workflows, and part of their names. It rises when equal events give other commands than
// before: a run that an older version started ends with that version.
const Version = 7

// The names of the workflows and of their signals.
var (
	RunName      = fmt.Sprintf("slipway-run-v%d", Version)
	SessionsName = fmt.Sprintf("slipway-sessions-v%d", Version)
)

const (
	endedSignal = "ended" // of ended
	// StopSignal stops a run: nothing is started any more, except what unlocks a node.
	StopSignal = "stop"
)

// Input is the input of Run.
type Input struct {
	Site, Run  string
	Generation int        // how many processes have hosted the run before
	Handled    int        // so many steps of one workflow run before it continues as new; 0: as the server advises
	Queue      string     // of the process that hosts the run; empty: none does
	Stop       bool       // of a run that starts: it is to be stopped
	Continued  *Continued // nil: the run starts
}

// Continued is the state of a run that continues as new.
type Continued struct {
	Snapshot []byte // of the machine
	Saved    string // where the process that hosts the run saved what it did
	Steps    int
	Parts    int // of sessions: so many child workflows were started
	Reports  int // of ends, received
	Decided  int
	Commands []run.Command // not executed yet
	Ended    []rollout.End // not handled yet
	At       time.Time     // of the last event
	Stop     bool          // asked for, and not passed on yet
	Stopped  bool
	GaveUp   bool
	Twice    []string
}

// driving is a run in one workflow run.
type driving struct {
	Continued
	in      Input
	machine *run.Machine
	clock   time.Time // of the process that has the run, when the workflow's was read
	read    time.Time
	steps   int // of this workflow run
	over    bool
	more    bool  // the last step took ends while they came: more may come
	lost    error // the process that hosts the run is gone

	selector workflow.Selector
	timer    workflow.CancelFunc
	wake     time.Time
	woken    bool
	decided  []run.Event
}

// Run is the workflow of a run.
func Run(ctx workflow.Context, in Input) (err error) {
	defer func() { err = ofActivity(err) }()
	d := &driving{in: in, selector: workflow.NewSelector(ctx)}
	options := workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: heartbeatLimit,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second}}
	opens := in.Queue == ""
	if opens {
		var o opened
		ask := opening{Site: in.Site, Run: in.Run, Generation: in.Generation}
		if in.Continued != nil {
			ask.Saved = in.Continued.Saved
		}
		open := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activities.Open, ask)
		if err := open.Get(ctx, &o); err != nil || o.Ended {
			return err
		}
		d.in.Queue = o.Queue
	}
	options.TaskQueue, options.ScheduleToStartTimeout = d.in.Queue, hostLimit
	ctx = workflow.WithActivityOptions(ctx, options)
	var begun begun
	program := workflow.ExecuteActivity(ctx, activities.Program, d.key(), in.Continued.retried())
	if err := program.Get(ctx, &begun); err != nil {
		return d.again(ctx, err)
	}
	if in.Continued == nil {
		d.machine, d.Twice = run.New(begun.Program), begun.State.Twice
		d.setClock(ctx, begun.State.Now)
		d.Stop, d.Saved = in.Stop, begun.State.Saved
		d.stop(ctx, begun.State)
		d.handle(ctx, run.Event{Kind: run.Begin})
	} else {
		d.Continued = *in.Continued
		d.Snapshot = nil
		m, err := run.Restore(begun.Program, in.Continued.Snapshot)
		if err != nil {
			return temporal.NewNonRetryableApplicationError(err.Error(), "snapshot", err)
		}
		d.machine, d.wake = m, m.Timer()
		d.setClock(ctx, begun.State.Now)
		d.setTimer(ctx)
	}
	if opens {
		d.Parts = begun.State.Parts
		for _, part := range begun.Parts {
			if err := d.serve(ctx, part); err != nil {
				return err
			}
		}
	}
	d.selector.AddReceive(workflow.GetSignalChannel(ctx, endedSignal), func(c workflow.ReceiveChannel, _ bool) {
		var e ended
		c.Receive(ctx, &e)
		switch {
		case e.Run != d.key(): // of a process that is gone
		case e.Failed != "":
			d.lost = temporal.NewNonRetryableApplicationError("the process that has the run is gone: "+e.Failed, lostType, nil)
		case e.Number > d.Reports: // else it came before
			d.Reports, d.Ended = e.Number, append(d.Ended, e.Ends.Ends...)
		}
	})
	d.selector.AddReceive(workflow.GetSignalChannel(ctx, StopSignal), func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		d.Stop = true
	})
	d.watch(ctx)
	return d.drive(ctx)
}

// drive runs the machine until it says that the run is over, or continues as new.
func (d *driving) drive(ctx workflow.Context) error {
	for {
		for d.selector.HasPending() || !d.ready() {
			d.selector.Select(ctx)
		}
		if d.steps > 0 && (workflow.GetInfo(ctx).GetContinueAsNewSuggested() || d.steps == d.in.Handled) {
			return d.goOn(ctx)
		}
		if d.lost != nil {
			return d.again(ctx, d.lost)
		}
		if err := d.step(ctx); err != nil {
			return d.again(ctx, err)
		}
		if d.over {
			err := workflow.ExecuteActivity(ctx, activities.Close, d.key()).Get(ctx, nil)
			if err != nil {
				return d.again(ctx, err)
			}
			return nil
		}
	}
}

// hostLimit is for how long an activity waits for the process that hosts the run before that counts as gone.
const hostLimit = 30 * time.Second

// key is that of the run in the process that hosts it.
func (d *driving) key() string { return key(d.in.Run, d.in.Generation) }

// again lets another process go on with the run, from the last step that was saved, when that which hosted it is gone;
// any other error stays.
func (d *driving) again(ctx workflow.Context, err error) error {
	var application *temporal.ApplicationError
	if !temporal.IsTimeoutError(err) && (!errors.As(err, &application) || application.Type() != lostType) {
		return err
	}
	workflow.GetLogger(ctx).Warn("the process that hosts the run is gone, so another one goes on", "error", err)
	next := Input{Site: d.in.Site, Run: d.in.Run, Generation: d.in.Generation + 1, Handled: d.in.Handled}
	switch {
	case d.machine == nil: // Continued is as it was
		next.Continued, next.Stop = d.in.Continued, d.in.Stop
	case d.Steps == 0: // nothing was done
		next.Stop = d.Stop || d.Stopped
	default:
		// The other process finds again what sessions have ended, what persons have decided, and stops anew.
		d.Ended, d.Reports, d.Decided, d.Stop = nil, 0, 0, d.Stop || d.Stopped
		if err := d.pack(ctx); err != nil {
			return err
		}
		next.Continued = &d.Continued
	}
	return workflow.NewContinueAsNewError(ctx, RunName, next)
}

// retried returns the sessions that are tried again with the next step.
func (c *Continued) retried() (ids []run.ID) {
	if c == nil {
		return nil
	}
	for _, command := range c.Commands {
		if command.Kind == run.Retry {
			ids = append(ids, command.ID)
		}
	}
	return ids
}

// ready reports whether there is something to do.
func (d *driving) ready() bool {
	return len(d.Commands)+len(d.Ended)+len(d.decided) > 0 || d.woken || d.Stop || d.more || d.lost != nil
}

// pack puts the machine into what continues as new.
func (d *driving) pack(ctx workflow.Context) (err error) {
	d.events(ctx)
	if d.Snapshot, err = d.machine.Snapshot(); err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), "snapshot", err)
	}
	return nil
}

// goOn continues as new.
func (d *driving) goOn(ctx workflow.Context) error {
	if err := d.pack(ctx); err != nil {
		return err
	}
	next := d.in
	next.Continued = &d.Continued
	return workflow.NewContinueAsNewError(ctx, RunName, next)
}

// step has commands executed and takes what came of sessions.
func (d *driving) step(ctx workflow.Context) error {
	commands, ends := d.Commands, d.Ended
	s := step{d.key(), rollout.Step{Number: d.Steps + 1, At: d.now(ctx), Commands: commands, Stop: d.Stop,
		Wait: d.wait(ctx), Decided: d.Decided}}
	for _, c := range commands {
		d.over = d.over || c.Kind == run.Finish
	}
	for _, e := range ends {
		if !e.Lost {
			s.Ended = append(s.Ended, e.ID)
		}
	}
	var out rollout.Stepped
	if err := workflow.ExecuteActivity(ctx, activities.Step, s).Get(ctx, &out); err != nil || d.over {
		return err
	}
	d.Steps, d.steps, d.Twice, d.Saved = d.Steps+1, d.steps+1, out.Twice, out.Saved
	d.Commands, d.Ended, d.Stop = nil, slices.Clone(d.Ended[len(ends):]), false
	d.more = len(out.Ends) > 0
	d.setClock(ctx, out.Now)
	for d.Parts < out.Parts {
		d.Parts++
		if err := d.serve(ctx, d.Parts); err != nil {
			return err
		}
	}
	d.stop(ctx, out)
	if out.Planned {
		last := commands[len(commands)-1]
		d.handle(ctx, run.Event{Kind: run.Planned, ID: last.ID, Program: out.Program})
	}
	ends = append(ends, out.Ends...)
	for _, e := range out.Ends {
		if !e.Lost {
			s.Ended = append(s.Ended, e.ID)
		}
	}
	for i, r := range out.Results {
		d.handle(ctx, run.Event{Kind: run.Ended, ID: s.Ended[i], Result: r})
	}
	for _, e := range ends {
		if e.Lost {
			d.handle(ctx, run.Event{Kind: run.Lost, ID: e.ID})
		}
	}
	d.events(ctx)
	return nil
}

// stepWait is for how long a step waits for ends of sessions. A stop that comes meanwhile waits, too.
const stepWait = 250 * time.Millisecond

// wait is how long the next step may wait. The first one does not, since its sessions begin when the workflow knows of
// it: a process that goes on without it starts the run anew.
func (d *driving) wait(ctx workflow.Context) time.Duration {
	switch left := d.wake.Sub(d.now(ctx)); {
	case d.Steps == 0:
		return 0
	case d.wake.IsZero():
		return stepWait
	default:
		return max(0, min(stepWait, left))
	}
}

// events handles what came without a step.
func (d *driving) events(ctx workflow.Context) {
	if d.woken {
		d.woken = false
		d.handle(ctx, run.Event{Kind: run.Woken})
	}
	decided := d.decided
	d.decided = nil
	for _, e := range decided {
		d.handle(ctx, e)
	}
}

// stop lets the machine know that the run is stopped.
func (d *driving) stop(ctx workflow.Context, s rollout.Stepped) {
	if s.Stopped && !d.Stopped {
		d.Stopped = true
		d.handle(ctx, run.Event{Kind: run.Stop})
	}
	if s.GaveUp && !d.GaveUp {
		d.GaveUp = true
		d.handle(ctx, run.Event{Kind: run.GiveUp})
	}
}

// handle gives an event to the machine.
func (d *driving) handle(ctx workflow.Context, e run.Event) {
	e.Twice = d.Twice
	for _, c := range d.machine.Handle(e, d.now(ctx)) {
		if c.Kind == run.Wake {
			d.wake = c.Until
			d.setTimer(ctx)
			continue
		}
		d.Commands = append(d.Commands, c)
	}
}

// setClock sets the clock of the machine to that of the process that has the run, which also gives events their times.
func (d *driving) setClock(ctx workflow.Context, clock time.Time) {
	d.clock, d.read = clock, workflow.Now(ctx)
}

// now is the time of the machine. It never decreases.
func (d *driving) now(ctx workflow.Context) time.Time {
	if now := d.clock.Add(workflow.Now(ctx).Sub(d.read)); now.After(d.At) {
		d.At = now
	}
	return d.At
}

// setTimer sets the timer of the machine, instead of the one before.
func (d *driving) setTimer(ctx workflow.Context) {
	if d.timer != nil {
		d.timer()
	}
	if d.wake.IsZero() {
		return
	}
	ctx, d.timer = workflow.WithCancel(ctx)
	d.selector.AddFuture(workflow.NewTimer(ctx, d.wake.Sub(d.now(ctx))), func(f workflow.Future) {
		if f.Get(ctx, nil) == nil {
			d.woken, d.wake, d.timer = true, time.Time{}, nil
		}
	})
}

// watch waits for what persons decide.
func (d *driving) watch(ctx workflow.Context) {
	ctx = workflow.WithStartToCloseTimeout(ctx, watchTime+time.Hour)
	f := workflow.ExecuteActivity(ctx, activities.Watch, d.key(), d.Decided)
	d.selector.AddFuture(f, func(f workflow.Future) {
		var w watched
		switch err := f.Get(ctx, &w); {
		case err != nil:
			d.lost = err
		case w.Stopped:
			d.Stop = !d.Stopped
		default:
			d.setClock(ctx, w.Now)
			d.decided, d.Decided = append(d.decided, w.Events...), d.Decided+len(w.Events)
			d.watch(ctx)
		}
	})
}

// serve has sessions run in a child workflow, which goes on when this workflow continues as new.
func (d *driving) serve(ctx workflow.Context, part int) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:        fmt.Sprintf("%s/%d/%d", workflow.GetInfo(ctx).WorkflowExecution.ID, d.in.Generation, part),
		ParentClosePolicy: abandon})
	child := workflow.ExecuteChildWorkflow(ctx, SessionsName, sessionsInput{d.key(), d.in.Queue, part})
	return child.GetChildWorkflowExecution().Get(ctx, nil)
}
