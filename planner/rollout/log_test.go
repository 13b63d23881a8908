package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// slowDisk is a recorder whose every call takes a second of the bubble's time.
type slowDisk struct {
	fail  error
	calls [][]journal.Event
}

func (d *slowDisk) Record(ctx context.Context, events ...journal.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	time.Sleep(time.Second)
	d.calls = append(d.calls, events)
	return d.fail
}

func started(t *testing.T, d *slowDisk, failed func(error)) *log {
	t.Helper()
	return newLog(t.Context(), d, nil, time.Now, failed)
}

func TestLogKeepsOrderAndSharesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowDisk{}
		l := started(t, disk, func(err error) { t.Errorf("failed with %v", err) })
		var nodes sync.WaitGroup
		for n := range 20 {
			nodes.Go(func() {
				node := fmt.Sprint(n)
				if err := l.record(journal.Event{Node: node, Phase: 1},
					journal.Event{Node: node, Phase: 2}); err != nil {
					t.Error(err)
				}
				for phase := 3; phase < 10; phase++ {
					l.append(journal.Event{Node: node, Phase: phase})
				}
			})
		}
		nodes.Wait()
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		last := map[string]int{}
		for _, call := range disk.calls {
			for _, e := range call {
				if e.Phase != last[e.Node]+1 {
					t.Fatalf("node %s: event %d came after %d", e.Node, e.Phase, last[e.Node])
				}
				last[e.Node] = e.Phase
			}
		}
		if len(last) != 20 || last["0"] != 9 || last["19"] != 9 {
			t.Errorf("events are missing: %v", last)
		}
		if len(disk.calls) > 6 {
			t.Errorf("%d calls for 20 nodes: they are not recorded together", len(disk.calls))
		}
	})
}

func TestRecordReturnsWhenDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := started(t, &slowDisk{}, func(error) {})
		begin := time.Now()
		l.append(journal.Event{}) // the writer is busy with it for a second
		synctest.Wait()
		if err := l.record(journal.Event{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("record returned after %s, its call ends after 2s", took)
		}
		begin = time.Now()
		l.append(journal.Event{})
		if took := time.Since(begin); took != 0 {
			t.Errorf("append waited for %s", took)
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLogStopsAtTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("disk is full")
		disk := &slowDisk{fail: broken}
		var told []error
		l := started(t, disk, func(err error) { told = append(told, err) })
		for range 3 {
			if err := l.record(journal.Event{}); !errors.Is(err, broken) {
				t.Errorf("record: %v, want %v", err, broken)
			}
		}
		if err := l.close(); !errors.Is(err, broken) {
			t.Errorf("close: %v, want %v", err, broken)
		}
		if len(disk.calls) != 1 || len(told) != 1 {
			t.Errorf("%d calls and %d notices after an error, want one of each", len(disk.calls), len(told))
		}
	})
}

// lostRecorder can record nothing any more.
type lostRecorder struct{}

func (lostRecorder) Record(context.Context, ...journal.Event) error { return journal.ErrFenced }

// A run that records nothing stops when its lease is lost.
func TestLogNoticesALostLease(t *testing.T) {
	lost, failed := make(chan struct{}), make(chan error, 1)
	l := newLog(t.Context(), lostRecorder{}, lost, time.Now, func(err error) { failed <- err })
	close(lost)
	if err := <-failed; !errors.Is(err, journal.ErrFenced) {
		t.Error(err)
	}
	if err := l.close(); !errors.Is(err, journal.ErrFenced) {
		t.Error(err)
	}
}

// Events that a recorder does not take are kept within bounds.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		l := started(t, &slowDisk{}, func(err error) { failed = err })
		l.append(journal.Event{})
		synctest.Wait() // the recorder is at work
		l.append(make([]journal.Event, waitingLimit+1)...)
		if l.append(journal.Event{}); failed == nil || !strings.Contains(failed.Error(), "wait to be recorded") {
			t.Error(failed)
		}
		if err := l.close(); err == nil {
			t.Error("no error")
		}
	})
}

// What tasks print while they run waits for no disk and takes no memory; what counts is recorded all the same.
func TestShownEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowDisk{}
		l := started(t, disk, func(err error) { t.Errorf("failed with %v", err) })
		for range 10 * shownWaiting {
			l.show(journal.Event{Kind: journal.Output, Output: "x"})
		}
		if err := l.record(journal.Event{Kind: journal.TaskFinished}); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			l.show(journal.Event{Kind: journal.Output, Output: strings.Repeat("x", shownLimit/10)})
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		events, bytes, finished := 0, 0, 0
		for _, call := range disk.calls {
			for _, e := range call {
				events++
				bytes += len(e.Output)
				if e.Kind == journal.TaskFinished {
					finished++
				}
			}
		}
		if finished != 1 || events < shownWaiting || events > 2*shownWaiting+100 || bytes > shownLimit {
			t.Errorf("%d events with %d bytes, %d ends of tasks", events, bytes, finished)
		}
	})
}
