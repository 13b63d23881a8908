package rollout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// Unknown is the status of the event that ends a task whose session ended before its result came.
const Unknown = "unknown"

// outcome is the result of one session.
type outcome struct {
	err error // why the session could not do its work
	ItemResults
	ledger   map[resource.ID]string // nil when the session ended without telling
	warnings []string
	sent     bool // false: the run was stopped before
	nothing  bool // there was nothing to send
	lock     run.Lock
	begun    bool // the ledger has the actions that the session starts
	again    bool // it was lost before it started anything, and is tried again
	boot     string
	digest   hash.Hash // of the results that are in the journal; nil: there are none
}

// result adds to the result of a session what people look at.
func (o outcome) result(r run.Result) run.Result {
	r.Boot = o.boot
	r.Counts = run.Counts{Changed: o.Changed, Unchanged: o.Unchanged, Skipped: o.Skipped, Unknown: o.Unknown}
	for _, f := range o.Failures {
		if !f.Skipped {
			r.Counts.Failed++
			r.Failures = append(r.Failures, string(f.Resource))
		}
	}
	if o.digest != nil {
		r.Digest = hex.EncodeToString(o.digest.Sum(nil))
	}
	return r
}

// recorded adds an event to the digest of the results.
func (o *outcome) recorded(e journal.Event) {
	if o.digest == nil {
		o.digest = sha256.New()
	}
	fmt.Fprintf(o.digest, "%s %s\n", e.Resource, e.Status)
}

// ok reports whether the session ended without a failure or an item left out.
func (o outcome) ok() bool { return o.err == nil && len(o.Failures) == 0 }

// session runs one catalog on one node. Its tasks are in the journal as started before the catalog is sent and as
// finished as soon as their results are there; the order of events is that of what happened.
func (d *driver) session(ctx context.Context, st session, c converge.Manifest) outcome {
	var o outcome
	n, group, begin := st.node, st.Group, d.Now()
	begun := make([]journal.Event, 0, len(st.tasks))
	actions := map[resource.ID]task.Action{}
	tolerated := map[resource.ID]bool{}
	services := map[resource.ID][]string{}
	for _, t := range st.tasks {
		e := journal.Event{Kind: journal.TaskStarted, Group: group, Phase: st.Phase, Node: n.Name, Services: t.Owners(),
			Action: string(t.Action)}
		if t.Resource.Type != "" {
			e.Resource = string(taskID(t))
		}
		begun = append(begun, e)
		actions[resource.ID(e.Resource)] = t.Action
		tolerated[resource.ID(e.Resource)] = t.Tolerate
		services[resource.ID(e.Resource)] = e.Services
	}
	if !d.begun(st) {
		if err := d.log.record(begun...); err != nil {
			o.err = err
			return o
		}
	}

	var stay []string
	var unasked []resource.ID
	finished := func(r converge.Result) {
		if r.Guarded {
			d.log.append(journal.Event{Kind: journal.Note, Group: group, Phase: st.Phase, Node: n.Name, Resource: string(r.ID),
				Message: fmt.Sprintf("guard: waits to be confirmed over a new connection; otherwise the node puts it back "+
					"within %s", types.GuardLimit)})
			return
		}
		action, known := actions[r.ID]
		if r.Status == converge.Printing {
			e := journal.Event{Kind: journal.Output, Group: group, Phase: st.Phase, Node: n.Name, Resource: string(r.ID),
				Services: services[r.ID], Action: string(action), Output: r.Output}
			if r.ID == "" {
				e.Action = r.Message
			}
			d.log.show(e)
			return
		}
		switch {
		case c.TearDown:
			action = task.Forget
		case c.Restore:
			if action = task.Restore; r.Message == converge.NotRestored {
				stay = append(stay, string(r.ID))
			}
		default:
			if !known {
				unasked = append(unasked, r.ID)
				return
			}
			delete(actions, r.ID)
		}
		o.add(r)
		// it was undone, and something that this needed was already gone
		if r.Status == converge.Changed && r.Message != "" {
			o.warnings = append(o.warnings, fmt.Sprintf("node %q: %s: %s", n.Name, r.ID, r.Message))
		}
		if r.Status == converge.Differs && r.Message == "" {
			r.Message = "it has noop, so it stays as it is: " + differing(r.Differences)
			o.warnings = append(o.warnings, fmt.Sprintf("node %q: %s differs and has noop, so it stays as it is: %s",
				n.Name, r.ID, differing(r.Differences)))
		}
		if r.Notice != "" {
			o.warnings = append(o.warnings, fmt.Sprintf("node %q: %s: %s", n.Name, r.ID, r.Notice))
		}
		message, output := r.Message, r.Output
		if r.Status == converge.Changed && r.Diff != "" {
			message, output = journal.TextChanged, r.Diff
		}
		e := journal.Event{Kind: journal.TaskFinished, Group: group, Phase: st.Phase, Node: n.Name,
			Resource: string(r.ID), Services: services[r.ID], Action: string(action), Status: string(r.Status),
			Message: message, Output: output, Millis: r.Millis}
		o.recorded(e)
		d.log.append(e)
	}
	o.sent = true
	c.Begins = st.begins
	summary, err := d.whenFree(ctx, st, c, finished)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = givenUpError{cause, err}
	}
	if early(err) && ctx.Err() == nil {
		lost := loss{st.ID, err, make(chan bool)}
		d.lose(lost)
		if o.again = <-lost.again; o.again {
			return o
		}
	}
	o.err, o.boot = err, summary.Identity.Boot
	if readLedger(err) {
		o.ledger = planner.WithUnchecked(summary.Ledger, summary.Unchecked)
	}
	if summary.Notice != "" {
		o.warnings = append(o.warnings, fmt.Sprintf("node %q: %s", n.Name, summary.Notice))
	}
	if len(unasked) > 0 {
		o.warnings = append(o.warnings, fmt.Sprintf("node %q reported %d results that it was not asked for, or twice; they "+
			"are ignored, the first is that of %.200s", n.Name, len(unasked), unasked[0]))
	}
	if len(stay) > 0 {
		o.warnings = append(o.warnings, fmt.Sprintf("node %q: not restored: %s; packages, and what commands did, stay",
			n.Name, strings.Join(stay, ", ")))
	}
	o.begun, o.lock = readLedger(err), lockAfter(c, summary, err)
	d.conclude(&o, c, st, actions, d.Now().Sub(begin))
	o.tolerate(n.Name, tolerated, len(st.tasks), context.Cause(ctx))
	if cause := context.Cause(ctx); o.err == nil && !o.ok() && cause != nil {
		// its end came in good order, and before that of its work
		o.err = fmt.Errorf("%w; the session was given up", cause)
	}
	var failed *converge.SessionError
	if errors.As(err, &failed) && failed.Code == converge.CodeUnlock {
		o.warnings = append(o.warnings, fmt.Sprintf("node %q stays locked: %s", n.Name, failed.Message))
	}
	return o
}

