package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Durable executes runs that outlive this process (design.md 11). The journal of all who take part is the same.
type Durable interface {
	// Ready reports why no run can be handed over now: the server does not answer, nobody executes runs.
	Ready(ctx context.Context) error
	// Workflow returns the id of the workflow of a run.
	Workflow(site, run string) string
	// Begin lets the workflow of a run start. It does nothing when that was started before.
	Begin(ctx context.Context, run journal.Run) error
	// Stop stops a run in order, as the end of a context does in this process.
	Stop(ctx context.Context, run journal.Run) error
	// Ended returns an error that says how the workflow of a run ended; nil while it is active.
	Ended(ctx context.Context, run journal.Run) error
	// End ends the workflow of a run at once, when it is active: the run has lost its site.
	End(ctx context.Context, run journal.Run) error
}

// Handing says how runs are handed over.
type Handing struct {
	Durable
	Executor func() rollout.Executor // in place of that of the engine, for what is not handed over
	// Asked is closed when the stop of this process was asked for: the run is then stopped. Without it, the end of a
	// context means that who asked for the run is gone, and the run goes on.
	Asked <-chan struct{}
	// Detach leaves runs active also when the stop of this process is asked for.
	Detach bool
}

// How often who waits for a run looks at its row in the journal, and at its workflow; how long the end of a context
// waits for word that a stop was asked for; and how long calls of the server may take.
const (
	rowInterval      = 300 * time.Millisecond
	workflowInterval = 10 * time.Second
	askedTime        = time.Second
	callTime         = 30 * time.Second
)

// handOver has a run executed elsewhere, and waits for its outcome. A run with the same desire that is active, or that
// ended while nobody waited for it and whose outcome the prior state cannot have, is the one that is waited for.
func (e *Engine) handOver(ctx context.Context, operation string, prior *Prior, s site.Site, how Run,
	p *Planned) (out Outcome) {
	r, err := requestOf(prior, s, how)
	var desired string
	if err == nil {
		desired, err = r.desired(operation)
	}
	text, more := json.Marshal(r)
	if err = errors.Join(err, more); err != nil {
		out.fail("The run cannot be handed over", "%v. No node was touched.", err)
		return out
	}
	about, store, m := e.begin(ctx, operation, s.Name, p.Plan)
	if out.add(m); out.Failed() {
		return out
	}
	defer func() { _ = store.Close() }() // what was written is durable
	about.Workflow, about.Desired = e.Handing.Workflow(s.Name, about.ID), desired
	var before string
	if prior != nil {
		before = prior.Active
	}
	active, m := attach(ctx, store, about, before)
	if out.add(m); out.Failed() {
		return out
	}
	if active != nil && !active.Ended.IsZero() {
		ended, err := e.outcome(ctx, store, *active)
		switch {
		case err == nil:
			ended.Messages = append(out.Messages, ended.Messages...)
			return ended
		case journal.Away(err):
			out.fail("The journal cannot be read", "%v. No node was touched.", err)
			return out
		}
		out.warn("The last run is not known", "Run %s ended: %s. Its outcome cannot be read: %v. The apply goes on from what is "+
			"on the nodes.", active.ID, active.Status, err)
		active = nil
	}
	if active == nil {
		if err := e.Handing.Ready(ctx); err != nil {
			out.fail("The run cannot be handed over", "%v. No node was touched.", err)
			return out
		}
		if out.add(p.verifySources()); out.Failed() {
			return out
		}
		if out.add(notRecorded(store.Hand(ctx, about, text))); out.Failed() {
			return out
		}
		active = &about
	}
	if err := e.startWorkflow(ctx, store, *active, p, prior); err != nil {
		out.fail("The run cannot be handed over", "%v", err)
		return out
	}
	waited := e.await(ctx, store, *active)
	waited.Messages = append(out.Messages, waited.Messages...)
	return waited
}

func operation(prior *Prior) string {
	if prior == nil {
		return "create"
	}
	return "update"
}

// startWorkflow starts the workflow of a run, when the journal has all that it needs. A run that no workflow ever had
// is ended.
func (e *Engine) startWorkflow(ctx context.Context, store *journal.Store, run journal.Run, p *Planned,
	prior *Prior) error {
	err := p.leaveSources(ctx, store, run.ID, prior)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err == nil {
		err = e.Handing.Begin(ctx, run)
	}
	if err == nil || run.Owner != "" { // another process started it, and may have it
		return err
	}
	w, more := store.Resume(ctx, run.ID)
	if more == nil {
		more = w.Finish(ctx, string(rollout.StatusFailed), "its workflow could not be started")
	}
	return errors.Join(fmt.Errorf("%w. No node was touched", err), more)
}

