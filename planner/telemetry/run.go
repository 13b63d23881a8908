package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Run sends one run: a span for it, below it one for each group, node, session and task, and metrics. Its methods may
// be called on nil, and then do nothing. They are for one goroutine at a time.
type Run struct {
	*sender
	run    journal.Run
	tracer trace.Tracer
	span   open
	groups map[string]open
	nodes  map[nodeKey]*node
	last   time.Time // of the newest event

	runs, tasks         metric.Int64Counter
	runTimes, taskTimes metric.Float64Histogram
}

// open is a span that did not end.
type open struct {
	trace.Span
	ctx context.Context
}

type nodeKey struct{ group, node string }

// node is the span of a node in a group, with that of its session: what it does in one phase.
type node struct {
	open
	session open
	phase   int       // of the session
	last    time.Time // of the session's newest task
}

// endSession ends the session of a node with its last task.
func (n *node) endSession() {
	if n.session.Span != nil {
		n.session.end(n.last, "", "", false)
		n.session.Span = nil
	}
}

// Start starts to send a run. It returns nil where nothing is wanted.
func Start(ctx context.Context, run journal.Run, at time.Time) (*Run, error) {
	s, err := newSender(ctx, run.ID)
	if s == nil || err != nil {
		return nil, err
	}
	r := &Run{sender: s, run: run, tracer: noop.Tracer{}, groups: map[string]open{}, nodes: map[nodeKey]*node{}, last: at}
	if s.traces != nil {
		r.tracer = s.traces.Tracer(scope)
	}
	m := s.meter()
	if r.runs, err = m.Int64Counter("slipway.runs", metric.WithUnit("{run}"),
		metric.WithDescription("Runs by how they ended.")); err != nil {
		return nil, err
	}
	if r.tasks, err = m.Int64Counter("slipway.tasks", metric.WithUnit("{task}"),
		metric.WithDescription("Tasks by how they ended.")); err != nil {
		return nil, err
	}
	if r.runTimes, err = m.Float64Histogram("slipway.run.duration", metric.WithUnit("s")); err != nil {
		return nil, err
	}
	if r.taskTimes, err = m.Float64Histogram("slipway.task.duration", metric.WithUnit("s")); err != nil {
		return nil, err
	}
	r.run.Started = at
	r.span = r.begin(parent(context.WithoutCancel(ctx)), "run "+run.Operation, at, attribute.String("slipway.operation", run.Operation))
	return r, nil
}

// begin starts a span, with what all spans have.
func (r *Run) begin(ctx context.Context, name string, at time.Time, about ...attribute.KeyValue) open {
	about = append(about, attribute.String("slipway.site", r.run.Site), attribute.String("slipway.run.id", r.run.ID))
	ctx, span := r.tracer.Start(ctx, name, trace.WithTimestamp(at), trace.WithAttributes(about...))
	return open{span, ctx}
}

// end ends a span. Failed says that it is an error, and message why.
func (o open) end(at time.Time, status, message string, failed bool) {
	if status != "" {
		o.SetAttributes(attribute.String("slipway.status", status))
	}
	if failed {
		o.SetStatus(codes.Error, message)
	}
	o.End(trace.WithTimestamp(at))
}

// Observe takes the next events of the run, after they were recorded.
func (r *Run) Observe(events ...journal.Event) {
	if r == nil {
		return
	}
	for _, e := range events {
		r.last = e.Time
		switch e.Kind { //nolint:exhaustive // the others begin and end nothing
		case journal.PhaseStarted:
			r.group(e)
		case journal.TaskStarted:
			r.session(e)
		case journal.TaskFinished:
			r.task(e)
		case journal.NodeFinished:
			for key, n := range r.nodes {
				if key.node == e.Node {
					n.endSession()
					n.end(e.Time, e.Status, e.Message, failing(e.Status))
					delete(r.nodes, key)
				}
			}
		case journal.GroupFinished:
			if g, started := r.groups[e.Group]; started {
				g.end(e.Time, e.Status, e.Message, failing(e.Status))
				delete(r.groups, e.Group)
			}
		}
	}
}

