package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Run says how a site is applied.
type Run struct {
	Settings
	Parallelism    int // nodes at once; 0 is the default of rollout.Options
	ParallelGroups int // likewise
	// Protection bounds what is torn down where only the run finds out which machine a node is.
	Protection planner.Protection
	// Digest is that of the plan that was shown: a run with another one is refused. Empty: nothing was shown.
	Digest string
	// Replaced are the nodes of a creation that failed and that this one takes the place of, with their own connections.
	Replaced []site.Node
	// Model is kept with a run that is handed over, for who asked for it.
	Model []byte
}

// application is one apply of a site.
type application struct {
	*Planned
	*run
	engine  *Engine
	how     Run
	prior   *Prior
	past    State // what is remembered, with what is applied by the nodes' present names
	options rollout.Options
	opening opening

	called  map[resource.ID]string // what is applied on the controller, after the run
	moving  map[string]bool        // services that were between two states when the run started
	did     []string               // what the run did, a line each
	ended   int                    // passes that did
	removed planner.Losses         // what the first one removed
}

// Apply brings a site from prior to s. prior is nil for a site that is not known: the run then goes on from what the
// nodes' ledgers and the journal say. When ctx ends, no new task is started and running ones have their grace.
func (e *Engine) Apply(ctx context.Context, prior *Prior, s site.Site, how Run) Outcome {
	out := e.apply(ctx, prior, s, how, nil, nil)
	if prior == nil && how.Owner == "" && out.Status != "" {
		out.tainted()
	}
	return out
}

