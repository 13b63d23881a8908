package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// Zone runs sessions with the nodes of zones, in this process.
type Zone struct {
	Journals engine.Journals
	Executor func() rollout.Executor // one for each run

	mu   sync.Mutex
	runs map[string]*executing

	client client.Client
	places chan struct{} // of sessions at once

	active, waiting, total atomic.Int64 // sessions
}

// executing is the executor of a run, with its connections.
type executing struct {
	rollout.Executor
	sessions int
	idle     *time.Timer
}

// idleTime is for how long the connections of a run are kept after its last session.
const idleTime = 5 * time.Minute

// enter returns the executor of a run for a session.
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
	e.sessions++
	return e, func() {
		z.mu.Lock()
		defer z.mu.Unlock()
		if e.sessions--; e.sessions == 0 {
			e.idle = time.AfterFunc(idleTime, func() { z.end(run, e) })
		}
	}
}

// end closes the connections of a run without sessions.
func (z *Zone) end(run string, e *executing) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if e.sessions == 0 && z.runs[run] == e {
		delete(z.runs, run)
		_ = e.Close() // nothing is lost with an idle connection
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
		_ = e.Close() // nothing is lost with an idle connection
		delete(z.runs, run)
	}
}

// Session runs a session, and returns its convergeResult.
func (z *Zone) Session(ctx context.Context, in convergeInput) (result content, err error) {
	h, session, end := hold(ctx, z.client)
	defer end()
	leave, err := z.place(session)
	if err != nil {
		return result, early("%w", err)
	}
	defer leave()
	var store *journal.Store
	err = patiently(session, func() error {
		store, err = z.Journals.OpenExisting(session, in.Site)
		return err
	})
	if err != nil {
		return result, early("%w", err)
	}
	defer func() { _ = store.Close() }() // what was written is durable
	text, err := in.take(session, store, in.Request)
	if journal.Away(err) {
		return result, early("%w", err)
	}
	var r convergeRequest
	if err == nil {
		err = resource.Decode(text, &r)
	}
	if err != nil {
		return result, temporal.NewNonRetryableApplicationError("the session "+err.Error(), "request", err)
	}
	if err := h.begin(session); err != nil {
		return result, early("the Temporal server does not know that it begins: %w", err)
	}
	executor, idle := z.enter(in.Site + "/" + in.Run)
	defer idle()
	var out convergeResult
	out.Summary, err = executor.Converge(session, r.Node, r.Manifest, func(result converge.Result) {
		if result.Status != converge.Printing { // what comes at the end of the session has it
			out.Results = append(out.Results, result)
		}
	})
	out.Err = rollout.SaveError(err)
	if text, err = json.Marshal(out); err != nil {
		return result, err
	}
	return in.leave(context.WithoutCancel(ctx), store, text)
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
