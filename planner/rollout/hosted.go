package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// Hosted is a run whose machine somebody else drives, such as a workflow: it executes the commands of the machine, runs
// the sessions, and returns what came of them. What the sessions know of the nodes, and the report, stay here.
type Hosted struct {
	*driver

	mu       sync.Mutex // guards the driver, but for what its sessions use at once
	number   int        // of the last step
	saved    string     // where what was saved last is
	last     Stepped    // its answer
	sessions map[run.ID]*hostedSession
	persons  []run.Event // what persons have decided
	over     chan struct{}
	end      *run.Report
	finished chan struct{} // closed when the machine has said that the run is over
}

// hostedSession is a session that was started and not taken yet.
type hostedSession struct {
	session
	limit time.Duration
	begun bool
	lost  chan struct{} // holds a token: it was lost before it started anything
	ended chan struct{} // closed at its end
	end   *sessionEnd
}

// Step is what the driver of a machine wants done next.
type Step struct {
	Number   int           // from 1; one that comes a second time gets the answer of the first
	At       time.Time     // the time of the machine
	Commands []run.Command // to execute, in order
	Ended    []run.ID      // sessions whose results are wanted
	Stop     bool          // the run is to be stopped
}

// Stepped is the answer to a step. That the run is stopped comes before the results.
type Stepped struct {
	Now             time.Time // UTC
	Stopped, GaveUp bool
	Results         []run.Result // of Step.Ended
	Twice           []string     // see [run.Event]
	Planned         bool         // the next pass was planned: Program, or none follows
	Program         *run.Program
	Saved           string // where is what was saved with the step: another process goes on from there
}

// host lets o.Drive drive the machine.
func (d *driver) host(ctx context.Context) *run.Report {
	h := &Hosted{driver: d, sessions: map[run.ID]*hostedSession{}, over: make(chan struct{}),
		finished: make(chan struct{})}
	d.lose = h.lose
	err := h.open()
	if err == nil {
		err = d.Drive(ctx, h)
	}
	close(h.over)
	h.mu.Lock()
	defer h.mu.Unlock()
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
	for id, s := range h.sessions { // sessions of an aborted run end soon
		if !s.begun {
			continue
		}
		select {
		case <-s.ended:
		case h.lost[id].again <- false:
			<-s.ended
		}
	}
	return h.end
}

// Program returns the program of the pass that is under way, and what is known before its first event.
func (h *Hosted) Program() (run.Program, Stepped) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.program, h.state()
}

// state returns what counts before the results of sessions.
func (h *Hosted) state() Stepped {
	return Stepped{Now: h.Options.Now().UTC(), Twice: h.Machines.twice(), Stopped: h.cancellation.stopped(),
		GaveUp: h.cancellation.running.Err() != nil, Saved: h.saved}
}

// Run returns the id of the run.
func (h *Hosted) Run() string { return h.RunID }

// Finished is closed when the machine has said that the run is over.
func (h *Hosted) Finished() <-chan struct{} { return h.finished }

// Step executes commands and takes the results of sessions.
func (h *Hosted) Step(s Step) (Stepped, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Number == h.number {
		return h.last, nil
	}
	if s.Number != h.number+1 {
		return Stepped{}, fmt.Errorf("step %d of the run follows on step %d", s.Number, h.number)
	}
	if s.Stop {
		h.cancellation.stop(run.ErrInterrupted)
	}
	k := Saved{Step: s, Time: h.Now()}
	for _, id := range s.Ended {
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
	out, err := h.perform(&k)
	if err != nil {
		return Stepped{}, err
	}
	if err := h.log.record(); err != nil { // what was recorded is durable before a session starts
		h.cancellation.abort(err)
	}
	k.Machines = h.Machines.drain()
	if err := h.keep(k); err != nil {
		h.cancellation.abort(fmt.Errorf("journal: a step of the run could not be kept, so the run was stopped: %w", err))
	}
	now := h.state()
	out.Now, out.Twice, out.Stopped, out.GaveUp, out.Saved = now.Now, now.Twice, now.Stopped, now.GaveUp, now.Saved
	h.number, h.last = s.Number, out
	return out, nil
}

// perform executes the commands of a step and takes the ends of its sessions, also when another process did before.
func (h *Hosted) perform(k *Saved) (out Stepped, err error) {
	for _, c := range k.Step.Commands {
		switch c.Kind {
		case run.Start:
			h.sessions[c.ID] = &hostedSession{session: h.prepared(c), limit: c.Until.Sub(k.Step.At),
				lost: make(chan struct{}, 1), ended: make(chan struct{})}
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
	for i, id := range k.Step.Ended {
		started := h.sessions[id]
		if started == nil {
			return out, fmt.Errorf("no session %v was started", id)
		}
		delete(h.sessions, id)
		out.Results = append(out.Results, h.take(started.session, k.Ends[i]).Bounded())
	}
	return out, nil
}

// ErrLeft means that a session goes on, and nobody waits for its end here.
var ErrLeft = errors.New("this process ends, and does not wait for the session")

// Calls reports whether a session is a callback, which this process runs itself.
func (h *Hosted) Calls(id run.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	return s != nil && s.Session.Kind == run.Callback && id.Purpose == run.Work
}

// Perform runs a session that a step started, and returns when it has ended, or was lost before it started anything.
// The machine then decides whether it is tried again; when it is not, Perform returns its end. When leave is closed it
// returns [ErrLeft].
func (h *Hosted) Perform(id run.ID, leave <-chan struct{}) (lost bool, err error) {
	h.mu.Lock()
	s := h.sessions[id]
	if s == nil {
		h.mu.Unlock()
		return false, fmt.Errorf("no session %v was started", id)
	}
	if !s.begun {
		s.begun = true
		ctx, cancel := h.within(s.Command, s.limit)
		go func() {
			defer close(s.ended)
			defer cancel()
			s.end = h.runs(ctx, s.session)
		}()
	}
	h.mu.Unlock()
	select {
	case <-s.lost:
		return true, nil
	case <-s.ended:
		return false, nil
	case <-leave:
		return false, ErrLeft
	}
}

// lose takes down that a session was lost before it started anything.
func (h *Hosted) lose(l loss) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost[l.id] = l
	h.sessions[l.id].lost <- struct{}{}
}

// Watch returns what persons have decided, as events, without the first ones, as soon as there is more. It returns
// nothing when the run is stopped or over, or ctx ends.
func (h *Hosted) Watch(ctx context.Context, after int) []run.Event {
	var polls <-chan time.Time
	if h.Decisions != nil {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		polls = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.over:
			return nil
		case <-h.cancellation.stopping.Done():
			return nil
		case <-polls:
		}
		h.mu.Lock()
		h.decide()
		h.persons, h.decided = append(h.persons, h.decided...), nil
		more := h.persons[min(after, len(h.persons)):]
		h.mu.Unlock()
		if len(more) > 0 {
			return more
		}
	}
}