// apply is Apply; r is a run that the journal has already, and drive drives its machine; nil: this process does.
func (e *Engine) apply(ctx context.Context, prior *Prior, s site.Site, how Run, r *run, drive Drive) Outcome {
	var out Outcome
	began := opening{Now: e.Now()}
	if r != nil && r.resumed != nil {
		began = r.resumed.opening
	}
	planned, errs := plan(prior, s, how.Settings, began.Now)
	if planned == nil {
		out.errs(errs.Errors())
		return out
	}
	if how.Digest != "" && how.Digest != planned.Plan.Digest {
		out.fail("The plan is stale",
			"What this apply would do is not what the plan showed, so nothing was touched. Plan again.")
		return out
	}
	if out.add(planned.Frozen(planned.Lines())); out.Failed() {
		return out
	}
	if out.add(how.Secrets.Missing(s, SecretsWO)); !out.Failed() {
		out.errs(planned.Plan.RefusedSecrets(how.Secrets.Content))
	}
	if out.Failed() {
		return out
	}
	if e.Handing != nil {
		if out.add(e.Handed(planned, how.Connection)); out.Failed() {
			return out
		}
		if out = e.handOver(ctx, operation(prior), prior, s, how, planned); out.Status != "" {
			out = out.Of(s)
		}
		return out
	}
	executor := rollout.Executor(secretive{e.Executor(), how.Secrets})
	if r == nil { // else who handed the run over has the files, and workers have them from the journal
		executor = supplying{executor}
		if out.add(planned.verifySources()); out.Failed() {
			return out
		}
	}
	a := &application{Planned: planned, engine: e, how: how, prior: prior, run: r, opening: began}
	if prior != nil {
		a.past = prior.State
	}
	a.past.Applied, a.past.Values = planned.Applied, planned.Site.Values
	journaled, m := a.start(ctx)
	if out.Messages = m; m.Failed() {
		return out
	}
	a.options = a.rolloutOptions(executor)
	running := ctx
	surveying, stop := context.WithCancel(ctx) // nodes that are slow to answer are waited for where they are worked on
	defer stop()
	var refused *Message
	if prior == nil || prior.Imported {
		if prior != nil {
			journaled = nil // the check after the import took them over
		}
		refused = a.goOn(surveying, journaled)
		if refused != nil && len(how.Replaced) == 0 {
			out.Messages = append(out.Messages, refused)
			out.add(a.finish(ctx, string(rollout.StatusFailed), "nothing was touched: "+refused.Detail))
			stop()
			_ = executor.Close() // nothing is lost
			return out
		}
		if refused != nil { // the failed creation stays known: it is a run that was interrupted before its first step
			out.Messages = append(out.Messages, refused)
			running = interrupted(ctx)
		}
	}
	a.opening.Plan = a.Plan.Digest
	if m := a.handTo(&a.options, drive, a.opening); m.Failed() {
		out.add(m)
		_ = executor.Close() // nothing is lost
		return out
	}
	a.options.Unsure, a.options.Protection = a.Unsure, how.Protection
	a.options.TornDown = how.Protection.TornDownOf(a.Losses().Nodes)
	out.add(a.recordServices(ctx, services.CurrentRevisions(a.past.Services), nil))
	out.add(a.history(ctx, a.Services))
	todo := a.Plan
	a.did, a.called, a.moving = a.Services.Steps(), a.past.Applied[planner.Controller], a.Services.Changing()
	var passes Messages
	a.options.Next = a.passes(ctx, &passes)
	report, err := rollout.Run(running, a.Deployed, todo, a.options)
	a.repeats = false
	if err != nil {
		report.Status = rollout.StatusFailed
		out.fail("The run was stopped", "%v", err)
	}
	if a.ended == 0 { // nothing was run
		a.options.Next(report, report, e.Now())
	}
	out.add(passes)

	if a.conclude(&out, report); out.Status == Paused {
		report.Status = rollout.StatusPaused
	}
	a.learn(&out, todo, report)
	if (prior == nil || prior.Imported) && !a.removed.Empty() {
		out.warn("Removed: what the site had on its nodes and nobody wants any more",
			"The ledgers of the nodes had it from an earlier run, so that the plan could not show it.\n%s",
			strings.Join(a.removed.ByNode(), "\n"))
	}
	if prior == nil {
		a.giveUp(ctx, &out)
	} else {
		a.keepDeparted(&out, report)
	}
	stop()
	_ = executor.Close() // every answer that counts has been read
	a.Services.Learn(out.State.Values)
	out.State.Services, out.Services, out.Done = a.Services.State(), a.Services, a.did
	out.add(a.history(context.WithoutCancel(ctx), a.Services))
	if refused == nil {
		out.report(ctx, report)
	}
	out.reportRollbacks(a.Services)
	if prior == nil && out.Failed() && !out.failed() {
		report.Status, out.Status = rollout.StatusFailed, Failed // Terraform takes every creation with an error for one
	}
	out.add(a.finish(ctx, string(report.Status), report.String()))
	out.nameRun(a.id)
	return out
}

// start starts the run in the journal, and returns the services that the journal has. Services that changed since the
// plan are refused, also those that another run changed while this one waited for the site.
func (a *application) start(ctx context.Context) (journaled []services.Revision, m Messages) {
	if a.run != nil && a.resumed != nil {
		return a.opening.Journaled, nil
	}
	journaled, err := a.engine.journaled(ctx, a.Site.Name)
	if err != nil {
		m.fail("The journal cannot be opened", "%v\n\nNo node was touched.", err)
		return nil, m
	}
	if a.prior != nil {
		if m = stale(a.past.Services, journaled); m.Failed() {
			return nil, m
		}
	}
	a.opening.Journaled = journaled
	if a.run != nil {
		return journaled, m
	}
	var more Messages
	a.run, more = a.engine.start(ctx, operation(a.prior), a.Site.Name, a.Plan)
	if m.add(more); m.Failed() || a.prior == nil {
		return journaled, m
	}
	why := "services changed since the plan"
	if journaled, err = a.engine.journaled(ctx, a.Site.Name); err != nil {
		m.fail("The journal cannot be read", "%v\n\nNo node was touched.", err)
		why = "the journal could not be read"
	}
	if m.add(stale(a.past.Services, journaled)); m.Failed() {
		m.add(a.finish(ctx, string(rollout.StatusFailed), "nothing was touched: "+why))
	}
	return journaled, m
}

