package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// Hosted is a run whose machine somebody else drives, such as a workflow: it executes the commands of the machine, runs
// the sessions, and returns what came of them. What the sessions know of the nodes, and the report, stay here.
type Hosted struct {
	*driver

	mu        sync.Mutex // guards the driver, but for what its sessions use at once
	number    int        // of the last step
	waiting   bool       // it waits for ends
	following time.Time  // until then, the next one is expected
	first     int        // the step with which this process goes on: the one before may have taken it, and left no trace
	saved     string     // where what was saved last is
	last      Stepped    // its answer
	sessions  map[run.ID]*hostedSession
	started   int           // sessions, in all
	changed   chan struct{} // closed, and made anew, when there is something to do for Serve
	due       []End         // not reported yet, in order
	report    Ends          // the last one
	sent      bool          // it was
	sending   bool          // it is
	before    int           // the last step when it was made
	leaves    bool          // no session is begun any more
	persons   []run.Event   // what persons have decided
	over      chan struct{} // closed when this process does not have the run any more
	end       *run.Report
	finished  chan struct{} // closed when the machine has said that the run is over
}

// ErrGone means that this process does not have the run any more, since it has lost the lease of the site or the
// journal is away: the run goes on elsewhere, or later.
var ErrGone = errors.New("this process does not have the run any more")

