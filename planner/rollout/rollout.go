// Package rollout drives a plan through groups and phases (design.md 6). It asks the group machine of package strategy
// what to do next, sends catalogs to nodes through an [Executor], records an event before and after every task through
// a [Recorder], and reports how far every group and node came.
//
//	Run       a plan: what comes before the groups, prepare and deploy group by group, what comes after them, then the
//	          tear-down of the nodes that left the site
//	Survey    a look at all nodes that changes nothing: drift, ledgers, who can be reached
//	TearDown  the end of a site: undo everything on every node
//
// All three work on up to Options.Parallelism nodes at once. When their context ends they start nothing more, give
// running sessions the grace to end, and report what they know, no more: a node whose session ended without telling has
// an unknown ledger.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Recorder keeps the events of one run.
type Recorder interface {
	// Record makes the events durable before it returns, in the order given. An error stops the run at once: whoever
	// cannot record may have lost the right to work on the site (fencing). It is called by one goroutine at a time,
	// also after the run's own context ended.
	Record(ctx context.Context, events ...journal.Event) error
}

// Options say how a plan is driven.
type Options struct {
	Executor    Executor // required
	Recorder    Recorder // required by Run and TearDown
	RunID       string   // required by Run and TearDown: recorded in the ledgers
	Caller      Caller   // required by Run when the plan holds callbacks
	Parallelism int      // active nodes at once; 0 is 10
	Owner       string   // lineage of the state that has the site; empty for Terraform's (converge.Catalog)
	TakeOver    string   // the owner from which the site is taken over
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
	Purpose    string // what this pass of the run is for, besides the plan; for the journal
	// Resolve gives a task the values that it reads when its phase starts (litp.md 51): those that callbacks of this
	// run yielded before. It is called for many tasks at once and must not change t or values; its error must not hold
	// a value. nil: the plan has no such task.
	Resolve func(t task.Task, values Values) (task.Task, error)
}

// Defaults of Options and of a group's time limits (airship.md 10).
const (
	DefaultParallelism    = 10
	DefaultGrace          = 30 * time.Second
	DefaultPrepareTimeout = 30 * time.Minute
	DefaultDeployTimeout  = time.Hour
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

// Run drives p through the groups of s. What fails on nodes and in groups is in the report; the error says that the
// run could not be driven: bad input (nothing was touched then), or an event that could not be recorded (the report
// says how far it came).
func Run(ctx context.Context, s site.Site, p *planner.Plan, o Options) (Report, error) {
	o, err := o.recorded()
	if err != nil {
		return Report{}, err
	}
	if p.Site != s.Name {
		return Report{}, fmt.Errorf("rollout: the plan is for the site %q, not for %q", p.Site, s.Name)
	}
	groups := s.Groups
	if groups == nil {
		groups = strategy.Default()
	}
	w, err := newSchedule(s, groups, p, o.Caller)
	if err != nil {
		return Report{}, fmt.Errorf("rollout: plan %s: %w", p.Digest, err)
	}
	m, err := strategy.New(groups, s.Nodes, w.idle(s.Nodes))
	if err != nil {
		return Report{}, err
	}
	if err := sameGroups(p, m); err != nil {
		return Report{}, err
	}

	d := newDriver(ctx, s.Name, o)
	d.machine, d.schedule = m, w
	for _, n := range s.Nodes {
		d.nodes[n.Name], d.wanted[n.Name] = n, n
	}
	for _, g := range p.Groups {
		d.owned[g.Name], d.waits[g.Name] = g.Owned, g.After
	}
	maps.Copy(d.locks.locked, w.locked)
	d.enroll()
	d.log.append(journal.Event{Kind: journal.RunStarted,
		Message: strings.TrimPrefix(o.Purpose+": plan "+p.Digest, ": ")})
	d.identify()
	if d.before() {
		d.groups(groups)
		d.after()
	}
	d.remaining()
	d.cleanup()
	for n := range d.report.Nodes {
		d.note(n, func(r *NodeReport) { r.Asked = d.Machines.identified(n) })
	}
	d.report.Status = d.status()
	d.log.append(journal.Event{Kind: journal.RunFinished, Status: string(d.report.Status)})
	return d.report, errors.Join(d.close(), m.Err(), d.wrong)
}

// sameGroups makes sure that the groups are those that the plan was made for: membership is frozen at plan time and
// compared now (airship.md D-18).
func sameGroups(p *planner.Plan, m *strategy.Machine) error {
	order := m.Order()
	if len(order) != len(p.Groups) {
		return fmt.Errorf("rollout: the plan has %d groups and the site %d; make a new plan", len(p.Groups), len(order))
	}
	for i, g := range p.Groups {
		if g.Name != order[i] {
			return fmt.Errorf("rollout: group %q is number %d in the plan and group %q in the site; make a new plan",
				g.Name, i+1, order[i])
		}
		if members := m.Members(g.Name); !slices.Equal(members, g.Members) {
			return fmt.Errorf("rollout: group %q has the members %q in the plan and %q in the site; make a new plan",
				g.Name, g.Members, members)
		}
	}
	return nil
}
