package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The end of the process gives runs up, waits for those that stop in time, and for no other.
func TestRunsGiveUp(t *testing.T) {
	for name, tt := range map[string]struct{ needs, waited time.Duration }{
		"no run":       {0, 0},
		"stops":        {time.Second, time.Second},
		"does not end": {time.Hour, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := &Runs{}
				if tt.needs > 0 {
					ending := runs.Ending()
					runs.work.Go(func() { <-ending; <-time.After(tt.needs) })
				}
				start := time.Now()
				runs.GiveUp(2 * time.Second)
				if got := time.Since(start); got != tt.waited {
					t.Errorf("waited %s, want %s", got, tt.waited)
				}
				runs.work.Wait()
				synctest.Wait()
			})
		})
	}
}

// SIGTERM and SIGHUP end runs as Terraform's first interrupt does, and those that come later, too.
func TestStopEndsRuns(t *testing.T) {
	r := &Runs{}
	ctx, cancel := r.Within(t.Context(), "update", time.Hour)
	defer cancel()
	if err := ctx.Err(); err != nil {
		t.Fatalf("before the signal: %v", err)
	}
	r.Stop()
	r.Stop()
	later, cancelLater := r.Within(t.Context(), "update", time.Hour)
	defer cancelLater()
	for _, c := range []context.Context{ctx, later} {
		if <-c.Done(); !errors.Is(context.Cause(c), context.Canceled) {
			t.Errorf("the run ends with %v", context.Cause(c))
		}
	}
}
