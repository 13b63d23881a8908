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
	waiting []journal.Event
	reached chan struct{} // closed when everything waiting now is recorded or lost
	err     error
	wake    chan struct{} // holds one token when events are waiting
	done    sync.WaitGroup
}

// newLog starts the writer. Records are made under ctx, which must outlive the run's own: how a run ended is recorded
// too.
func newLog(ctx context.Context, r Recorder, now func() time.Time, failed func(error)) *log {
	l := &log{recorder: r, now: now, failed: failed, reached: make(chan struct{}), wake: make(chan struct{}, 1)}
	l.done.Go(func() {
		for range l.wake {
			l.write(ctx)
		}
	})
	return l
}

// append gives events to the writer and returns at once. It gives them their time.
func (l *log) append(events ...journal.Event) { l.add(events) }

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
	for i := range events {
		events[i].Time = l.now()
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
		if err = l.recorder.Record(ctx, events...); err != nil {
			err = fmt.Errorf("journal: an event could not be recorded, so the run was stopped: %w", err)
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			l.failed(err)
		}
	}
	close(reached)
}
