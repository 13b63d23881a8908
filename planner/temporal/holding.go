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

// holding is a session that a worker has, as the server knows it. The server may give a session to a worker that is cut
// off, which never gets it. So a worker says that it begins, and begins when the server has taken that down: when it is
// gone before, another worker may have the session.
type holding struct {
	client client.Client
	token  []byte
	limit  time.Duration // of silence, after which the server takes the worker for gone

	mu    sync.Mutex // the server keeps what the last call said
	begun []any      // what each call says; nothing before the session begins
}

// signs is how many signs of life a worker gives in the time after which it counts as gone.
const signs = 10

// hold gives signs of life of the session of an activity until end is called. The returned context ends when the run
// gives the session up, and when the server takes the worker for gone, or would by now.
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
		err := h.sign(ctx)
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
	h.mu.Lock()
	defer h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, h.limit/2)
	defer cancel()
	return h.client.RecordActivityHeartbeat(ctx, h.token, h.begun...)
}

// begin says that the session begins. With an error it must not.
func (h *holding) begin(ctx context.Context) error {
	h.mu.Lock()
	h.begun = []any{true}
	h.mu.Unlock()
	return h.sign(ctx)
}

// earlyType is the type of errors of sessions that were not begun.
const earlyType = "early"

// early returns an error that says that a session was not begun.
func early(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return temporal.NewNonRetryableApplicationError(err.Error(), earlyType, err)
}

// notBegun reports whether a session ended with err before it began.
func notBegun(err error) bool {
	var timeout *temporal.TimeoutError
	var application *temporal.ApplicationError
	return errors.As(err, &timeout) && !timeout.HasLastHeartbeatDetails() ||
		errors.As(err, &application) && application.Type() == earlyType
}
