package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// Zone runs sessions with the nodes of zones, in this process.
type Zone struct {
	Journals engine.Journals
	Executor func() rollout.Executor // one for each run

	mu   sync.Mutex
	runs map[string]*executing

	build  string // version of slipway
	client client.Client
	places chan struct{} // of sessions at once

	active, waiting, total atomic.Int64 // sessions
}

// executing is what a worker has of a run: its executor, with its connections, and its journal.
type executing struct {
	rollout.Executor
	store *journal.Store // nil: it was not opened yet
	users int
	idle  *time.Timer
}

// idleTime is for how long the connections of a run are kept after its last session.
const idleTime = 5 * time.Minute

// enter returns what the worker has of a run.
func (z *Zone) enter(run string) (e *executing, leave func()) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if e = z.runs[run]; e == nil {
		e = &executing{Executor: z.Executor()}
		if z.runs == nil {
			z.runs = map[string]*executing{}
		}
		z.runs[run] = e
	}
	if e.idle != nil {
		e.idle.Stop()
	}
	e.users++
	return e, func() {
		z.mu.Lock()
		defer z.mu.Unlock()
		if e.users--; e.users == 0 {
			e.idle = time.AfterFunc(idleTime, func() { z.end(run, e) })
		}
	}
}

// journal returns the journal of a run.
func (z *Zone) journal(ctx context.Context, e *executing, site string) (*journal.Store, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if e.store == nil {
		store, err := z.Journals.OpenExisting(ctx, site)
		if err != nil {
			return nil, err
		}
		e.store = store
	}
	return e.store, nil
}

// end closes the connections of a run that is not used.
func (z *Zone) end(run string, e *executing) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if e.users == 0 && z.runs[run] == e {
		delete(z.runs, run)
		e.close()
	}
}

// close ends the connections of a run.
func (e *executing) close() {
	_ = e.Close() // nothing is lost with an idle connection
	if e.store != nil {
		_ = e.store.Close() // what was written is durable
	}
}

// close ends all connections.
func (z *Zone) close() {
	z.mu.Lock()
	defer z.mu.Unlock()
	for run, e := range z.runs {
		if e.idle != nil {
			e.idle.Stop()
		}
		e.close()
		delete(z.runs, run)
	}
}

// converge runs a session with a worker of a version.
func (r convergeRequest) converge(ctx context.Context, build string, executor rollout.Executor) (out convergeResult) {
	out.Build = build
	var err error
	out.Summary, err = executor.Converge(ctx, r.Node, r.Manifest, func(result converge.Result) {
		if result.Status != converge.Printing { // what comes at the end of the session has it
			out.Results = append(out.Results, result)
		}
	})
	out.Err = rollout.SaveError(ofWorker(err))
	return out
}

// ofWorker names this machine in the error of a connection that is about what a worker has: keys, an agent, known hosts
// and files that a connection names.
func ofWorker(err error) error {
	var failed *transport.Error
	if !errors.As(err, &failed) ||
		!slices.Contains([]transport.Kind{transport.HostKey, transport.Key, transport.Config}, failed.Kind) {
		return err
	}
	where := "the host"
	if host, unknown := os.Hostname(); unknown == nil {
		where += " " + host
	}
	named := *failed
	named.Message = resource.Textf("%s (on %s of the worker)", failed.Message, where)
	return &named
}

// Sessions runs the sessions of a batch until it is closed and they have ended.
func (z *Zone) Sessions(ctx context.Context, in convergeInput) error {
	h, session, end := hold(ctx, z.client)
	defer end()
	e, leave := z.enter(in.Site + "/" + in.Run)
	defer leave()
	s := &serving{zone: z, in: in, executing: e, holding: h, ended: make(chan served),
		active: map[int]context.CancelFunc{}}
	err := patiently(session, func() (err error) {
		s.store, err = z.journal(session, e, in.Site)
		return err
	})
	if err != nil {
		return early("%w", err)
	}
	return s.serve(ctx, session)
}

// serving is a batch that this worker has.
type serving struct {
	zone      *Zone
	in        convergeInput
	executing *executing
	holding   *holding
	store     *journal.Store

	next   int // slot
	closed bool
	active map[int]context.CancelFunc // by slot
	ended  chan served
	failed error // what could not be written
}

// served is the end of a session of a slot. With an error its result could not be left.
type served struct {
	slot int
	err  error
}