// elsewhere returns an error of the journal as [ErrGone], where the run can go on elsewhere, or later.
func elsewhere(err error) error {
	if journal.Away(err) || errors.Is(err, journal.ErrFenced) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// gone returns [ErrGone] when the run is not here any more, and has not ended.
func (h *Hosted) gone() error {
	select {
	case <-h.finished:
		return nil
	default:
	}
	select {
	case <-h.over:
		return ErrGone
	default:
	}
	if err := context.Cause(h.cancellation.stopping); errors.Is(err, ErrGone) {
		return err
	}
	return nil
}

// hostedSession is a session that was started and not taken yet.
type hostedSession struct {
	session
	number int // among all sessions of the run, from 1
	limit  time.Duration
	begun  bool
	ended  chan struct{} // closed at its end
	end    *sessionEnd
}

// The sessions of a run are served in parts, see [Hosted.Serve].
const (
	partSessions = 1000 // of a part
	partActive   = 500  // of them at once
)

// part is the one that a session belongs to, from 1.
func (s *hostedSession) part() int { return (s.number-1)/partSessions + 1 }

// Ends are ends of sessions. A report that comes a second time has the same number.
type Ends struct {
	Number int // from 1
	Ends   []End
}

// End is the end of a session.
type End struct {
	ID   run.ID
	Lost bool `json:",omitempty"` // before it started anything: the machine decides whether it is tried again
}

// Step is what the driver of a machine wants done next.
type Step struct {
	Number   int           // from 1; one that comes a second time gets the answer of the first
	At       time.Time     // the time of the machine
	Commands []run.Command // to execute, in order
	Ended    []run.ID      // sessions whose results are wanted
	Stop     bool          // the run is to be stopped
	Wait     time.Duration // for which ends of sessions are waited for; 0: reports have them
	Decided  int           // so many decisions of persons were handled: with more, it does not wait
}

// Stepped is the answer to a step. That the run is stopped comes before the results.
type Stepped struct {
	Now             time.Time // UTC
	Stopped, GaveUp bool
	Ends            []End        // more ends, which no report has; another step is to follow at once
	Results         []run.Result // of Step.Ended, and of those of Ends that were not lost
	Twice           []string     // see [run.Event]
	Planned         bool         // the next pass was planned: Program, or none follows
	Program         *run.Program
	Saved           string // where is what was saved with the step: another process goes on from there
	Parts           int    // of the sessions that were started by now, see [Hosted.Serve]
}

// host lets o.Drive drive the machine.
func (d *driver) host(ctx context.Context) *run.Report {
	h := &Hosted{driver: d, sessions: map[run.ID]*hostedSession{}, over: make(chan struct{}),
		finished: make(chan struct{}), changed: make(chan struct{}), sent: true}
	d.lose = h.lose
	err := h.open()
	if err == nil {
		err = d.Drive(ctx, h)
	}
	close(h.over)
	h.mu.Lock()
	if err == nil && h.end == nil {
		err = errors.New("the machine was not driven to the end of the run")
	}
	if err != nil {
		d.cancellation.abort(fmt.Errorf("%w: %w", run.ErrInterrupted, err))
		d.refused = errors.Join(d.refused, err)
		if h.end == nil {
			h.end = &run.Report{Status: StatusFailed}
		}
	}
	var begun []*hostedSession
	for _, s := range h.sessions {
		if s.begun {
			begun = append(begun, s)
		}
	}
	h.mu.Unlock()
	for _, s := range begun { // those of an aborted run end soon
		h.await(s)
	}
	return h.end
}

// await returns when a session of a run that is over has ended. One that is lost meanwhile is not tried again.
func (h *Hosted) await(s *hostedSession) {
	for {
		h.mu.Lock()
		again, changed := h.lost[s.ID].again, h.changed
		h.mu.Unlock()
		select {
		case <-s.ended:
			return
		case again <- false:
			<-s.ended
			return
		case <-changed:
		}
	}
}

// Program returns the program of the pass that is under way, what is known before its first event, and the parts of the
// sessions that are to be served: those that another process started and whose ends it did not take, and those that
// will start. Sessions that are tried again are not run any more.
func (h *Hosted) Program(retried ...run.ID) (p run.Program, s Stepped, parts []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range retried {
		delete(h.sessions, id)
	}
	for _, s := range h.sessions {
		parts = append(parts, s.part())
	}
	if h.started%partSessions > 0 {
		parts = append(parts, h.parts())
	}
	slices.Sort(parts)
	return h.program, h.state(), slices.Compact(parts)
}

// parts is how many parts the sessions that were started have.
func (h *Hosted) parts() int { return (h.started + partSessions - 1) / partSessions }

// state returns what counts before the results of sessions.
func (h *Hosted) state() Stepped {
	return Stepped{Now: h.Options.Now().UTC(), Twice: h.Machines.twice(), Stopped: h.cancellation.stopped(),
		GaveUp: h.cancellation.running.Err() != nil, Saved: h.saved, Parts: h.parts()}
}

// Run returns the id of the run.
func (h *Hosted) Run() string { return h.RunID }

// Finished is closed when the machine has said that the run is over.
func (h *Hosted) Finished() <-chan struct{} { return h.finished }

// Step executes commands and takes the results of sessions. Those that end while it waits need no report, and no step
// of their own. With [ErrGone], what became of the step is not known: whoever goes on with the run is to be given it
// again.
func (h *Hosted) Step(s Step) (Stepped, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s.Number == h.number && h.waiting {
		h.pause(nil)
	}
	if err := h.gone(); err != nil { // also of the last step, which may not be kept
		return Stepped{}, err
	}
	if s.Number == h.number {
		return h.last, nil
	}
	if s.Number != h.number+1 {
		return Stepped{}, fmt.Errorf("step %d of the run follows on step %d", s.Number, h.number)
	}
	if s.Stop {
		h.cancellation.stop(run.ErrInterrupted)
	}
	k, parts := Saved{Step: s, Time: h.Now()}, h.parts()
	out := h.perform(&k)
	// What was recorded is durable before a session starts.
	if err := elsewhere(h.log.record()); errors.Is(err, ErrGone) {
		return Stepped{}, err
	}
	h.number = s.Number
	if s.Wait > 0 && !out.Planned && h.parts() == parts {
		if len(s.Ended) == 0 {
			h.wait(s.Wait, s.Decided)
		}
		out.Ends, h.due = h.due, nil
	}
	for _, e := range out.Ends {
		if !e.Lost {
			k.Step.Ended = append(k.Step.Ended, e.ID)
		}
	}
	for _, id := range k.Step.Ended {
		started := h.sessions[id]
		if started == nil {
			return Stepped{}, fmt.Errorf("no session %v was started", id)
		}
		select {
		case <-started.ended:
		default:
			return Stepped{}, fmt.Errorf("the session %v has not ended", id)
		}
		k.Ends = append(k.Ends, started.end)
	}
	var err error
	if out.Results, err = h.results(k); err != nil {
		return Stepped{}, err
	}
	k.Machines = h.Machines.drain()
	if err := h.keep(k); err != nil {
		err = elsewhere(fmt.Errorf("journal: a step of the run could not be kept, so the run was stopped: %w", err))
		if h.cancellation.abort(err); errors.Is(err, ErrGone) {
			return Stepped{}, err
		}
	}
	now := h.state()
	out.Now, out.Twice, out.Stopped, out.GaveUp, out.Saved = now.Now, now.Twice, now.Stopped, now.GaveUp, now.Saved
	out.Parts = now.Parts
	h.last, h.following = out, time.Time{}
	if len(out.Ends) > 0 {
		h.following = h.Now().Add(nextStep)
		time.AfterFunc(nextStep, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.notify()
		})
	}
	h.notify()
	return out, nil
}