// busyPause is the time between two tries while another session, often the remains of this run's own, works on a node.
// The node waits a few seconds by itself, too.
const busyPause = time.Second

// whenFree runs a catalog on a node that no other session is active on, see untilFree. To unlock a node, it waits even
// when the run is stopped.
func (d *driver) whenFree(ctx context.Context, st session, c converge.Manifest, each func(converge.Result)) (
	converge.Summary, error) {
	n, stop := st.node, d.cancellation.stopping
	if len(st.tasks) == 1 && st.tasks[0].Action == task.Unlock {
		stop = ctx
	}
	waiting := journal.Event{Group: st.Group, Phase: st.Phase, Node: n.Name}
	tries, lost := 0, 0
	summary, err := d.untilFree(ctx, stop, waiting, func() (summary converge.Summary, err error) {
		working := false
		for {
			tries++
			c.Session = fmt.Sprintf("%d/%d/%s/%d/%d", st.ID.Pass, st.ID.Session, st.ID.Purpose, st.ID.Attempt, tries)
			summary, err = d.converge(ctx, n, c, func(r converge.Result) {
				working = true
				each(r)
			})
			if lost == mostTakeovers || !gone(err) || ctx.Err() != nil || stop.Err() != nil {
				break
			}
			lost++
			c.Resume = true
			d.Machines.takeOver(n.Name)
			note := waiting
			note.Kind, note.Message = journal.Note, "the worker that ran the session is gone; another one goes on from the ledger"
			d.log.append(note)
		}
		if err == nil && summary.Error != nil {
			err = summary.Error
		}
		waited := d.Machines.waitedFor(n.Name)
		if err != nil && ctx.Err() != nil && waited != nil && !working && !busy(err) {
			err = fmt.Errorf("%w; before that: %w", err, waited)
		}
		return summary, err
	})
	if lost > 0 && err != nil && !readLedger(err) {
		why := "the worker that ran the session is gone, and nobody goes on with it: " + withoutNode(err)
		if gone(err) {
			why = fmt.Sprintf("%d workers that ran the session, one after the other, are gone, so that nobody knows what it did",
				lost+1)
		}
		err = &converge.SessionError{Code: converge.CodeLost, Message: why}
	}
	return summary, err
}