// serve starts sessions as they come. When the worker ends, or too little comes, it closes the batch. When session
// ends, the server has another opinion of who has the batch, and sessions end by themselves.
func (s *serving) serve(ctx, session context.Context) error {
	var wait poll
	leaves, alive := activity.GetWorkerStopChannel(ctx), time.Now()
	idle := alive
	for {
		came, err := s.look(session)
		switch {
		case err == nil:
			alive = time.Now()
		case session.Err() == nil && (!journal.Away(err) || time.Since(alive) > journal.LeaseTime*2/3):
			s.failed, s.closed = errors.Join(s.failed, err), true
		}
		if now := time.Now(); came || len(s.active) > 0 {
			idle = now
		}
		ending := leaves == nil || time.Since(idle) > batchIdle || s.next == batchSlots
		switch {
		case session.Err() != nil:
			s.closed = true // to what this worker starts
		case ending && !s.closed && err == nil:
			if s.closed, err = s.name(session, s.at(s.next).slot(), slot{}); err == nil && !s.closed {
				continue
			}
		}
		if s.closed && len(s.active) == 0 {
			return s.failed
		}
		timer := time.NewTimer(wait.next(came))
		select {
		case <-timer.C:
		case e := <-s.ended:
			s.end(e)
			wait = 0
		case <-leaves:
			leaves = nil
		case <-session.Done():
			if len(s.active) > 0 {
				s.end(<-s.ended)
			}
		}
		timer.Stop()
	}
}

// at is a session of the batch.
func (s *serving) at(slot int) inBatch { return inBatch{s.in.Batch, slot} }

// end takes the end of a session.
func (s *serving) end(e served) {
	s.active[e.slot]()
	delete(s.active, e.slot)
	s.failed = errors.Join(s.failed, e.err)
}

// name gives a name a content in the journal, and reports whether it counts.
func (s *serving) name(ctx context.Context, name string, content any) (bool, error) {
	return s.in.name(ctx, s.store, name, content)
}

// look starts the sessions of new slots and gives up those that are to stop.
func (s *serving) look(ctx context.Context) (came bool, err error) {
	var names []string
	for n := range s.active {
		names = append(names, s.at(n).stop())
	}
	if !s.closed {
		for n := range batchActive {
			names = append(names, s.at(s.next+n).slot())
		}
	}
	read := time.Now()
	found, err := s.store.Named(ctx, s.in.Run, s.in.Zone, names...)
	if err != nil {
		return false, err
	}
	for n, cancel := range s.active {
		if _, stop := found[s.at(n).stop()]; stop {
			cancel()
		}
	}
	for !s.closed {
		text, there := found[s.at(s.next).slot()]
		if !there {
			break
		}
		var r slot
		if err := decode(text, &r); err != nil {
			return came, fmt.Errorf("the session cannot be read: %w", err)
		}
		if s.closed = r.Session == ""; s.closed {
			break
		}
		came = true
		n := s.next
		s.next++
		session, cancel := context.WithCancelCause(ctx)
		s.active[n] = func() { cancel(errors.New("the run gives the session up")) }
		go func() { s.ended <- served{n, s.run(session, s.at(n), r, read)} }()
	}
	return came, nil
}

// resultLimit is for how long a worker keeps the result of a session for a database that is away: longer than the host
// of the run, since whoever goes on with the run finds it.
const resultLimit = 10 * time.Minute

// run runs a session, unless another batch does, and leaves its result.
func (s *serving) run(ctx context.Context, at inBatch, r slot, read time.Time) error {
	var out slotResult
	leave, begun, err := s.begin(ctx, at, r.Session, read)
	switch {
	case err != nil:
		out.NotBegun = err.Error()
	case begun != at:
		out.Begun = &begun
	default:
		r.Request.Manifest.Contents = s.files
		result := r.Request.converge(ctx, s.zone.build, s.executing)
		out.Result = &result
	}
	if leave != nil {
		defer leave()
	}
	calls := context.WithoutCancel(ctx)
	return within(calls, resultLimit, func() error {
		_, err := s.name(calls, at.result(), out)
		return err
	})
}

// begin waits for a place for a session, and returns which batch runs it.
func (s *serving) begin(ctx context.Context, at inBatch, session string, read time.Time) (leave func(), begun inBatch,
	err error) {
	if leave, err = s.zone.place(ctx); err != nil {
		return nil, begun, err
	}
	if late := time.Now().Add(-s.holding.limit / signs); read.Before(late) {
		read = late
	}
	if err := s.holding.confirm(ctx, read); err != nil {
		return leave, begun, fmt.Errorf("the Temporal server does not know that it begins: %w", err)
	}
	err = patiently(ctx, func() (err error) {
		begun, err = s.in.begin(ctx, s.store, session, at)
		return err
	})
	return leave, begun, err
}

// place waits until the worker has a place for a session.
func (z *Zone) place(ctx context.Context) (leave func(), err error) {
	z.waiting.Add(1)
	defer z.waiting.Add(-1)
	select {
	case z.places <- struct{}{}:
	case <-activity.GetWorkerStopChannel(ctx):
		return nil, errors.New("the worker ends")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	z.total.Add(1)
	z.active.Add(1)
	return func() {
		z.active.Add(-1)
		<-z.places
	}, nil
}