const (
	// moreEnds is for how long a step waits for the next end after one: a shard of the server dispatches 20 tasks a
	// second, two for each step, so that a step for each end would take longer than many sessions.
	moreEnds = 30 * time.Millisecond
	nextStep = 250 * time.Millisecond // for which ends that come after an answer with ends are kept for the next step
)

// wait lets sessions run, and returns when some have ended, or a person has decided more, or what a report has is to be
// handled.
func (h *Hosted) wait(limit time.Duration, decided int) {
	h.waiting = true
	defer func() { h.waiting = false }()
	h.notify()
	over, timer := time.Now().Add(limit), time.NewTimer(limit)
	defer timer.Stop()
	ended := len(h.due) // those that the step starts may be as short
	for h.end == nil && h.awaited() && len(h.persons) <= decided {
		if len(h.due) > ended {
			ended = len(h.due)
			timer.Reset(min(moreEnds, time.Until(over)))
		}
		if !h.pause(timer.C) {
			return
		}
	}
}

// awaited reports whether sessions run, and all ends are due.
func (h *Hosted) awaited() bool {
	runs, ended := false, len(h.due)
	for _, s := range h.sessions {
		select {
		case <-s.ended:
			ended--
		default:
			runs = true
		}
	}
	return runs && ended >= 0 // those that were lost and are due have not ended
}

// pause lets others change something, and reports whether somebody did before the time was over.
func (h *Hosted) pause(over <-chan time.Time) bool {
	changed := h.changed
	h.mu.Unlock()
	defer h.mu.Lock()
	select {
	case <-changed:
	case <-h.over:
		return false
	case <-over:
		return false
	}
	return true
}

// perform executes the commands of a step, also when another process did before.
func (h *Hosted) perform(k *Saved) (out Stepped) {
	for _, c := range k.Step.Commands {
		switch c.Kind {
		case run.Start:
			h.started++
			s := &hostedSession{session: h.prepared(c), number: h.started, limit: c.Until.Sub(k.Step.At),
				ended: make(chan struct{})}
			h.sessions[c.ID], s.restored = s, k.Step.Number == h.first
		case run.NextPass:
			h.passOver(c.Report)
			e := h.nextPass(c, k.Program, k.Time)
			out.Planned, out.Program, k.Program = true, e.Program, e.Program
		case run.Finish:
			if !h.program.Asks {
				h.passOver(c.Report)
			}
			if h.end = c.Report; !h.repeats {
				close(h.finished)
			}
		case run.Wake: // the driver of the machine has its timer
		case run.Retry, run.Settle:
			if _, waits := h.lost[c.ID]; waits { // else another process had it, and whoever asks for its end runs it
				h.execute(c)
			}
			if c.Kind == run.Retry {
				delete(h.sessions, c.ID)
			}
		default:
			h.execute(c)
		}
	}
	return out
}

// results takes the ends of the sessions of a step, likewise.
func (h *Hosted) results(k Saved) (out []run.Result, err error) {
	for i, id := range k.Step.Ended {
		started := h.sessions[id]
		if started == nil {
			return out, fmt.Errorf("no session %v was started", id)
		}
		delete(h.sessions, id)
		out = append(out, h.take(started.session, k.Ends[i]).Bounded())
	}
	return out, nil
}

// ErrLeft means that this process ends while the run goes on: nobody waits here for the ends of its sessions.
var ErrLeft = errors.New("this process ends")