func (a *application) rolloutOptions(executor rollout.Executor) rollout.Options {
	departed := make(map[string]site.Node, len(a.Before))
	for _, n := range a.Before {
		departed[n.Name] = n
	}
	for _, l := range a.Left {
		n := departed[l.Node]
		n.Name = l.Name
		departed[l.Name] = n
	}
	o := a.engine.options(a.run, executor, a.how)
	o.Departed, o.Machines, o.Caller = departed, rollout.NewMachines(a.machines), promising(a.Site, a.engine.Caller)
	o.Resolve = func(p *planner.Plan, t task.Task, values rollout.Values) (task.Task, error) {
		return p.Resolve(t, values)
	}
	return o
}

// goOn takes over what an earlier run left that the prior state does not have, one that failed or one whose state was
// lost: services that the journal has, and what the nodes' ledgers say, all of which is then checked again; what is no
// longer wanted goes. refused says why nothing may be touched: on some node the site is that of another state, or more
// goes than protect allows.
func (a *application) goOn(ctx context.Context, journaled []services.Revision) (refused *Message) {
	again := *a.Planned
	now := a.opening.Now
	if inventory := (services.Inventory{}).Merge(journaled); len(inventory.Records)+len(inventory.Former) > 0 {
		if errs := again.make(inventory, now); len(errs.Errors()) > 0 {
			// What is wanted cannot follow on what was left: it starts anew, and what was left goes.
			again = *a.Planned
			if errs := again.make(inventory.WithoutServices(), now); len(errs.Errors()) > 0 {
				again = *a.Planned
			}
		}
	}
	if a.resumed == nil {
		a.look(ctx)
	}
	left := a.opening.Left
	if a.prior == nil { // a check that follows an import took them over
		a.past.Applied = left
	}
	if owned := a.opening.Owned; owned != "" {
		return &Message{Summary: ownedElsewhere, Detail: owned + "\n\nNothing was touched."}
	}
	if len(left) > 0 {
		again.Applied = left.Unfinished()
		again.Plan, _ = again.cache.plan(again.Deployed, again.Applied, nil)
	}
	if again.Plan != nil { // the same site was planned without error a moment ago: ledgers do not make it invalid
		*a.Planned = again
	}
	errs := a.how.Protection.Check(a.Losses())
	if len(errs) == 0 {
		return nil
	}
	lines := make([]string, len(errs))
	for i, p := range errs {
		lines[i] = p.Attribute + ": " + p.Message + "."
	}
	return &Message{Summary: "The run takes away more than protect allows", Detail: strings.Join(lines, "\n") +
		"\n\nThe ledgers of the nodes have it from an earlier run, so that the plan could not show it. Nothing was touched."}
}

// look notes what the ledgers of the nodes have, and on which of them the site is that of another state.
func (a *application) look(ctx context.Context) {
	left := planner.Applied{}
	options := a.options
	options.Prepared = rollout.Prepared(a.Plan)
	surveys := rollout.Survey(ctx, a.Site.Nodes, nil, a.Site.Name, options)
	for node, found := range surveys {
		// One that cannot be read now fails where it is worked on; what one has that answers later is in the next plan.
		switch {
		case len(found.Ledger) > 0:
			left[node] = found.Ledger
		case found.Error != nil && options.Prepared[node] && slices.ContainsFunc(a.how.Replaced,
			func(n site.Node) bool { return n.Name == node }):
			left[node] = unknownLedger()
		}
	}
	a.opening.Left, a.opening.Owned = left, refusals(surveys)
}

