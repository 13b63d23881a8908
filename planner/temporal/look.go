package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// A look is a session with a node outside of a run, such as that of a refresh. Its workflow has the one activity Look.
// What is looked for and what was seen have contents of any size, so they are in the journal of the site (design.md 11)
// until who asks has the answer; the payloads have the id of the look. Where nodes are asked which machines they are,
// there is no site and no such content, and the payloads have all.

// look lets a worker look at a node, which no other worker needs to know: a look may be repeated.
//
// The zone may take a third of the time that is left until ctx ends, and when no worker takes the look, later ones of
// that zone end at once: they would keep those of other zones waiting.
func (e *Remote) look(ctx context.Context, in convergeInput, r convergeRequest) (a answer) {
	e.mu.Lock()
	a, silent := e.silent[in.Zone]
	e.mu.Unlock()
	if silent {
		return a
	}
	if end, limited := ctx.Deadline(); limited {
		in.ZoneWait = min(in.ZoneWait, max(shortestWait, (time.Until(end)/3).Round(time.Second)))
	}
	text, err := json.Marshal(r)
	if err != nil {
		return answer{err: err}
	}
	in.Batch = "slipway/" + in.Site + "/look/" + uuid.NewString()
	var store *journal.Store
	if in.Site == engine.NoSite {
		in.Look = text
	} else {
		if store, err = e.store(ctx, in.Site, e.once); err == nil {
			err = patiently(ctx, func() error {
				return store.Ask(ctx, in.Batch, journal.Blob{Zone: in.Zone, Content: text})
			})
			defer forget(ctx, store, in.Batch)
		}
		if err != nil {
			return answer{err: unaskedError{err}}
		}
	}
	if text, err = e.seen(ctx, in, store); err == nil {
		a.result = &convergeResult{}
		err = decode(text, a.result)
	}
	if err != nil {
		a = answer{err: e.server.untaken(ctx, in, err), notBegun: notBegun(err)}
	}
	if errors.As(a.err, new(untakenError)) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.silent == nil {
			e.silent = map[string]answer{}
		}
		e.silent[in.Zone] = a
	}
	return a
}

// once opens the journal for a look, and not again where that failed: who looks has just used it, or failed for it, and
// the nodes would wait one after the other. The lock of e is held.
func (e *Remote) once(ctx context.Context, open func() error) error {
	if e.away != nil {
		return e.away
	}
	err := open()
	if ctx.Err() == nil { // else it was given up, which says nothing about the journal
		e.away = err
	}
	return err
}

// seen has a worker look and returns its convergeResult. When ctx ends, the worker gives the session up with a result.
func (e *Remote) seen(ctx context.Context, in convergeInput, store *journal.Store) (text []byte, err error) {
	run, err := e.server.start(ctx, in.Batch, in)
	if err != nil {
		return nil, err
	}
	if err = e.server.ends(ctx, run, &text); ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lostLimit)
		defer cancel()
		if err = e.server.client.CancelWorkflow(ctx, in.Batch, ""); err == nil {
			err = e.server.ends(ctx, run, &text)
		}
	}
	if err == nil && store != nil {
		err = patiently(ctx, func() (err error) {
			text, err = store.Answered(ctx, in.Batch, in.Zone)
			return err
		})
	}
	return text, err
}

// forgetTime bounds how long the end of a look waits for the journal.
const forgetTime = 10 * time.Second

// forget deletes a look. What stays when the database is away is deleted by a later look.
func forget(ctx context.Context, store *journal.Store, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
	defer cancel()
	_ = store.Forget(ctx, id) // see above
}

// notBegun reports whether a look ended with err because of its worker, so that another one may look.
func notBegun(err error) bool {
	var timeout *temporal.TimeoutError
	var application *temporal.ApplicationError
	return errors.As(err, &timeout) || errors.As(err, &application) && application.Type() == earlyType
}

// Look looks at a node outside of a run. It returns its convergeResult where the journal does not take it.
func (z *Zone) Look(ctx context.Context, in convergeInput) ([]byte, error) {
	_, look, end := hold(ctx, z.client)
	defer end()
	leave, err := z.place(look)
	if err != nil {
		return nil, early("%w", err)
	}
	defer leave()
	executing, idle := z.enter(in.Site + "/")
	defer idle()
	var store *journal.Store
	text := in.Look
	if text == nil {
		err := patiently(look, func() (err error) {
			if store, err = z.journal(look, executing, in.Site); err == nil {
				text, err = store.Asked(look, in.Batch, in.Zone)
			}
			return err
		})
		if err != nil {
			return nil, early("%w", err)
		}
	}
	var r convergeRequest
	if err := decode(text, &r); err != nil {
		return nil, temporal.NewNonRetryableApplicationError("the session cannot be read: "+err.Error(), "request", err)
	}
	if text, err = json.Marshal(r.converge(look, z.build, executing)); err != nil || store == nil {
		return text, err
	}
	calls := context.WithoutCancel(ctx)
	return nil, patiently(calls, func() error {
		return store.Answer(calls, in.Batch, journal.Blob{Zone: in.Zone, Content: text})
	})
}
