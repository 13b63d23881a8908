// Package rollout executes a run on the nodes (design.md 6). The state machine of package run decides what is done and
// when; this package executes its commands: it sends catalogs to nodes through an [Executor], records an event before
// and after every task through a [Recorder], and reports how far every group and node came.
//
//	Run       a plan: what comes before the groups, prepare and deploy group by group, what comes after them, then the
//	          tear-down of the nodes that left the site
//	Survey    a look at all nodes that changes nothing: drift, ledgers, who can be reached
//	TearDown  the end of a site: undo everything on every node
//
// All three work on up to Options.Parallelism nodes at once. When their context ends they start nothing more, give
// running sessions the grace to end, and report what they know, no more: a node whose session ended without a summary
// has an unknown ledger.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Recorder keeps the events of one run.
type Recorder interface {
	// Record makes the events durable before it returns, in the order given. An error stops the run at once: whoever
	// cannot record may have lost the right to work on the site (fencing). It is called by one goroutine at a time,
	// also after the run's own context ended.
	Record(ctx context.Context, events ...journal.Event) error
}

// Decisions are what persons decide about one run while it runs.
type Decisions interface {
	// Decisions returns those since the last call, oldest first. It is called by one goroutine.
	Decisions(ctx context.Context) ([]journal.Recorded, error)
}

// Options say how a plan is driven.
type Options struct {
	Executor    Executor        // required
	Recorder    Recorder        // required by Run and TearDown
	Lost        <-chan struct{} // closed when Recorder can record nothing any more: Record without events says why
	Decisions   Decisions       // nil: nobody decides anything
	RunID       string          // required by Run and TearDown: recorded in the ledgers
	Caller      Caller          // required by Run when the plan holds callbacks
	Parallelism int             // active nodes at once; 0 is 10
	Owner       string          // lineage of the state that has the site; empty for Terraform's (converge.Manifest)
	TakeOver    string          // the owner from which the site is taken over
	Fence       ledger.Fence    // of the lease of the run
	// ParallelGroups is how many groups may be worked on at once: those that do not depend on each other, share no node
	// and have no tasks that require each other's or read what their callbacks return ([planner.Group.After]); 0 is 1.
	ParallelGroups int
	Grace          time.Duration // how long running sessions may go on after ctx ended; 0 is 30 seconds
	// closed when even the grace is too long: running sessions are given up at once; nil is never
	GiveUp   <-chan struct{}
	Now      func() time.Time // the clock of events; nil is time.Now
	Machines *Machines        // which machines the nodes are; nil knows nothing yet
	// nodes that Survey waits for a moment only; the others are waited for as long as all may take
	Prepared map[string]bool
	Departed map[string]site.Node // how the nodes that left the site are reached
	// Unsure are the departed nodes that may be a node of the site at its new address: name -> node. Those that are not
	// are torn down only while no more than TornDown nodes are torn down in all, as Protection allows.
	Unsure     map[string]string
	TornDown   int
	Protection planner.Protection
	// Next plans what follows a pass of the run: a rollback of services, for example; nil: nothing. last is the report of
	// that pass, and whole that of all passes. Equal reports and times give equal plans.
	Next func(last, whole Report, now time.Time) *Pass
	// Drive drives the machine of the run to its end, see [Hosted]; nil: this package does. An error means that it could
	// not, and ends the run.
	Drive func(context.Context, *Hosted) error
	// With Drive: Keep makes durable what another process needs to go on with the run ([Saved]), with Opening of the
	// caller at its beginning, and returns its address. nil: no process can.
	Keep    func(ctx context.Context, content []byte) (address string, err error)
	Opening []byte
	// Saved is what other processes kept of the run, oldest first, up to that at SavedAt: the run goes on from there.
	// Begun has the sessions that they began in the pass that is under way ([Began]).
	Saved   []Saved
	SavedAt string
	Begun   map[string]bool
	// Resolve gives a task the values that it reads when its phase starts (litp.md 51): those that callbacks of this
	// run yielded before. It is called for many tasks at once and must not change t or values; its error must not hold
	// a value. nil: the plan has no such task.
	Resolve func(p *planner.Plan, t task.Task, values Values) (task.Task, error)
}