// mostTakeovers is how often another worker goes on with a session at most: one that ends its workers is given up.
const mostTakeovers = 2

// gone reports whether a session ended because whoever ran it is gone. Another worker may go on from the ledger of the
// node, whose lock and fence keep the first one out.
func gone(err error) bool {
	var failed *converge.SessionError
	return errors.As(err, &failed) && failed.Code == converge.CodeGone
}

// withoutNode returns the text of an error without its node.
func withoutNode(err error) string {
	var failed *transport.Error
	if errors.As(err, &failed) {
		return failed.Message.String()
	}
	return err.Error()
}

// untilFree calls try, again while another session is active on the node, until ctx or stop ends. The journal records
// the wait once, as the event waiting; the error says how long it was.
func (d *driver) untilFree(ctx, stop context.Context, waiting journal.Event,
	try func() (converge.Summary, error)) (converge.Summary, error) {
	start := d.Now()
	for noted := false; ; noted = true {
		summary, err := try()
		if !busy(err) {
			return summary, err
		}
		if !noted {
			waiting.Kind, waiting.Message = journal.Note, "waiting: "+err.Error()
			d.log.append(waiting)
		}
		timer := time.NewTimer(busyPause)
		select {
		case <-timer.C:
			continue
		case <-ctx.Done():
		case <-stop.Done():
		}
		timer.Stop()
		return summary, fmt.Errorf("%w; it was waited for %s", err, d.Now().Sub(start).Round(time.Second))
	}
}

// busy reports whether a session ended because another one works on the node.
func busy(err error) bool {
	var failed *converge.SessionError
	return errors.As(err, &failed) && failed.Code == converge.CodeLocked
}

// tolerate turns the failures of tasks that may fail into warnings, and an error of the session too when all of its
// tasks may fail. A lock window that did not open or close, and a session that was given up, are never tolerated.
func (o *outcome) tolerate(node string, tolerated map[resource.ID]bool, tasks int, cause error) {
	all := tasks > 0
	for _, may := range tolerated {
		all = all && may
	}
	o.Failures = slices.DeleteFunc(o.Failures, func(f Failure) bool {
		if tolerated[f.Resource] {
			o.warnings = append(o.warnings, fmt.Sprintf("node %q: %s: %s; this task may fail, so the node goes on",
				node, f.Resource, f.Message))
			o.Done = append(o.Done, f.Resource)
		}
		return tolerated[f.Resource]
	})
	var failed *converge.SessionError
	if o.err == nil || !all || cause != nil || errors.As(o.err, &failed) &&
		(failed.Code == converge.CodeLock || failed.Code == converge.CodeUnlock) {
		return
	}
	o.warnings = append(o.warnings, fmt.Sprintf("node %q: %s; its tasks may fail, so the node goes on", node, o.err))
	o.err = nil
}

// add counts a result.
func (o *outcome) add(r converge.Result) {
	switch r.Status {
	case converge.Changed:
		o.Changed++
		o.Done = append(o.Done, r.ID)
		o.Altered = append(o.Altered, r.ID)
	case converge.Unchanged, converge.Differs: // differs: it has noop, so that is all that was to be found out
		o.Unchanged++
		o.Done = append(o.Done, r.ID)
	case converge.Skipped:
		o.Skipped++
		o.Failures = append(o.Failures, Failure{Resource: r.ID, Message: cmp.Or(r.Message, "skipped"), Skipped: true})
	case converge.Failed:
		o.Failures = append(o.Failures, Failure{Resource: r.ID, Message: cmp.Or(r.Message, "failed without a reason"),
			Refresh: r.Refreshed})
	default:
		o.Failures = append(o.Failures, Failure{Resource: r.ID,
			Message: fmt.Sprintf("status %q has no meaning in mode %q", r.Status, converge.Apply)})
	}
}

// differing says in one line how a resource differs.
func differing(ds []types.Difference) string {
	parts := make([]string, len(ds))
	for i, d := range ds {
		parts[i] = d.String()
	}
	return strings.Join(parts, "; ")
}