// attach returns the run that is waited for instead of a new one: it is active, or nobody waited for its end, that of a
// creation or of the run before, which was active when the prior state was read. nil: there is none.
func attach(ctx context.Context, store *journal.Store, wanted journal.Run, before string) (active *journal.Run,
	m Messages) {
	last, err := store.Run(ctx, "")
	switch {
	case errors.Is(err, journal.ErrNoRun):
	case err != nil:
		m.fail("The journal cannot be read", "%v. No node was touched.", err)
	case last.Workflow == "" || last.Ended.IsZero() && last.Status != journal.Running:
	case !last.Ended.IsZero():
		unknown := wanted.Operation == operation(nil) || last.ID == before
		if unknown && last.Desired == wanted.Desired && last.Outcome != "" &&
			last.Status == string(rollout.StatusSucceeded) {
			return &last, nil
		}
	case last.Desired == wanted.Desired:
		return &last, nil
	default:
		m.fail("Another run is at work on the site", "Run %s, started %s, is active on the site %q and does something else "+
			"than what is wanted now. Wait for its end and plan again, or stop it with `terraform-provider-slipway runs "+
			"cancel %s`. No node was touched.", last.ID, last.Started.Format(time.RFC3339), last.Site, last.ID)
	}
	return nil, m
}

// await waits for the end of a run and returns its outcome.
func (e *Engine) await(ctx context.Context, store *journal.Store, run journal.Run) (out Outcome) {
	stopping := ctx.Done()
	calls := context.WithoutCancel(ctx)
	rows, workflows := time.NewTicker(rowInterval), time.NewTicker(workflowInterval)
	defer rows.Stop()
	defer workflows.Stop()
	var ended error
	for {
		select {
		case <-rows.C:
		case <-workflows.C:
			ended = e.Handing.Ended(calls, run)
		case <-stopping:
			stopping = nil
			if !e.stop(ctx, run, &out) {
				return out
			}
			continue
		case <-e.GiveUp:
			out.detached(run)
			return out
		}
		now, err := store.Run(calls, run.ID)
		if err != nil { // the database is away; the run goes on, or stops by itself
			continue
		}
		switch {
		case now.Status == journal.Abandoned:
			e.freed(calls, now, &out)
			return out
		case !now.Ended.IsZero():
			messages := out.Messages
			if out, err = e.outcome(calls, store, now); err != nil {
				out.fail("The outcome of the run cannot be read", "run %s ended: %s: %v\n%s", now.ID, now.Status, err, now.Report)
				return out
			}
			out.Messages = append(messages, out.Messages...)
			return out
		case ended != nil:
			out.fail("The workflow of the run has ended", "%v\n\nWhat the run did is in the ledgers of the nodes. Free the site "+
				"with `terraform-provider-slipway runs unlock %s --force`, then plan again.", ended, run.Site)
			return out
		}
	}
}

// freed says that a person freed the site of a run, and ends its workflow, which is active while no worker is there.
func (e *Engine) freed(ctx context.Context, run journal.Run, out *Outcome) {
	out.fail("The site was freed from the run", "Run %s was stopped at %s: its site %q was freed with `runs unlock`. What it "+
		"did is in the ledgers of the nodes; plan again.", run.ID, run.Ended.Format(time.RFC3339), run.Site)
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := e.Handing.End(ctx, run); err != nil {
		out.warn("A workflow is left", "The workflow %s cannot be ended: %v. It ends when a worker finds that the site was "+
			"freed; without one, terminate it in Temporal.", run.Workflow, err)
	}
}

// stop stops a run because a context ended; false: it goes on without this process.
func (e *Engine) stop(ctx context.Context, run journal.Run, out *Outcome) bool {
	var over *TimeLimitError
	if !errors.As(context.Cause(ctx), &over) {
		timer := time.NewTimer(askedTime)
		defer timer.Stop()
		select {
		case <-e.Handing.Asked:
		case <-timer.C:
			out.detached(run)
			return false
		}
		if e.Handing.Detach {
			out.detached(run)
			return false
		}
	} else {
		out.warn("The run ran out of time", "%v.", over)
	}
	calls, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err := e.Handing.Stop(calls, run); err != nil {
		out.Active = run.ID
		out.fail("The run could not be stopped", "%v\n\nIt goes on. Stop it with `terraform-provider-slipway runs cancel %s`.",
			err, run.ID)
		return false
	}
	return true
}

