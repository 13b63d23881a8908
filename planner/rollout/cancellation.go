package rollout

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// unlockGrace is how long nodes may still be unlocked after the grace of running sessions.
const unlockGrace = 30 * time.Second

// cancellation stops a run in order when the context of the caller ends (design.md 4.6). From then on only sessions
// that unlock a node are started. Running sessions keep their context for the grace, or end at once when giveUp is
// closed.
type cancellation struct {
	stopping  context.Context // ended: no session may be started
	running   context.Context // the context of sessions; its cause says why it ended
	unlocking context.Context // the context of unlocking sessions: ends unlockGrace later
	stop      context.CancelCauseFunc
	giveUp    context.CancelCauseFunc
	leave     context.CancelCauseFunc // ends unlocking
	watch     sync.WaitGroup
}

func newCancellation(ctx context.Context, grace time.Duration, giveUp <-chan struct{}) *cancellation {
	c := &cancellation{}
	c.stopping, c.stop = context.WithCancelCause(ctx)
	c.running, c.giveUp = context.WithCancelCause(context.WithoutCancel(ctx))
	c.unlocking, c.leave = context.WithCancelCause(context.WithoutCancel(ctx))
	c.watch.Go(func() {
		select {
		case <-c.stopping.Done():
		case <-giveUp:
		case <-c.running.Done():
			return
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			over := fmt.Errorf("%w and the grace of %s is over", run.ErrInterrupted, grace)
			c.giveUp(over)
			timer.Reset(unlockGrace)
			select {
			case <-timer.C:
				c.leave(over)
			case <-giveUp:
				c.abort(fmt.Errorf("%w and this program ends", run.ErrInterrupted))
			case <-c.unlocking.Done():
			}
		case <-giveUp:
			c.abort(fmt.Errorf("%w and this program ends", run.ErrInterrupted))
		case <-c.running.Done():
		}
	})
	return c
}

// abort ends all three contexts at once, for example when the run lost its lease.
func (c *cancellation) abort(err error) {
	c.giveUp(err)
	c.leave(err)
	c.stop(err)
}

// stopped reports whether no session may be started any more.
func (c *cancellation) stopped() bool { return c.stopping.Err() != nil }

// release frees the resources of newCancellation. No session may run any more.
func (c *cancellation) release() {
	c.giveUp(context.Canceled)
	c.leave(context.Canceled)
	c.stop(context.Canceled)
	c.watch.Wait()
}