// interrupted returns a context that has ended, with the values of ctx.
func interrupted(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// passes returns what plans the next pass of a run, as long as lifecycles of services ask for it: a rollback, a second
// step of a removal. What goes wrong is added to m.
func (a *application) passes(ctx context.Context, m *Messages) func(last, whole rollout.Report,
	now time.Time) *rollout.Pass {
	p, owners := a.Plan, a.Owners
	var again map[string]bool
	return func(last, whole rollout.Report, now time.Time) *rollout.Pass {
		done := p.Part(last.Did())
		a.did = append(a.did, done.Lines()...)
		if a.ended++; a.ended == 1 {
			a.removed = done.Losses(a.Applied, nil)
		}
		var errs invalid.Errors
		again, errs = a.transfer(p, last, owners, again, now)
		m.errs(errs)
		a.called = p.Called(a.called, last.Callbacks)
		if len(again) == 0 || last.Status == rollout.StatusInterrupted || last.Status == rollout.StatusPaused ||
			last.BudgetSpent || ctx.Err() != nil || m.Failed() {
			return nil
		}
		if owners == nil { // nothing changed, and yet something is to be done, as after a repair that failed
			if owners, _ = a.cache.ownersOf(a.Deployed); owners == nil {
				owners = planner.Owners{}
			}
		}
		m.add(a.history(ctx, a.Services))
		names := strings.Join(slices.Sorted(maps.Keys(again)), ", ")
		if a.ended > mostPasses {
			m.fail("Services do not come to rest", "After %d deployments in one run these still ask for another: %s. "+
				"Their lifecycles lead from one deployment to the next without an end.", a.ended-1, names)
			return nil
		}
		deployed := a.Services.Site()
		deployed.Values, _ = learn(deployed, a.past.Values, whole.Values)
		a.Deployed = deployed
		next, errs := a.cache.planFor(deployed, a.appliedAfter(whole), a.past.Applied, again, owners)
		if len(errs.Errors()) > 0 {
			m.fail("A service cannot be deployed as its lifecycle asks", "%v", errs.Errors())
			return nil
		}
		if now, errs := a.cache.ownersOf(deployed); len(errs) == 0 {
			owners.Add(now)
		}
		p = next
		return &rollout.Pass{Site: deployed, Plan: next, Purpose: "once more for " + names}
	}
}

// transfer moves services on by how their tasks went, and returns those that are to be deployed again. A plan that was
// made for some services only, those concerned, says nothing of the others; nil: it was made for all. A service of
// which tasks wait for approval waits, too, unless it failed.
func (a *application) transfer(p *planner.Plan, report rollout.Report, owners planner.Owners,
	concerned map[string]bool, now time.Time) (map[string]bool, invalid.Errors) {
	outcomes := make(map[string]services.Outcome)
	for _, name := range a.Services.State().Names() {
		if concerned != nil && !concerned[name] {
			outcomes[name] = services.Outcome{Outcome: lifecycle.Waiting}
		}
	}
	desired := func() map[string][]task.Task {
		tasks, _ := a.cache.desired(a.Deployed) // nil for a site that has errors, which was planned without one before
		return tasks
	}
	for name, tasks := range report.ByService(p, owners, a.moving, desired) {
		progress, failures := report.Progress(tasks)
		if concerned != nil && !concerned[name] && progress.Outcome() != lifecycle.Failed {
			continue // it was not deployed again, and what it shares says nothing of the rest
		}
		outcomes[name] = services.Outcome{Outcome: progress.Outcome(), Message: failuresText(failures)}
	}
	for name, waits := range a.waiting(p, owners) {
		if o, ran := outcomes[name]; waits && (!ran || o.Outcome == lifecycle.Succeeded) {
			outcomes[name] = services.Outcome{Outcome: lifecycle.Waiting}
		}
	}
	again := a.Services.Conclude(outcomes, now)
	return again, a.Services.Errors()
}

// failuresText names failed tasks, the first few of them.
func failuresText(failures []string) string {
	const most = 3
	if more := len(failures) - most; more > 0 {
		failures = append(failures[:most:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(failures, "; ")
}

// appliedAfter returns what is applied on the nodes after a run, as far as it is known, and what on the controller.
func (a *application) appliedAfter(report rollout.Report) planner.Applied {
	out := maps.Clone(a.past.Applied)
	if out == nil {
		out = planner.Applied{}
	}
	for node, n := range report.Nodes {
		out[node] = n.Applied(a.past.Applied[node])
	}
	out[planner.Controller] = a.called
	return out
}

// giveUp finds the nodes of the creation that is replaced which the site has no more. Nothing is undone on them without
// a plan that shows it: a successful creation remembers them, so that the next plan tears them down, and a failed one
// keeps them.
func (a *application) giveUp(ctx context.Context, out *Outcome) {
	nodes := notAmong(Reach(a.how.Replaced, a.how.Connection), a.Site.Nodes)
	if len(nodes) == 0 {
		return
	}
	own := make(map[string]site.Connection, len(a.how.Replaced))
	for _, n := range a.how.Replaced {
		own[n.Name] = n.Connection
	}
	wanted := slices.Collect(maps.Values(a.options.Machines.Known()))
	found := rollout.Survey(ctx, nodes, nil, a.Site.Name,
		rollout.Options{Executor: a.options.Executor, Parallelism: a.how.Parallelism, RunID: a.id})
	fails := out.failed() || out.Failed() || len(a.Services.RolledBack()) > 0
	var lines []string
	for _, n := range nodes {
		survey, unread := found[n.Name], ""
		if survey.Error != nil {
			survey.Ledger, unread = unknownLedger(), fmt.Sprintf("; its ledger could not be read: %v", survey.Error)
		}
		if len(survey.Ledger) == 0 || slices.ContainsFunc(wanted, survey.Identity.Same) {
			continue
		}
		out.State.Applied[n.Name] = survey.Ledger
		if survey.Identity.Running() {
			out.State.Machines[n.Name] = survey.Identity
		}
		becomes := "is torn down by the next plan"
		if fails {
			becomes = "stays in the state, but for the secrets of its own connect"
			out.keep(n.Name, n.Name, own[n.Name])
		} else {
			out.State.give(n)
		}
		lines = append(lines, fmt.Sprintf("node %q %s%s", n.Name, becomes, unread))
	}
	if len(lines) > 0 {
		out.warn("Nodes of a failed creation are not in the configuration any more",
			"What it applied there is still there:\n%s", strings.Join(lines, "\n"))
	}
}

// unknownLedger is what is applied on a node that was worked on and cannot be read.
func unknownLedger() map[resource.ID]string { return map[resource.ID]string{task.UnknownLedger: ""} }

// notAmong returns the nodes that others do not have, neither by name nor by address.
func notAmong(nodes, others []site.Node) []site.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n site.Node) bool {
		return slices.ContainsFunc(others, func(o site.Node) bool { return o.Name == n.Name || o.Place() == n.Place() })
	})
}

// LeftBehind warns of the nodes of a deployment that was replaced under create_before_destroy which the new one, which
// is in the state by then and cannot learn of them any more, does not have, neither by name nor by address.
func (s State) LeftBehind(nodes, now []site.Node) (m Messages) {
	var lines []string
	for _, n := range notAmong(nodes, now) {
		if count := len(s.Applied[n.Name]); count > 0 {
			what := "resources"
			if count == 1 {
				what = "resource"
			}
			lines = append(lines, fmt.Sprintf("node %q: %d %s", n.Name, count, what))
		}
	}
	if len(lines) > 0 {
		m.warn("Nodes of the replaced deployment are not in the configuration any more",
			"With create_before_destroy nothing is torn down, so what was applied there is still there. To have it undone, "+
				"put the nodes back, apply, and take them out again.\n%s", strings.Join(FirstLines(lines), "\n"))
	}
	return m
}