// Defaults of Options.
const (
	DefaultParallelism = run.DefaultParallelism
	DefaultGrace       = 30 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	if o.Executor == nil {
		return o, errors.New("rollout: Options.Executor is missing")
	}
	if o.Parallelism < 0 {
		return o, fmt.Errorf("rollout: Options.Parallelism is %d; it must be at least 1, or 0 for %d", o.Parallelism,
			DefaultParallelism)
	}
	if o.Parallelism == 0 {
		o.Parallelism = DefaultParallelism
	}
	if o.ParallelGroups < 0 {
		return o, fmt.Errorf("rollout: Options.ParallelGroups is %d; it must be at least 1, or 0 for 1",
			o.ParallelGroups)
	}
	if o.ParallelGroups == 0 {
		o.ParallelGroups = 1
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Machines == nil {
		o.Machines = NewMachines(nil)
	}
	return o, nil
}

// recorded is withDefaults for what changes nodes.
func (o Options) recorded() (Options, error) {
	switch {
	case o.Recorder == nil:
		return o, errors.New("rollout: Options.Recorder is missing")
	case o.RunID == "":
		return o, errors.New("rollout: Options.RunID is missing")
	}
	return o.withDefaults()
}

// Pass is one pass of a run: a plan for a site.
type Pass struct {
	Site    site.Site
	Plan    *planner.Plan
	Purpose string // what it is for, besides the plan; for the journal
}

// Run drives p through the groups of s, and then what Options.Next plans. What fails on nodes and in groups is in the
// report, which is that of all passes; the error says that the run could not be driven: bad input (nothing was touched
// then, or nothing in this pass), or an event that could not be recorded (the report says how far it came).
func Run(ctx context.Context, s site.Site, p *planner.Plan, o Options) (Report, error) {
	o, err := o.recorded()
	if err != nil {
		return Report{}, err
	}
	first := Pass{Site: s, Plan: p}
	program, err := o.compile(first)
	if err != nil {
		return Report{}, err
	}
	if len(o.Saved) > 0 && o.Saved[0].Program != nil {
		program = *o.Saved[0].Program
	}
	d := newDriver(ctx, s.Name, o)
	d.begin(first, program)
	end := d.drive()
	return d.whole, errors.Join(d.refused, d.close(), end.Err)
}

// compile makes the program of a pass.
func (o Options) compile(pass Pass) (run.Program, error) {
	s, p := pass.Site, pass.Plan
	if p.Site != s.Name {
		return run.Program{}, fmt.Errorf("rollout: the plan is for the site %q, not for %q", p.Site, s.Name)
	}
	reached := make(map[string]bool, len(o.Departed))
	for n := range o.Departed {
		reached[n] = true
	}
	program, err := run.Compile(s, p, run.Settings{Parallelism: o.Parallelism, ParallelGroups: o.ParallelGroups,
		Departed: reached, Windows: site.Windows(s.Groups, o.Now()), EndAtPause: p.EndAtPause,
		Asks: o.Next != nil})
	if err != nil {
		return run.Program{}, fmt.Errorf("rollout: plan %s: %w", p.Digest, err)
	}
	for i, ph := range p.Phases {
		if o.Caller == nil && slices.ContainsFunc(ph.Tasks, func(t task.Task) bool { return t.Kind == task.Callback }) {
			return run.Program{}, fmt.Errorf(
				"rollout: plan %s: phase %d: the plan holds callbacks, and Options.Caller is missing", p.Digest, i+1)
		}
	}
	return program, nil
}

// begin makes everything ready for a pass.
func (d *driver) begin(pass Pass, program run.Program) {
	d.reset()
	p := pass.Plan
	d.plan, d.program, d.needs, d.actions = p, program, needs(p), actionsOf(p)
	maps.Copy(d.nodes, d.Departed)
	for _, n := range pass.Site.Nodes {
		d.nodes[n.Name], d.wanted[n.Name] = n, n
	}
	for _, g := range program.Groups {
		d.rolling[g.Name] = g.Rolling
	}
	d.enroll()
	d.log.append(journal.Event{Kind: journal.RunStarted,
		Message: strings.TrimPrefix(pass.Purpose+": plan "+p.Digest, ": "), Output: outline(program, p.Waiting)})
	for _, stay := range p.Stays {
		d.warn("", stay.Node, stay.String())
	}
	d.log.append(planned(p, program)...)
	if !d.repeats {
		d.identify()
	}
}

// planned returns the events that record what a pass will do, so that who looks on sees all of it from the start.
func planned(p *planner.Plan, program run.Program) (events []journal.Event) {
	for _, g := range program.Groups {
		events = append(events, journal.Event{Kind: journal.Planned, Group: g.Name, Message: wanted(g.Group)})
	}
	for _, g := range program.Groups {
		events = append(events, plannedChecks(g, program)...)
	}
	var services []string
	for i, phase := range p.Phases {
		var nodes []string
		for _, t := range phase.Tasks {
			nodes, services = append(nodes, t.Node), append(services, t.Owners()...)
		}
		events = append(events, journal.PlannedPhase(i+1, phase.Group, string(phase.TaskGroup), nodes)...)
	}
	return append(events, journal.PlannedServices(services)...)
}

// plannedChecks returns the events of the kind Planned for the health checks of a group: each node that is worked on in
// a batch is checked after it, and once more after the soak.
func plannedChecks(g run.Group, program run.Program) []journal.Event {
	if g.Rolling == nil || g.Rolling.HealthCheck == nil || len(g.Batches) == 0 {
		return nil
	}
	var nodes []string
	for _, node := range g.Owned {
		if slices.ContainsFunc(program.Deploy[node], func(s run.Session) bool { return s.Kind != run.Unlock && !s.Last }) {
			if nodes = append(nodes, node); g.Rolling.Soak > 0 {
				nodes = append(nodes, node)
			}
		}
	}
	return journal.PlannedPhase(0, g.Name, string(task.HealthCheck), nodes)
}

// wanted says what a group needs to succeed, and after which groups it starts.
func wanted(g site.Group) string {
	var parts []string
	if g.Critical {
		parts = append(parts, "critical")
	}
	if len(g.DependsOn) > 0 {
		parts = append(parts, "depends on "+strings.Join(g.DependsOn, ", "))
	}
	if c := g.SuccessCriteria; c != nil {
		for _, limit := range []struct {
			number *int
			text   string
		}{{c.PercentSuccessfulNodes, "at least %d % of its nodes successful"},
			{c.MinimumSuccessfulNodes, "at least %d successful"}, {c.MaximumFailedNodes, "at most %d failed"}} {
			if limit.number != nil {
				parts = append(parts, strings.ReplaceAll(limit.text, "%d", strconv.Itoa(*limit.number)))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// passOver brings the end of a pass into the report of the run.
func (d *driver) passOver(end *run.Report) {
	d.complete(end)
	d.log.append(journal.Event{Kind: journal.RunFinished, Status: string(d.report.Status)})
	if d.whole.Site == "" {
		d.whole = d.report
	} else {
		d.whole.Follow(d.report)
	}
}

// nextPass plans the pass that follows; known is its program, when another process planned it.
func (d *driver) nextPass(c run.Command, known *run.Program, now time.Time) run.Event {
	e := run.Event{Kind: run.Planned, ID: c.ID}
	next := d.Next(d.report, d.whole, now)
	if next == nil {
		return e
	}
	program, err := d.compile(*next)
	if known != nil {
		program = *known
	}
	if err != nil {
		d.refused, d.whole.Status = err, StatusFailed
		return e
	}
	d.begin(*next, program)
	e.Program = &program
	return e
}
