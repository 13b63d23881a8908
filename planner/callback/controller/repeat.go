package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
)

// errTimeout is the error of a try that took too long.
var errTimeout = errors.New("ran into its timeout")

// permanent is a failure that another try would repeat.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// repeat tries until a try succeeds, fails permanently, or was the last one.
func (c *Controller) repeat(ctx context.Context, s callback.Settings, w worker) (map[string]any, error) {
	for tries := 1; ; tries++ {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("not started: %w", context.Cause(ctx))
		}
		values, err := once(ctx, s.Timeout, w)
		if err == nil {
			return values, nil
		}
		if ctx.Err() != nil {
			return nil, endedBy(ctx, err)
		}
		if p := (permanent{}); errors.As(err, &p) {
			return nil, err
		}
		if tries > s.Retries {
			if tries > 1 {
				err = fmt.Errorf("%w (the last of %d tries)", err, tries)
			}
			return nil, err
		}
		if c.Clock.Sleep(ctx, s.Interval) != nil {
			return nil, endedBy(ctx, err)
		}
	}
}

func once(ctx context.Context, limit time.Duration, w worker) (map[string]any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w of %s", errTimeout, limit))
	defer cancel()
	return w.try(ctx)
}

// endedBy returns the error of a callback whose context ended.
func endedBy(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("ended: %w; before that: %w", cause, err)
}

type machineClock struct{}

func (machineClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
