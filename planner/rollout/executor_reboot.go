package rollout

import (
	"context"
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

// A catalog that restarts its node takes several sessions. The first ends with items that wait for the restart
// ([converge.Restarting]); when the node is back, as its boot id says, they are sent again, and the restart finds
// itself done.

// restartPause is the time between two tries to reach a node that restarts.
const restartPause = 2 * time.Second

// throughSessions runs a catalog, in as many sessions as its restarts of the node and its guarded changes make of it.
func (e *InProcess) throughSessions(ctx context.Context, l *link, node site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	var restarted resource.ID // what the node was restarted for, until its result is there
	var elapsed time.Duration
	most := 2*len(c.Items) + 2 // each resource restarts the node or is guarded once
	for sessions := 0; ; sessions++ {
		if sessions > most {
			return converge.Summary{}, &converge.SessionError{Code: converge.CodeProtocol,
				Message: fmt.Sprintf("the node asked for more than %d sessions, which its resources do not need, and was given up; "+
					"look at what runs there in place of slipway's helper", most)}
		}
		started := time.Now()
		var asked *converge.Result // the first that waits for a restart
		var waiting []converge.Result
		done := map[resource.ID]bool{}
		c = withGuard(node, c)
		summary, err := e.session(ctx, l, node, c, func(r converge.Result) {
			switch {
			case r.Status == converge.Deferred:
				return
			case r.Status == converge.Printing:
				each(r)
				return
			case r.Guarded:
				each(r)
				r.Guarded = false
				done[r.ID], waiting = true, append(waiting, r)
				return
			case r.Status == converge.Restarting:
				if asked == nil {
					asked = &r
				}
				return
			}
			if r.ID == restarted {
				r.Millis += elapsed.Milliseconds()
			}
			done[r.ID] = true
			each(r)
		})
		if away, limit := e.mayBeAway(c); sessions == 0 && away != "" && unreachable(err) {
			if err = e.awaitRestart(ctx, l, node, c, "", limit); err == nil {
				continue
			}
			report(c.Items, away, err, each)
			return converge.Summary{}, err
		}
		c.Items = slices.DeleteFunc(slices.Clone(c.Items), func(i converge.Item) bool { return done[i.ID()] })
		if mayBeArmed(c, summary, waiting, err) {
			again := false
			if summary, again, err = e.throughGuard(ctx, l, node, c, waiting, err, each); again {
				continue
			}
			return summary, err
		}
		if asked == nil || err != nil && (!cutOff(err) || ctx.Err() != nil) {
			if restarted != "" {
				err = unknown(err)
			}
			return summary, err
		}
		if err := e.nextBoot(ctx, l, node, c, *asked, asked.ID == restarted); err != nil {
			report(c.Items, asked.ID, err, each)
			return converge.Summary{}, err
		}
		restarted, elapsed = asked.ID, time.Since(started)
	}
}

// mayBeAway returns the item of a resumed session because of which its node may not answer for so long: who began the
// session may have restarted the node, or have armed a guard which the node puts back by itself. Empty: none.
func (e *InProcess) mayBeAway(c converge.Manifest) (item resource.ID, limit time.Duration) {
	if !c.Resume || c.Mode != converge.Apply {
		return "", 0
	}
	for _, i := range c.Items {
		if timeout, restarts := restartLimit(c.Items, i.ID()); restarts {
			return i.ID(), timeout
		}
		if i.Guard() && item == "" {
			item, limit = i.ID(), e.guardLimit+guardLongest
		}
	}
	return item, limit
}

// unknown returns the error of a session that comes after others: what was done before it must not be tried again.
func unknown(err error) error {
	if !early(err) {
		return err
	}
	return &converge.SessionError{Code: converge.CodeLost, Message: err.Error()}
}

// cutOff reports whether the session may have ended because the node went down already.
func cutOff(err error) bool {
	var connection *transport.Error
	var session *converge.SessionError
	return errors.As(err, &connection) && connection.Kind == transport.Lost || errors.As(err, &session) &&
		session.Code == converge.CodeLost
}

// nextBoot returns when the node is back from the restart that asked names.
func (e *InProcess) nextBoot(ctx context.Context, l *link, node site.Node, c converge.Manifest, asked converge.Result,
	again bool) error {
	limit, found := restartLimit(c.Items, asked.ID)
	old := ""
	for _, d := range asked.Differences {
		if d.Parameter == types.BootParameter {
			old = d.Is
		}
	}
	switch {
	case !found || old == "":
		return &converge.SessionError{Code: converge.CodeProtocol,
			Message: fmt.Sprintf("%s restarts the node, and is no restart that it was sent, or does not report its boot id",
				asked.ID)}
	case again:
		return &converge.SessionError{Code: converge.CodeRestart,
			Message: fmt.Sprintf("%s: the node is back with another boot id, and wants to restart once more", asked.ID)}
	}
	return e.awaitRestart(ctx, l, node, c, old, limit)
}

// report gives the items that waited for a restart their results, when it failed. A wait that was given up says nothing
// about them.
func report(waiting []converge.Item, restart resource.ID, err error, each func(converge.Result)) {
	var failed *converge.SessionError
	if !errors.As(err, &failed) || failed.Code != converge.CodeRestart {
		return
	}
	for _, i := range waiting {
		r := converge.Result{ID: i.ID(), Status: converge.Failed, Message: failed.Message}
		if r.ID != restart {
			r.Status, r.Message = converge.Skipped, fmt.Sprintf("not started: %s failed; fix that first", restart)
		}
		each(r)
	}
}

// restartLimit returns how long the node may take for the restart that an item asks for.
func restartLimit(items []converge.Item, id resource.ID) (time.Duration, bool) {
	for _, i := range items {
		if i.ID() == id && i.Type == types.RebootType {
			return types.RestartTimeout(i.Resource), true
		}
	}
	return 0, false
}

// awaitRestart returns when the node answers with another boot id than old, or with any where old is empty. A limit of
// 0 is none besides that of ctx.
func (e *InProcess) awaitRestart(ctx context.Context, l *link, node site.Node, c converge.Manifest, old string,
	limit time.Duration) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		waiting, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	look := converge.Manifest{Protocol: converge.Protocol, Site: c.Site, Run: c.Run, Fence: c.Fence,
		Mode: converge.Prepare}
	last := "nobody asked it yet"
	for {
		pause := time.NewTimer(restartPause)
		select {
		case <-pause.C:
		case <-waiting.Done():
			pause.Stop()
			if ctx.Err() != nil {
				return &converge.SessionError{Code: converge.CodeLost,
					Message: fmt.Sprintf("given up while the node restarts (%v): whether it came back is unknown",
						context.Cause(ctx))}
			}
			if old == "" {
				return &converge.SessionError{Code: converge.CodeRestart,
					Message: fmt.Sprintf("the node, which the worker that is gone may have restarted or locked out, did not answer "+
						"within %s; at the last try: %s. Look at its console; the next run goes on from here", limit, last)}
			}
			return &converge.SessionError{Code: converge.CodeRestart,
				Message: fmt.Sprintf("the node did not come back from its restart within %s; at the last try: %s. "+
					"Look at its console, or allow it more time with timeout; the next run goes on from here", limit, last)}
		}
		summary, err := e.session(waiting, l, node, look, func(converge.Result) {})
		switch is := summary.BootID; {
		case err == nil && is != "" && is != old:
			return nil
		case err == nil:
			last = "it still ran without a restart"
		case hopeless(err):
			return &converge.SessionError{Code: converge.CodeRestart,
				Message: "the node came back from its restart, and cannot be worked with: " + err.Error()}
		case waiting.Err() == nil: // a try that was cut short says less than the one before
			last = err.Error()
		}
	}
}

// hopeless reports whether a node that answered like this will answer no better when it has started all its services.
func hopeless(err error) bool {
	var failed *transport.Error
	return errors.As(err, &failed) && slices.Contains([]transport.Kind{transport.HostKey, transport.Key,
		transport.Config}, failed.Kind)
}

// refuseRestart keeps a run from restarting the machine that it runs on.
func refuseRestart(node site.Node, c converge.Manifest) error {
	if c.Mode != converge.Apply {
		return nil
	}
	for _, i := range c.Items {
		if i.Type == types.RebootType && !i.Remove && !i.Noop() {
			return &converge.SessionError{Code: converge.CodeRestart,
				Message: fmt.Sprintf("%s: node %q has the transport local: it is the machine that runs slipway, and is not restarted from within; "+
					"take the node out of the task's nodes, or let slipway run elsewhere and give the node an SSH connection; nothing was touched", i.ID(), node.Name)}
		}
	}
	return nil
}
