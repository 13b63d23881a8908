package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// CallbackError is a failed callback, as an error of the nodes that waited for it.
type CallbackError struct {
	Name string
	Err  error
}

func (e *CallbackError) Error() string {
	return fmt.Sprintf("the callback %s failed: %v", e.Name, e.Err)
}
func (e *CallbackError) Unwrap() error { return e.Err }

// callback runs one callback; only one runs at a time (litp.md 46). The error says why it failed. A tolerated failure
// is a warning.
func (d *driver) callback(ctx context.Context, group string, st step) (verdict, error) {
	planned := st.tasks[0]
	fail := func(err error) (verdict, error) {
		if planned.Tolerate {
			d.warn(group, st.node, fmt.Sprintf("the callback %s failed: %s; it may fail, so the run goes on",
				planned.Name, err))
			return done, nil
		}
		return failure, &CallbackError{planned.Name, err}
	}
	select {
	case d.calling <- struct{}{}:
		defer func() { <-d.calling }()
	case <-ctx.Done():
	}
	if d.stopped() {
		return cutShort, nil
	}
	if ctx.Err() != nil {
		return failure, &CallbackError{planned.Name, fmt.Errorf("not started: %w", context.Cause(ctx))}
	}
	t, err := d.resolve(planned)
	if err != nil {
		return fail(err)
	}
	e := journal.Event{
		Kind: journal.TaskStarted, Group: group, Phase: st.phase, Node: st.node, Action: string(t.Action),
		Resource: string(taskID(planned)), Service: planned.Service,
	}
	if err := d.log.record(e); err != nil {
		d.stopped()
		return cutShort, nil
	}
	d.callStarted(planned.Name)
	begin := d.Now()
	values, err := d.Caller.Call(ctx, t)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w; the callback was given up: %w", cause, err)
	}
	e.Kind, e.Status, e.Millis = journal.TaskFinished, string(converge.Changed), d.Now().Sub(begin).Milliseconds()
	if err != nil {
		e.Status, e.Message = string(converge.Failed), err.Error()
	}
	d.log.append(e)
	d.callFinished(planned, t, values, err)
	if err != nil {
		if d.cancellation.running.Err() != nil {
			d.stopped()
			return cutShort, nil
		}
		return fail(err)
	}
	return done, nil
}

// callStarted records in the report that a callback may have had an effect.
func (d *driver) callStarted(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report.Callbacks[name] = ""
}

// callFinished records how a callback ended. One that failed on any of its nodes has failed.
func (d *driver) callFinished(planned, t task.Task, values map[string]any, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.callFailed[planned.Name] = true
		return
	}
	if !d.callFailed[planned.Name] {
		d.report.Callbacks[planned.Name] = t.Digest
	}
	d.report.Values.add(t, values)
}

// nodeCallback runs a callback of a node, in a group.
func (d *driver) nodeCallback(ctx context.Context, c call, st step) verdict {
	verdict, err := d.callback(ctx, c.group, st)
	if verdict == failure {
		d.note(st.node, func(r *NodeReport) { r.Group, r.Error = c.group, err })
		d.recordNode(c.group, st.node, strategy.Failed, d.reason(st.node))
	}
	return verdict
}

// callbacks runs the callbacks of a phase in a group, one after the other. A failed callback of a node fails that node.
// Any other failed callback ends the phase and fails every node of the call, because all of them wait for it (litp.md
// 114).
func (d *driver) callbacks(ctx context.Context, c call, r round, p *progress) {
	for _, st := range r.steps {
		if st.node != "" {
			if p.out(st.node) {
				continue
			}
			if st.waits != "" {
				d.refuse(c, st, p, errors.New(st.waits))
				continue
			}
			p.add(st, d.nodeCallback(ctx, c, st))
			continue
		}
		if !d.anyLeft(c, p) {
			continue // nobody waits for it
		}
		verdict, err := d.callback(ctx, c.group, st)
		if verdict == done {
			continue
		}
		d.failWaiting(c, st, p, verdict, err)
		return
	}
}

// anyLeft reports whether a member of the group has not failed.
func (d *driver) anyLeft(c call, p *progress) bool {
	members := d.members(c.group)
	return len(members) == 0 || slices.ContainsFunc(members, func(n string) bool {
		return d.nodeStage(n) != strategy.Failed && !p.out(n)
	})
}

// failWaiting ends the call of a group whose callback failed. When the group had nothing else to do, the nodes that it
// owns fail, so that its criteria count them.
func (d *driver) failWaiting(c call, st step, p *progress, verdict verdict, err error) {
	p.end(st, verdict)
	if verdict == cutShort {
		for _, n := range p.todo {
			if !p.out(n) {
				p.add(step{phase: st.phase, node: n}, cutShort)
			}
		}
		return
	}
	d.failRun(c.critical && len(d.members(c.group)) == 0) // else the criteria decide
	waiting := p.todo
	if len(waiting) == 0 {
		waiting = d.owned[c.group]
	}
	for _, n := range waiting {
		if p.out(n) || d.nodeStage(n) == strategy.Failed {
			continue
		}
		d.note(n, func(r *NodeReport) { r.Group, r.Error = c.group, err })
		d.setNode(n, strategy.Failed)
		d.recordNode(c.group, n, strategy.Failed, d.reason(n))
		p.add(step{phase: st.phase, node: n}, failure)
	}
}

// anyCallback reports whether any callback of a round is to run.
func (d *driver) anyCallback(c call, r round, p *progress) bool {
	return slices.ContainsFunc(r.steps, func(st step) bool { return st.node != "" }) || d.anyLeft(c, p)
}
