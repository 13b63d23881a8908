package rollout

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// A catalog that changes something guarded takes several sessions, too. The first ends with that change, and the rest
// put off; it is confirmed over a connection of its own, and then the rest is sent. Where no new connection can be
// made, the node puts the change back by itself, and is asked about that.

// guardPause is the time between the first two tries to confirm a guarded change, or to learn what became of it. Each
// pause is twice as long as the one before, up to guardLongest: a node may lock out who tries too often.
const (
	guardPause   = time.Second
	guardLongest = 16 * time.Second
)

// withGuard returns a catalog that may arm a guard, under an id that no other session has.
func withGuard(node site.Node, c converge.Manifest) converge.Manifest {
	if c.Mode == converge.Apply && len(c.Items) > 0 && node.Connection.Transport != "local" {
		c.Guard = rand.Text()
	}
	return c
}

// mayBeArmed reports whether a session that ended with err may have armed the guard of its catalog, of which c has what
// was not reported.
func mayBeArmed(c converge.Manifest, s converge.Summary, waiting []converge.Result, err error) bool {
	var failed *transport.Error
	switch {
	case c.Guard == "" || err == nil:
		return c.Guard != "" && s.Guard == c.Guard
	case len(waiting) > 0:
		return true
	}
	return errors.As(err, &failed) && failed.Kind == transport.Lost &&
		slices.ContainsFunc(c.Items, func(i converge.Item) bool { return i.Guard() })
}

// throughGuard confirms the guarded change of a session that ended with ended, and reports its results, which waited
// for that. again says that what c has left is to be sent now. Without a confirmation, all that c has left is reported,
// and its lock window is closed.
func (e *InProcess) throughGuard(ctx context.Context, l *link, node site.Node, c converge.Manifest,
	waiting []converge.Result, ended error, each func(converge.Result)) (s converge.Summary, again bool, err error) {
	s, refused, err := e.confirm(ctx, l, node, c)
	putBack := s.PutBack != nil && s.PutBack.Guard == c.Guard
	switch {
	case err == nil && !putBack && ended != nil && s.Guard != c.Guard: // nothing was changed by then
		return converge.Summary{}, false, ended
	case err == nil && !putBack:
		for _, r := range waiting {
			each(r)
		}
		return s, len(c.Items) > 0 || c.Health != nil || c.Unlock != "" && !c.Keep, nil
	}
	why := "no new connection confirmed it"
	if putBack {
		why = s.PutBack.Why
	}
	if refused != nil {
		why += "; the last try: " + refused.Error()
	}
	if putBack {
		why = "guard: the node put it back: " + why
	} else {
		why = fmt.Sprintf("guard: %s; the node puts it back within %s, and has not answered since: %v", why,
			types.GuardLimit, err)
	}
	changed := func(id resource.ID) bool { return !putBack || slices.Contains(s.PutBack.Resources, id) }
	var first resource.ID
	for _, r := range waiting {
		if changed(r.ID) {
			r.Status, r.Message = converge.Failed, why
			if first != "" {
				r.Message = "guard: put back with " + string(first) // whose message is long enough
			}
			first = cmp.Or(first, r.ID)
		}
		each(r)
	}
	for _, i := range c.Items {
		switch {
		case ended == nil:
			each(converge.Result{ID: i.ID(), Status: converge.Skipped, Message: "not begun: what is guarded was not confirmed"})
		case putBack && changed(i.ID()):
			each(converge.Result{ID: i.ID(), Status: converge.Failed, Message: why})
		}
	}
	if err == nil {
		err = ended
	}
	return s, false, err
}

// confirm confirms a guarded change over a new connection. When that cannot be made, refused says why, and the node is
// asked over any connection what became of the change, and to put it back by then; that session closes the lock window.
func (e *InProcess) confirm(ctx context.Context, l *link, node site.Node, c converge.Manifest) (
	s converge.Summary, refused, err error) {
	c.Items, c.Begins, c.Health = nil, nil, nil
	nothing := func(converge.Result) {} // there are no items, and what the unlock command prints is not shown
	confirmation := c
	confirmation.Mode, confirmation.Lock, confirmation.Unlock, confirmation.Keep = converge.Confirm, "", "", false
	err = e.persist(ctx, func(ctx context.Context) (err error) {
		fresh := &link{}
		if s, err = e.session(ctx, fresh, node, confirmation, nothing); err == nil {
			l.conn, fresh.conn = fresh.conn, l.conn
		} else if ctx.Err() == nil {
			refused = err
		}
		_ = fresh.close() // it says no more than the session
		return err
	})
	if err == nil && (s.PutBack == nil || s.PutBack.Guard != c.Guard) {
		return s, nil, nil
	}
	var stuck *converge.SessionError
	err = e.persist(ctx, func(ctx context.Context) (err error) {
		s, err = e.session(ctx, l, node, c, nothing)
		if errors.As(err, &stuck) && stuck.Code == converge.CodeUnlock {
			return nil
		}
		stuck = nil
		return err
	})
	if stuck != nil {
		err = stuck
	}
	return s, refused, err
}

// persist calls try until it succeeds, for as long as a guard waits for its confirmation. The error is that of the last
// try.
func (e *InProcess) persist(ctx context.Context, try func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, e.guardLimit)
	defer cancel()
	last := error(nil)
	for wait := guardPause; ; wait = min(2*wait, guardLongest) {
		err := ctx.Err()
		if err == nil {
			err = try(limit)
		}
		if err == nil {
			return nil
		}
		if limit.Err() == nil || last == nil { // a try that was cut short says less than the one before
			last = err
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
			continue
		case <-limit.Done():
		}
		pause.Stop()
		if ctx.Err() == nil {
			return last
		}
		return &converge.SessionError{Code: converge.CodeLost,
			Message: fmt.Sprintf("given up before a guarded change was confirmed: %v", context.Cause(ctx))}
	}
}