// failing reports whether a stage or status is a failure.
func failing(status string) bool {
	return status == "FAILED" || status == "failed" || status == "unreachable"
}

// group returns the span of a group, that of the run for what belongs to none.
func (r *Run) group(e journal.Event) open {
	if e.Group == "" {
		return r.span
	}
	g, started := r.groups[e.Group]
	if !started {
		g = r.begin(r.span.ctx, "group "+e.Group, e.Time, attribute.String("slipway.group", e.Group))
		r.groups[e.Group] = g
	}
	return g
}

// session returns the span of the session of an event of a task: that of its node in its phase, and that of the group
// for what belongs to no node.
func (r *Run) session(e journal.Event) open {
	if e.Node == "" {
		return r.group(e)
	}
	key, about := nodeKey{e.Group, e.Node}, []attribute.KeyValue{attribute.String("slipway.group", e.Group),
		attribute.String("slipway.node", e.Node)}
	n := r.nodes[key]
	if n == nil {
		n = &node{open: r.begin(r.group(e).ctx, "node "+e.Node, e.Time, about...)}
		r.nodes[key] = n
	}
	if n.phase != e.Phase {
		n.endSession()
	}
	if n.session.Span == nil {
		n.session, n.phase = r.begin(n.ctx, "session", e.Time, append(about, attribute.Int("slipway.phase", e.Phase))...), e.Phase
	}
	n.last = e.Time
	return n.session
}

func (r *Run) task(e journal.Event) {
	session := r.session(e)
	typ, _, err := resource.ParseID(e.Resource)
	if err != nil {
		typ = e.Action // about the node as a whole
	}
	took := time.Duration(e.Millis) * time.Millisecond
	message := e.Message
	if message == journal.TextChanged {
		message = ""
	}
	t := r.begin(session.ctx, "task "+e.Action, e.Time.Add(-took), attribute.String("slipway.task", e.Resource),
		attribute.String("slipway.task.type", typ), attribute.String("slipway.task.action", e.Action),
		attribute.String("slipway.group", e.Group), attribute.String("slipway.node", e.Node),
		attribute.StringSlice("slipway.services", e.Services), attribute.Int("slipway.phase", e.Phase))
	t.end(e.Time, e.Status, message, failing(e.Status))
	with := metric.WithAttributes(attribute.String("slipway.site", r.run.Site), attribute.String("slipway.task.type", typ),
		attribute.String("slipway.status", e.Status))
	r.tasks.Add(session.ctx, 1, with)
	r.taskTimes.Record(session.ctx, took.Seconds(), with)
}

// End sends the rest, for [FlushTime] at most. The error says why not all was taken.
func (r *Run) End(status string) error {
	if r == nil {
		return nil
	}
	for _, n := range r.nodes {
		n.endSession()
		n.end(r.last, "", "", false)
	}
	for _, g := range r.groups {
		g.end(r.last, "", "", false)
	}
	r.span.end(r.last, status, "", failing(status))
	with := metric.WithAttributes(attribute.String("slipway.site", r.run.Site),
		attribute.String("slipway.operation", r.run.Operation), attribute.String("slipway.status", status))
	r.runs.Add(r.span.ctx, 1, with)
	r.runTimes.Record(r.span.ctx, r.last.Sub(r.run.Started).Seconds(), with)
	return r.close(r.span.ctx)
}

// Checked sends what a check of a site found: how many configuration resources drifted, how many the last run began and
// did not finish, and how many nodes did not answer. It takes [FlushTime] at most.
func Checked(ctx context.Context, site string, drift, unfinished, unreachable int) error {
	if _, wanted := Wanted(); !wanted {
		return nil
	}
	s, err := newSender(ctx, "check "+site)
	if err != nil {
		return err
	}
	of := metric.WithAttributes(attribute.String("slipway.site", site))
	for name, n := range map[string]int{"slipway.drift": drift, "slipway.unfinished": unfinished,
		"slipway.nodes.unreachable": unreachable} {
		gauge, err := s.meter().Int64Gauge(name)
		if err != nil {
			return err
		}
		gauge.Record(ctx, int64(n), of)
	}
	return s.close(ctx)
}