// conclude ends the tasks that have no result: those about the node as a whole, which end with the session, and those
// whose outcome nobody knows. took is how long the session was.
func (d *driver) conclude(o *outcome, c converge.Manifest, st session, left map[resource.ID]task.Action,
	took time.Duration) {
	var ended []journal.Event
	for _, t := range st.tasks {
		e := journal.Event{Kind: journal.TaskFinished, Group: st.Group, Phase: st.Phase, Node: st.Node, Services: t.Owners(),
			Action: string(t.Action)}
		if o.err != nil {
			e.Message = o.err.Error()
		}
		switch t.Action {
		case task.PrepareNode, task.Forget, task.Unlock, task.HealthCheck:
			e.Millis = took.Milliseconds()
			e.Status = string(converge.Unchanged)
			if c.TearDown || t.Action == task.Unlock {
				e.Status = string(converge.Changed)
			}
			if !o.ok() {
				e.Status = string(converge.Failed)
			}
		default:
			id := t.Resource.ID()
			if _, open := left[id]; !open {
				continue
			}
			delete(left, id)
			e.Resource, e.Status = string(id), Unknown
			o.Unknown++
			if o.err == nil {
				e.Message = "the session ended without its result"
				o.Failures = append(o.Failures, Failure{Resource: id, Message: e.Message})
			}
		}
		o.recorded(e)
		ended = append(ended, e)
	}
	if len(ended) > 0 {
		d.log.append(ended...)
	}
}

// catalog returns what a node is to do in one session.
func (d *driver) catalog(mode converge.Mode, items []converge.Item) converge.Manifest {
	return converge.Manifest{Protocol: converge.Protocol, Site: d.site, Run: d.RunID, Mode: mode,
		Owner: d.Owner, TakeOver: d.TakeOver, Fence: d.Fence, Items: slices.Clip(items)}
}

// readLedger reports whether a session that ended with err knows what is in the node's ledger: after those errors that
// come before or after its work it does, after the others it had not looked, or could not know.
func readLedger(err error) bool {
	var failed *converge.SessionError
	return err == nil || errors.As(err, &failed) &&
		slices.Contains([]converge.Code{converge.CodeLock, converge.CodeUnlock, converge.CodeHealth}, failed.Code)
}

// unreachable reports whether a session failed because the node did not answer. A node that answers and lets nobody in,
// or is not who it should be, is a failure that a person has to look at.
func unreachable(err error) bool {
	var failed *transport.Error
	return errors.As(err, &failed) && failed.Kind == transport.Unreachable
}

// silent reports whether a session failed because the node was asked and did not answer.
func silent(err error) bool { return unreachable(err) && !Unasked(err) }

// Unasked reports whether a session failed because nobody was there who asks the node.
func Unasked(err error) bool {
	var failed *transport.Error
	return errors.As(err, &failed) && failed.Unasked
}

// answered reports whether the node took part in a session; before is what was known until then.
func (o outcome) answered(before bool) bool {
	var failed *transport.Error
	switch {
	case o.err == nil, o.Changed+o.Unchanged+len(o.Failures) > 0, errors.As(o.err, new(*converge.SessionError)):
		return true
	case errors.As(o.err, &failed):
		return failed.Kind == transport.Busy || failed.Kind == transport.Lost
	}
	return before
}

// lockAfter is what the end of a session says of the lock of its node. One that was to lock the node and ended without
// a result may have left it locked; one that never started changed nothing.
func lockAfter(c converge.Manifest, s converge.Summary, err error) run.Lock {
	var failed *converge.SessionError
	switch {
	case c.Lock != "" && c.Unlock == "": // no command unlocks the node, so it cannot be left locked
	case errors.As(err, &failed) && failed.Code == converge.CodeUnlock:
		return run.IsStuck
	case readLedger(err) && !s.Locked:
		return run.IsUnlocked
	case readLedger(err), (c.Lock != "" || c.Keep) && lost(err):
		return run.IsLocked
	}
	return ""
}

// early reports whether a session was lost before it started anything.
func early(err error) bool {
	var failed *transport.Error
	return errors.As(err, &failed) && failed.Early
}

// lost reports whether the session that ended with err had started and its end is unknown.
func lost(err error) bool {
	var session *converge.SessionError
	if errors.As(err, &session) {
		return slices.Contains([]converge.Code{converge.CodeLost, converge.CodeGone, converge.CodeLedger,
			converge.CodeRestart}, session.Code)
	}
	var conn *transport.Error
	return !errors.As(err, &conn) || conn.Kind == transport.Lost && !conn.Early
}

// taskID is what the journal and error texts call a task: type[title], for a callback type[name].
func taskID(t task.Task) resource.ID {
	if t.Kind == task.Callback {
		return resource.MakeID(t.Resource.Type, t.Name)
	}
	return t.Resource.ID()
}
