package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrInterrupted is the cause of a session that was given up because the caller's context ended and the grace was over.
var ErrInterrupted = errors.New("the run was interrupted")

// TimeLimitError is the cause of a session that was not done when the time limit of its call was over (airship.md 10).
type TimeLimitError struct {
	Call  string // "prepare", "deploy", "unlock", "tear down", or the task group of a phase outside of groups
	Group string // empty outside of a group
	Limit time.Duration
}

func (e *TimeLimitError) Error() string {
	s := fmt.Sprintf("the time limit of %s for %s", e.Limit, e.Call)
	if e.Group != "" {
		s += fmt.Sprintf(" of group %q", e.Group)
	}
	return s + " is over"
}

// unlockGrace is how long nodes may be unlocked after the grace of the sessions that ran inside their locks is over.
const unlockGrace = 30 * time.Second

// brake turns the end of the caller's context into an orderly stop (design.md 4.6): from then on no session is started but those
// that unlock a node, and those that run keep their context for the grace, unless the caller cannot wait even for that.
type brake struct {
	stopping  context.Context // ends when no session may be started any more
	running   context.Context // the context of sessions; its cause tells why it ended
	unlocking context.Context // the context of sessions that unlock: it outlives the others by unlockGrace
	stop      context.CancelCauseFunc
	giveUp    context.CancelCauseFunc
	leave     context.CancelCauseFunc // ends unlocking
	watch     sync.WaitGroup
}

func newBrake(ctx context.Context, grace time.Duration, giveUp <-chan struct{}) *brake {
	b := &brake{}
	b.stopping, b.stop = context.WithCancelCause(ctx)
	b.running, b.giveUp = context.WithCancelCause(context.WithoutCancel(ctx))
	b.unlocking, b.leave = context.WithCancelCause(context.WithoutCancel(ctx))
	b.watch.Go(func() {
		select {
		case <-b.stopping.Done():
		case <-giveUp:
		case <-b.running.Done():
			return
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			over := fmt.Errorf("%w and the grace of %s is over", ErrInterrupted, grace)
			b.giveUp(over)
			timer.Reset(unlockGrace)
			select {
			case <-timer.C:
				b.leave(over)
			case <-giveUp:
				b.abort(fmt.Errorf("%w and this program ends", ErrInterrupted))
			case <-b.unlocking.Done():
			}
		case <-giveUp:
			b.abort(fmt.Errorf("%w and this program ends", ErrInterrupted))
		case <-b.running.Done():
		}
	})
	return b
}

// abort ends everything at once: the run lost the right to go on.
func (b *brake) abort(err error) {
	b.giveUp(err)
	b.leave(err)
	b.stop(err)
}

// stopped reports that no session may be started any more.
func (b *brake) stopped() bool { return b.stopping.Err() != nil }

// release ends what the brake started; no session may run any more.
func (b *brake) release() {
	b.giveUp(context.Canceled)
	b.leave(context.Canceled)
	b.stop(context.Canceled)
	b.watch.Wait()
}
