package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// holding is an activity that a worker has, as the server knows it. The worker may be cut off, and taken for gone: it
// begins a session only when the server has just said that it is not.
type holding struct {
	client client.Client
	token  []byte
	limit  time.Duration // of silence, after which the server takes the worker for gone

	mu sync.Mutex
	at time.Time // of the last answer of the server
}

// signs is how many signs of life a worker gives in the time after which it counts as gone.
const signs = 10

// hold gives signs of life of an activity until end is called. The returned context ends when the activity is
// cancelled, and when the server takes the worker for gone, or would by now.
func hold(ctx context.Context, c client.Client) (h *holding, session context.Context, end func()) {
	info := activity.GetInfo(ctx)
	h = &holding{client: c, token: info.TaskToken, limit: info.HeartbeatTimeout}
	session, give := context.WithCancelCause(ctx)
	calls, stop := context.WithCancel(context.WithoutCancel(ctx))
	var sender sync.WaitGroup
	sender.Go(func() { h.keep(calls, give) })
	return h, session, func() {
		stop()
		sender.Wait()
		give(nil)
	}
}

func (h *holding) keep(ctx context.Context, give context.CancelCauseFunc) {
	ticker := time.NewTicker(h.limit / signs)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		h.mu.Lock()
		err := h.sign(ctx)
		h.mu.Unlock()
		var gone *serviceerror.NotFound
		switch {
		case err == nil:
			last = time.Now()
		case temporal.IsCanceledError(err):
			last = time.Now()
			give(errors.New("the run gives the session up"))
		case errors.As(err, &gone):
			give(errors.New("the Temporal server takes this worker for gone"))
			return
		case time.Since(last) > h.limit:
			give(fmt.Errorf("the Temporal server did not answer for %s", h.limit))
			return
		}
	}
}

// sign gives a sign of life.
func (h *holding) sign(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.limit/2)
	defer cancel()
	asked := time.Now()
	err := h.client.RecordActivityHeartbeat(ctx, h.token)
	if err == nil {
		h.at = asked
	}
	return err
}

// confirm returns nil when the server has said since then that the worker has the activity. Without that, no session
// may begin.
func (h *holding) confirm(ctx context.Context, since time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.Before(since) {
		return nil
	}
	return h.sign(ctx)
}

// earlyType is the type of errors of sessions that were not begun.
const earlyType = "early"

// early returns an error that says that a session was not begun.
func early(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return temporal.NewNonRetryableApplicationError(err.Error(), earlyType, err)
}
