package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/telemetry"
)

// run is one run in the journal.
type run struct {
	id     string
	store  *journal.Store
	writer *journal.Writer
	sent   *telemetry.Run // nil: neither traces nor metrics are wanted
	log    func(line string, about ...any)

	revisions, events int // of services that are recorded

	// hosted says that the run was handed over: Host records its end, which finish notes.
	hosted         bool
	status, report string
	resumed        *resumed // nil: no other process had it before
	repeats        bool     // it does again what another process did and recorded
}

// begin opens the journal of a site for a new run. p is nil when no plan is run.
func (e *Engine) begin(ctx context.Context, operation, siteName string, p *planner.Plan) (about journal.Run,
	store *journal.Store, m Messages) {
	id, err := uuid.NewV7()
	if err != nil {
		m.fail("No run id", "%v", err)
		return about, nil, m
	}
	if store, err = e.Journals.Open(ctx, siteName); err != nil {
		m.fail("The journal cannot be opened", "%v. No node was touched.", err)
		return about, nil, m
	}
	about = journal.Run{ID: id.String(), Site: siteName, Operation: operation}
	if p != nil {
		about.Digest, about.Steps = p.Digest, p.Steps()
	}
	return about, store, m
}

// notRecorded says why a run is not in the journal; nil: it is.
func notRecorded(err error) (m Messages) {
	var busy *journal.BusyError
	switch {
	case errors.As(err, &busy):
		m.fail("Another run is at work on the site",
			"%v\n\nNo node was touched. Wait for the run to end and apply again.", busy)
	case err != nil:
		m.fail("The run cannot be recorded", "%v\n\nNo node was touched.", err)
	}
	return m
}

// start opens the journal of a site and takes the site's lease. p is nil when no plan is run.
func (e *Engine) start(ctx context.Context, operation, siteName string, p *planner.Plan) (*run, Messages) {
	about, store, m := e.begin(ctx, operation, siteName, p)
	if m.Failed() {
		return nil, m
	}
	writer, err := store.Start(ctx, about)
	if err != nil {
		_ = store.Close() // nothing was written
		return nil, notRecorded(err)
	}
	return e.entered(ctx, about, store, writer)
}

// options are those of a rollout that follow from its run.
func (e *Engine) options(r *run, executor rollout.Executor, how Run) rollout.Options {
	return rollout.Options{
		Executor: executor, Recorder: r, Lost: r.writer.Lost(), Decisions: r.writer, RunID: r.id,
		GiveUp: e.GiveUp, Now: e.Now, Owner: how.Owner, TakeOver: how.TakeOver, Fence: r.writer.Fence(),
		Parallelism: how.Parallelism, ParallelGroups: how.ParallelGroups,
	}
}

// entered returns a run that has the lease of its site.
func (e *Engine) entered(ctx context.Context, about journal.Run, store *journal.Store, writer *journal.Writer) (r *run,
	m Messages) {
	r = &run{id: about.ID, store: store, writer: writer, log: func(string, ...any) {}}
	if e.Log != nil {
		ids := []any{"run_id", r.id, "trace_id", telemetry.TraceID(ctx, r.id), "site", about.Site}
		r.log = func(line string, about ...any) { e.Log(ctx, line, append(ids, about...)...) }
	}
	r.log("run started", "operation", about.Operation)
	m = owed(ctx, store, about.Site, r.id)
	var err error
	if r.sent, err = telemetry.Start(ctx, about, e.Now()); err != nil {
		m.warn("Traces and metrics are not sent", "%v", err)
	}
	if id := telemetry.Inherited(ctx); id != "" {
		note := journal.Event{Kind: journal.Note, Message: "the run is in the trace " + id}
		if err := writer.Record(ctx, note); err != nil {
			m.warn("The trace of the run is not in the journal", "%v", err)
		}
	}
	return r, m
}

// Record records events of the run, and sends them on.
func (r *run) Record(ctx context.Context, events ...journal.Event) error {
	if err := r.writer.Record(ctx, events...); err != nil {
		return err
	}
	r.sent.Observe(events...)
	for _, e := range events {
		switch {
		case e.Kind == journal.GroupFinished:
			r.log("group finished", "group", e.Group, "status", e.Status)
		case e.Kind == journal.TaskFinished && e.Status == "failed":
			r.log("task failed", "group", e.Group, "node", e.Node, "task", e.Resource, "reason", e.Message)
		}
	}
	return nil
}

// finish writes the outcome and gives the lease back. It is done even when ctx has ended.
func (r *run) finish(ctx context.Context, status, report string) (m Messages) {
	var err error
	if r.hosted {
		r.status, r.report = status, report
	} else {
		err = errors.Join(r.writer.Finish(context.WithoutCancel(ctx), status, report), r.store.Close())
	}
	r.log("run ended", "status", status)
	if err := r.sent.End(status); err != nil {
		m.warn("Not all traces and metrics were sent", "%v\n\nThe run itself is complete.", err)
	}
	if err != nil {
		m.warn("The journal is not complete",
			"%v\n\nThis costs history only: what is applied is in the nodes' ledgers and in the state.", err)
	}
	return m
}

// history records what became of services since it was recorded last.
func (r *run) history(ctx context.Context, t *services.Transition) Messages {
	revisions, events := t.Revisions(), t.Events()
	m := r.recordServices(ctx, revisions[r.revisions:], events[r.events:])
	r.revisions, r.events = len(revisions), len(events)
	return m
}

func (r *run) recordServices(ctx context.Context, revisions []services.Revision, events []services.Event) (m Messages) {
	lines := make([]journal.ServiceEvent, len(events))
	for i, e := range events {
		lines[i] = journal.ServiceEvent{
			Service: e.Service, Incarnation: e.Incarnation, Version: e.Version, DesiredVersion: e.DesiredVersion,
			Time: e.At, Source: e.Source, Destination: e.Destination, Type: string(e.Type), Message: e.Message,
			Ignored: e.Step == lifecycle.Ignored, Correlation: e.Correlation, Severity: int(e.Severity),
			IsError: e.Error,
		}
	}
	if r.repeats {
		return nil
	}
	err := r.writer.RecordServices(ctx, revisions, lines)
	switch {
	case errors.Is(err, journal.ErrFenced):
		m.fail("The run was stopped", "%v", err)
	case err != nil:
		m.warn("The history of services is not complete",
			"%v\n\nThis costs history only: what the services are is in the state.", err)
	}
	return m
}

// journaled returns the services of a site as the journal has them; none when there is no journal.
func (e *Engine) journaled(ctx context.Context, siteName string) ([]services.Revision, error) {
	store, err := e.Journals.OpenExisting(ctx, siteName)
	if errors.Is(err, journal.ErrNoJournal) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }() // it was only read
	return store.Services(ctx, false)
}

// stale refuses a run whose services are not as the plan saw them: another run changed them since, or one that ended
// before it could report.
func stale(past services.Inventory, journaled []services.Revision) (m Messages) {
	for _, now := range journaled {
		was, known := past.Records[now.Service]
		if !known || !past.Newer(now) {
			continue // a service that only the journal has is taken over when it is made
		}
		m = append(m, &Message{Attribute: "services",
			Summary: fmt.Sprintf("The service %q changed since the plan", now.Service),
			Detail: fmt.Sprintf("The plan saw version %d of it, in the state %q; it is at version %d, in the state %q. "+
				"Nothing was touched. Plan again, with a refresh.", was.Version, was.State, now.Version, now.State)})
	}
	return m
}