// detached says that a run goes on without this process.
func (o *Outcome) detached(run journal.Run) {
	o.Active = run.ID
	o.fail("The run goes on", "Run %s of the site %q is active and goes on without Terraform. The next plan says how far it "+
		"is, or how it ended. %s.", run.ID, run.Site, waiting(run))
}

// waiting says what to do about an active run of which this process is not part.
func waiting(run journal.Run) string {
	wait := "apply the configuration that it was started with"
	if run.Operation == Delete {
		wait = "destroy again"
	}
	return "While it is active, " + wait + " to wait for it, or stop it with `terraform-provider-slipway runs cancel " + run.ID + "`"
}

// outcome returns the outcome of a run that has ended.
func (e *Engine) outcome(ctx context.Context, store *journal.Store, run journal.Run) (out Outcome, err error) {
	if run.Outcome == "" {
		return out, errors.New("the journal has no outcome of it")
	}
	text, err := store.Blob(ctx, run.ID, journal.UseOutcome, encryption.Control, run.Outcome)
	if err == nil {
		out, err = decodeOutcome(text)
	}
	out.Run = run.ID
	return out, err
}

// Handed is what the journal has of the last run of a site, when a workflow executed it.
type Handed struct {
	Run    journal.Run
	Active bool
	// Of a run that has ended: its outcome, without services, and what was given with it as [Run.Model].
	Outcome Outcome
	Model   []byte
}

// WasActive is the summary of a warning of an active run. Terraform prints the warnings of its plan after the apply
// once more, when the run may have ended.
const WasActive = "A run was active when this was planned"

// Working says of an active run what it does, or did when this was planned, and what to do about it.
func (h *Handed) Working(does string) string {
	return fmt.Sprintf("Run %s, started %s, %s. %s.", h.Run.ID, h.Run.Started.Format(time.RFC3339), does, waiting(h.Run))
}

// Report says how a run ended that nobody waited for, and what its outcome reports.
func (h *Handed) Report() string {
	report := h.ended()
	for _, m := range h.Outcome.Messages {
		report += "\n\n" + m.Error()
	}
	if h.Run.Operation == Delete {
		for _, m := range h.Outcome.TornDown() {
			report += "\n\n" + m.Error()
		}
	}
	return report
}

func (h *Handed) ended() string {
	return fmt.Sprintf("Run %s of the site %q ended at %s: %s.", h.Run.ID, h.Run.Site, h.Run.Ended.Format(time.RFC3339),
		h.Run.Status)
}

// HandedBefore says what became of the last run that was handed over for a site of which a creation is planned.
func (e *Engine) HandedBefore(ctx context.Context, siteName string) (m Messages) {
	h, err := e.LastHanded(ctx, siteName, "")
	switch {
	case err != nil:
		m.warn("The last run is not known", "%v", err)
	case h == nil || h.Outcome.Status == Destroyed:
	case h.Active:
		m.warn(WasActive, "%s", h.Working(fmt.Sprintf("was active on the site %q, for which a creation is planned", siteName)))
	default:
		m.warn("A run of the site has ended", "%s A creation of the site is planned, which knows no outcome of it. When it "+
			"succeeded, applying the configuration that it was started with takes its outcome over. Else the apply goes on from "+
			"what is on the nodes.", h.ended())
	}
	return m
}

// LastHanded returns the last run of a site when a workflow executes it, or executed it. nil: there is none, or it is
// the one called known and has ended.
func (e *Engine) LastHanded(ctx context.Context, siteName, known string) (h *Handed, err error) {
	if e.Handing == nil {
		return nil, nil
	}
	store, err := e.Journals.OpenExisting(ctx, siteName)
	if errors.Is(err, journal.ErrNoJournal) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }() // it was only read
	last, err := store.Run(ctx, "")
	switch {
	case errors.Is(err, journal.ErrNoRun):
		return nil, nil
	case err != nil:
		return nil, err
	case last.Workflow == "":
		return nil, nil
	case last.Ended.IsZero():
		return &Handed{Run: last, Active: true}, nil
	case last.ID == known || last.Outcome == "":
		return nil, nil
	}
	h = &Handed{Run: last}
	if h.Outcome, err = e.outcome(ctx, store, last); err != nil {
		return nil, fmt.Errorf("run %s ended: %s. Its outcome cannot be read: %w", last.ID, last.Status, err)
	}
	text, err := store.Blob(ctx, last.ID, journal.UseRequest, encryption.Control, last.Request)
	var r request
	if err == nil {
		_, err = decodeWire(text, &r)
	}
	h.Model = r.Model
	return h, err
}