// Serve runs the sessions of a part, up to 500 of its 1,000 at once, and reports the ends of all sessions, one report
// at a time and the next one after a step. It returns when all sessions of the part were started and their ends taken,
// or the run is over; with [ErrLeft] when leave was closed and [Hosted.Leave] would return, and with [ErrGone] when
// this process does not have the run any more. Called again, it goes on.
func (h *Hosted) Serve(ctx context.Context, part int, leave <-chan struct{},
	report func(context.Context, Ends) error) error {
	for {
		h.mu.Lock()
		open := h.begin(part)
		send, left := h.next(), h.leaves && h.calls() == 0
		changed, full := h.changed, h.parts() > part || h.started == part*partSessions
		h.mu.Unlock()
		switch {
		case open == 0 && full:
			return nil
		case send:
			err := report(ctx, h.report)
			h.mu.Lock()
			h.sending, h.sent = false, err == nil
			h.notify()
			h.mu.Unlock()
			if err != nil {
				return err
			}
			continue
		case left:
			return ErrLeft
		}
		select {
		case <-changed:
		case <-leave:
			h.mu.Lock()
			h.leaves, leave = true, nil
			h.mu.Unlock()
		case <-h.finished:
			return nil
		case <-h.over:
			return h.gone()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Leave lets this process begin no session any more. It returns when the ends of all callbacks that it has called were
// taken, of which no other process knows, or the run is over, or ctx ends.
func (h *Hosted) Leave(ctx context.Context) {
	for {
		h.mu.Lock()
		h.leaves = true
		calls, changed := h.calls(), h.changed
		h.mu.Unlock()
		if calls == 0 {
			return
		}
		select {
		case <-changed:
		case <-h.finished:
			return
		case <-h.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// calls returns how many callbacks this process has called whose ends were not taken.
func (h *Hosted) calls() (n int) {
	for _, s := range h.sessions {
		if s.begun && s.Session.Kind == run.Callback && s.ID.Purpose == run.Work {
			n++
		}
	}
	return n
}

// next reports whether h.report is to be sent: it was not, or there are new ends since the step after it.
func (h *Hosted) next() bool {
	switch {
	case h.sending, h.waiting, h.Now().Before(h.following):
		return false
	case h.sent && (len(h.due) == 0 || h.report.Number > 0 && h.number == h.before):
		return false
	case h.sent:
		h.report, h.due, h.before = Ends{h.report.Number + 1, h.due}, nil, h.number
	}
	h.sending, h.sent = true, false
	return true
}

// begin begins sessions of a part unless this process leaves, and returns how many there are.
func (h *Hosted) begin(part int) (open int) {
	var waiting []*hostedSession
	active := 0
	for _, s := range h.sessions {
		if s.part() != part {
			continue
		}
		open++
		select {
		case <-s.ended:
			continue
		default:
		}
		if s.begun {
			active++
		} else {
			waiting = append(waiting, s)
		}
	}
	if h.leaves {
		return open
	}
	slices.SortFunc(waiting, func(a, b *hostedSession) int { return a.number - b.number })
	for _, s := range waiting[:min(len(waiting), partActive-active)] {
		s.begun = true
		ctx, cancel := h.within(s.Command, s.limit)
		go func() {
			defer cancel()
			s.end = h.runs(ctx, s.session)
			h.mu.Lock()
			defer h.mu.Unlock()
			close(s.ended)
			if s.end == nil { // it was lost, and is tried again
				return
			}
			h.due = append(h.due, End{ID: s.ID})
			h.notify()
		}()
	}
	return open
}

// notify lets all Serve look what is to be done.
func (h *Hosted) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// lose takes down that a session was lost before it started anything.
func (h *Hosted) lose(l loss) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost[l.id] = l
	h.due = append(h.due, End{ID: l.id, Lost: true})
	h.notify()
}

// Watch returns what persons have decided, as events, without the first ones, as soon as there is more. It returns
// nothing when the run is stopped or over, or ctx ends, and [ErrGone] when this process does not have the run any more.
func (h *Hosted) Watch(ctx context.Context, after int) ([]run.Event, error) {
	var polls <-chan time.Time
	if h.Decisions != nil {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		polls = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-h.over:
			return nil, h.gone()
		case <-h.cancellation.stopping.Done():
			return nil, h.gone()
		case <-polls:
		}
		h.mu.Lock()
		h.decide()
		h.persons, h.decided = append(h.persons, h.decided...), nil
		more := h.persons[min(after, len(h.persons)):]
		if len(more) > 0 {
			h.notify()
		}
		h.mu.Unlock()
		if len(more) > 0 {
			return more, nil
		}
	}
}
