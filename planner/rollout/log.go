package rollout

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// log passes the events of a run to the recorder, in order. One goroutine records all waiting events with one call, so
// that many nodes share one durable write and a stream of results never waits for a disk. After the first error nothing
// more is recorded.
type log struct {
	recorder Recorder
	now      func() time.Time
	failed   func(error) // called once, with the first error

	mu      sync.Mutex
	muted   bool // nothing is recorded: another process did
	shown   int  // bytes of the events of show
	waiting []journal.Event
	reached chan struct{} // closed when everything waiting now is recorded or lost
	err     error
	wake    chan struct{} // holds one token when events are waiting
	done    sync.WaitGroup
}

// waitingLimit is how many events may wait for a recorder that does not answer, such as a database that is away.
const waitingLimit = 100_000

// newLog starts the writer. When lost is closed, the recorder says why without being given an event. Records are made
// under ctx, which must outlive the run's own: how a run ended is recorded too.
func newLog(ctx context.Context, r Recorder, lost <-chan struct{}, now func() time.Time, failed func(error)) *log {
	l := &log{recorder: r, now: now, failed: failed, reached: make(chan struct{}), wake: make(chan struct{}, 1)}
	l.done.Go(func() {
		for {
			select {
			case _, more := <-l.wake:
				if !more {
					return
				}
				l.write(ctx)
			case <-lost:
				lost = nil
				l.fail(l.recorder.Record(ctx))
			}
		}
	})
	return l
}

// append gives events to the writer and returns at once. It gives them their time.
func (l *log) append(events ...journal.Event) { l.add(events) }

// The bounds of what commands print while they run, which a run can do without.
const (
	shownWaiting = 1000     // events that may wait when one more is added
	shownLimit   = 64 << 20 // bytes of a run
)

// show appends an event of what a command prints while it runs, unless many events wait already or the run has shown
// much.
func (l *log) show(e journal.Event) {
	l.mu.Lock()
	l.shown += len(e.Output)
	drop := len(l.waiting) >= shownWaiting || l.shown > shownLimit
	l.mu.Unlock()
	if !drop {
		l.append(e)
	}
}

// mute lets nothing be recorded, or lets it again.
func (l *log) mute(muted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.muted = muted
}

// record gives events to the writer, all in one call of the recorder, and returns when they are durable.
func (l *log) record(events ...journal.Event) error {
	<-l.add(events)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// close waits until everything is recorded, ends the writer and returns the first error. Nothing may be added after it.
func (l *log) close() error {
	close(l.wake)
	l.done.Wait()
	return l.err
}

func (l *log) add(events []journal.Event) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.muted {
		recorded := make(chan struct{})
		close(recorded)
		return recorded
	}
	for i := range events {
		events[i].Time = l.now()
	}
	if len(l.waiting) > waitingLimit {
		l.failLocked(fmt.Errorf("%d events wait to be recorded", waitingLimit))
		l.waiting = nil
	}
	l.waiting = append(l.waiting, events...)
	select {
	case l.wake <- struct{}{}:
	default: // a token is there already: the writer will find these events too
	}
	return l.reached
}

// write records what is waiting with one call.
func (l *log) write(ctx context.Context) {
	l.mu.Lock()
	events, reached, err := l.waiting, l.reached, l.err
	l.waiting, l.reached = nil, make(chan struct{})
	l.mu.Unlock()
	if err == nil && len(events) > 0 {
		l.fail(l.recorder.Record(ctx, events...))
	}
	close(reached)
}

// fail keeps the first error and stops the run.
func (l *log) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failLocked(err)
}

func (l *log) failLocked(err error) {
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("journal: an event could not be recorded, so the run was stopped: %w", err)
		l.failed(l.err)
	}
}
