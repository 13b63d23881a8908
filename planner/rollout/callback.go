package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// callback runs one callback. A tolerated failure is a warning.
func (d *driver) callback(ctx context.Context, s session) *sessionEnd {
	planned := s.tasks[0]
	t, err := d.resolve(planned, s.values)
	if err != nil {
		return &sessionEnd{Err: err}
	}
	if d.begun(s) {
		return &sessionEnd{Called: true, Err: errors.New("the worker that called it is gone, so that nobody knows what it " +
			"did, and it is not called again in this run")}
	}
	e := journal.Event{
		Kind: journal.TaskStarted, Group: s.Group, Phase: s.Phase, Node: s.Node, Action: string(t.Action),
		Resource: string(taskID(planned)), Services: planned.Owners(),
	}
	if err := d.log.record(e); err != nil {
		return &sessionEnd{Status: run.NotStarted}
	}
	begin := d.Now()
	var live converge.LiveOutput
	live.Begin(func(text string) {
		printed := e
		printed.Kind, printed.Output = journal.Output, text
		d.log.show(printed)
	}, nil)
	last := &system.Tail{Limit: system.OutputLimit}
	values, err := d.Caller.Call(ctx, io.MultiWriter(&live, last), t)
	live.End()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w; the callback was given up: %w", cause, err)
	}
	e.Kind, e.Status, e.Millis = journal.TaskFinished, string(converge.Changed), d.Now().Sub(begin).Milliseconds()
	e.Output = resource.Visible(strings.ToValidUTF8(last.String(), "\uFFFD"))
	if err != nil {
		e.Status, e.Message = string(converge.Failed), err.Error()
	}
	d.log.append(e)
	return &sessionEnd{Called: true, Digest: t.Digest, Values: values, Err: err}
}

// calledBack takes the end of a callback.
func (d *driver) calledBack(s session, e *sessionEnd) run.Result {
	planned := s.tasks[0]
	if e.Called {
		d.called(planned, e)
		if r := d.rolling[s.Group]; s.Node != "" && r != nil && r.HealthCheck != nil && !s.Session.Last {
			d.note(s.Node, func(r *NodeReport) { r.Unhealthy, r.Healthy = task.OnlyCalled+d.RunID, false })
		}
	}
	switch {
	case e.Status == run.NotStarted:
		return run.Result{Outcome: run.NotStarted}
	case e.Err == nil:
		return run.Result{Outcome: run.Succeeded}
	case e.Called && e.GaveUp:
		return run.Result{Outcome: run.GivenUp}
	}
	return d.callbackFailed(s, planned, e.Err)
}

// called records how a callback ended, which may have had an effect. One that failed on any of its nodes has failed.
func (d *driver) called(planned task.Task, e *sessionEnd) {
	if d.callFailed[planned.Name] = d.callFailed[planned.Name] || e.Err != nil; d.callFailed[planned.Name] {
		d.report.Callbacks[planned.Name] = ""
	} else {
		d.report.Callbacks[planned.Name] = e.Digest
	}
	if e.Err == nil && len(e.Values) > 0 {
		d.report.Values = d.report.Values.with(planned, e.Values)
	}
}

// keepsCalls warns that what callbacks did for a node stays when the node is put back. They are called again by the
// next plan.
func (d *driver) keepsCalls(s session) {
	var names []string
	for _, c := range d.program.Deploy[s.Node] {
		if _, called := d.report.Callbacks[c.Name]; c.Kind == run.Callback && !c.Last && called {
			d.report.Callbacks[c.Name] = ""
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		d.warn(s.Group, s.Node, fmt.Sprintf("node %q: not restored: what the callback%s %s did", s.Node,
			map[bool]string{true: "s"}[len(names) > 1], strings.Join(names, ", ")))
	}
}

func (d *driver) callbackFailed(s session, planned task.Task, err error) run.Result {
	if planned.Tolerate {
		d.warn(s.Group, s.Node, fmt.Sprintf("the callback %s failed: %s; it may fail, so the run goes on", planned.Name,
			err))
		return run.Result{Outcome: run.Succeeded}
	}
	err = &run.CallbackError{Name: planned.Name, Err: err}
	if s.Node != "" {
		d.failed(s.Command, err)
	}
	return run.Result{Outcome: run.Failed, Err: err}
}

// resolve gives a task the values that callbacks of this run have returned by now (litp.md 51, 115).
func (d *driver) resolve(t task.Task, values Values) (task.Task, error) {
	if d.Resolve == nil {
		return t, nil
	}
	resolved, err := d.Resolve(d.plan, t, values)
	if err != nil {
		return t, fmt.Errorf("%s: a value that is read when its phase starts: %w", taskID(t), err)
	}
	return resolved, nil
}

// withFacts gives a task the facts of its node that it reads. A node that has not said them in this run is asked.
func (d *driver) withFacts(ctx context.Context, n site.Node, t task.Task) (task.Task, error) {
	r, err := d.plan.WithFacts(t, d.Machines.facts(n.Name))
	if errors.Is(err, planner.ErrNoFacts) {
		if _, asked := d.askIdentity(ctx, n); asked != nil {
			return t, asked
		}
		r, err = d.plan.WithFacts(t, d.Machines.facts(n.Name))
	}
	if err != nil && !errors.As(err, new(invalid.Error)) { // which names what is wrong
		err = fmt.Errorf("%s: %w", taskID(t), err)
	}
	return r, err
}

// resolveAll resolves all tasks of a session. One that may fail is left out when it cannot be resolved.
func (d *driver) resolveAll(ctx context.Context, s *session) (warnings []string, err error) {
	tasks := make([]task.Task, 0, len(s.tasks))
	for _, t := range s.tasks {
		r, err := d.resolve(t, s.values)
		if err == nil {
			r, err = d.withFacts(ctx, s.node, r)
		}
		switch {
		case err == nil:
			tasks = append(tasks, r)
		case t.Tolerate:
			warnings = append(warnings, fmt.Sprintf("node %q: %s; this task may fail, so the node goes on", s.Node, err))
		default:
			return warnings, err
		}
	}
	s.tasks = tasks
	return warnings, nil
}
