// Package simulate computes the result of a run in which some nodes fail, from scripted outcomes. It is pure:
// [run.Machine] decides as in a run, and no node is touched.
package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Phase is one of the two calls that a run makes for a group.
type Phase string

// The phases, in the order of a run.
const (
	Prepare Phase = "prepare"
	Deploy  Phase = "deploy"
)

// Phases returns both, in order.
func Phases() []Phase { return []Phase{Prepare, Deploy} }

// What is scripted like a phase: the health check of a node, which fails in deploy with it, and that a node is put back
// when its batch fails.
const (
	HealthCheck Phase = "health_check"
	Restore     Phase = "restore"
)

// Scripted returns what can be scripted: the phases, the health check and the restore.
func Scripted() []Phase { return append(Phases(), HealthCheck, Restore) }

// Result is the outcome of one phase on one node.
type Result string

// The results. A node that has not finished when its group's time is up fails; those that have, count (airship.md
// D-14).
const (
	Success Result = "success"
	Failure Result = "failure"
	Timeout Result = "timeout"

	// The session is lost before it started anything, each time that it is tried, so that its node fails in the end; or
	// the first time only.
	Lost     Result = "lost"
	LostOnce Result = "lost_once"
)

// Results returns all of them.
func Results() []Result { return []Result{Success, Failure, Timeout, Lost, LostOnce} }

// Outcomes are the scripted results: phase -> node -> result. A missing result is a success.
type Outcomes map[Phase]map[string]Result

// Add sets one result; it replaces an earlier one for the same node and phase.
func (o Outcomes) Add(phase Phase, node string, result Result) {
	if o[phase] == nil {
		o[phase] = map[string]Result{}
	}
	o[phase][node] = result
}

// Status is how a run ends.
type Status string

// The statuses, named as those of a run.
const (
	Succeeded Status = "succeeded"
	Limited   Status = "limited"  // what lies within the limit succeeded
	Paused    Status = "paused"   // something was left for another run
	Degraded  Status = "degraded" // something failed, but no critical group
	Failed    Status = "failed"   // a critical group failed, or more nodes than the failure budget
)

// Cause says why a step did not succeed.
type Cause string

// The causes of a failed step.
const (
	ByCriteria   Cause = "criteria"   // the success criteria were not met
	ByPrepare    Cause = "prepare"    // nothing is deployed of a group that could not be prepared
	ByDependency Cause = "dependency" // a group that this one depends on failed
	ByBudget     Cause = "budget"     // the failure budget was spent before the step was over
	ByPause      Cause = "pause"      // the run ended as paused before the step was over
)

// Step is one phase of one group.
type Step struct {
	Group      string               `json:"group"`
	Phase      Phase                `json:"phase"`
	Succeeded  bool                 `json:"succeeded"`
	Cause      Cause                `json:"cause,omitempty"`
	FailedBy   string               `json:"failed_by,omitempty"` // the group that failed, for the cause dependency
	Nodes      []string             `json:"nodes"`               // those worked on, sorted
	Failed     []string             `json:"failed"`              // those of them that failed, sorted
	TimedOut   []string             `json:"timed_out"`           // those of them that did not finish in time, sorted
	Shortfalls []strategy.Shortfall `json:"shortfalls,omitempty"`
}

// Pause is a wait of a group.
type Pause struct {
	Group string    `json:"group"`
	At    time.Time `json:"at"`
	Why   string    `json:"why"`
}

// Run is the course of a simulated run.
type Run struct {
	Site   string  `json:"site"`
	Status Status  `json:"status"`
	Steps  []Step  `json:"steps"` // two for each group, in processing order
	Pauses []Pause `json:"pauses,omitempty"`
	// Waiting are the nodes that wait for approval, where a run ends for it, and Awaits says for which.
	Waiting []string        `json:"waiting,omitempty"`
	Awaits  string          `json:"awaits,omitempty"`
	Outside []string        `json:"outside,omitempty"` // nodes outside of the limit of the site, which stay as they are
	Report  strategy.Report `json:"report"`
	// Events are what a run records: phases, nodes and groups that started or finished, and sessions that are tried again.
	Events []run.Command `json:"-"`
}

// New simulates the first run on a site, at a time: every node of a group has changes, of which a limit of the site
// leaves those that it names. Groups that are nil are the default strategy. Invalid groups, an outcome or a limit for a
// node that the site does not have, a health check that fails on a node without one, a restore that fails where the run
// restores nothing, and a freeze of a site with changes, are a [invalid.Errors] error.
func New(s site.Site, outcomes Outcomes, at time.Time) (Run, error) {
	if errs := outcomes.validate(s.Nodes); len(errs) > 0 {
		return Run{}, errs
	}
	plan, err := changes(s)
	if err != nil {
		return Run{}, err
	}
	if s.Freeze != "" && slices.ContainsFunc(plan.Phases, func(p planner.Phase) bool { return len(p.Tasks) > 0 }) {
		return Run{}, invalid.Errors{{Object: "deployment", Name: s.Name, Attribute: "freeze", Code: invalid.Frozen,
			Message: fmt.Sprintf("is %q, so a run does nothing; take it away to see what a run does without it", s.Freeze)}}
	}
	if errs := outcomes.validateChecks(s, plan); len(errs) > 0 {
		return Run{}, errs
	}
	program, err := run.Compile(s, plan, run.Settings{Windows: site.Windows(s.Groups, at), EndAtPause: plan.EndAtPause})
	if err != nil {
		return Run{}, err
	}
	steps, restored, pauses, report, events := outcomes.play(program, at)
	if errs := outcomes.validateRestores(restored); len(errs) > 0 {
		return Run{}, errs
	}
	out := Run{Site: s.Name, Status: Status(report.Status), Steps: []Step{}, Pauses: pauses, Report: report.Report,
		Events: events}
	out.hold(plan)
	for _, g := range out.Report.Groups {
		out.Steps = append(out.Steps, judged(g, steps[g.Name])...)
	}
	return out, report.Err
}

// hold says of groups and nodes that the plan holds back, or that lie outside of the limit of the site, that they are
// not started, as in a run.
func (r *Run) hold(p *planner.Plan) {
	r.Awaits = p.Awaits(func(group string) bool {
		return slices.ContainsFunc(r.Report.Groups, func(g strategy.GroupReport) bool {
			return g.Name == group && g.Stage == strategy.Deployed
		})
	})
	for _, h := range p.Held {
		at := slices.IndexFunc(r.Report.Groups, func(g strategy.GroupReport) bool { return g.Name == h.Group })
		if g := &r.Report.Groups[at]; g.Stage == strategy.Deployed {
			g.Stage = strategy.NotStarted
		}
	}
	waits := func(node string) bool { return slices.Contains(p.Waiting, node) }
	for i, s := range r.Report.Nodes {
		nodes := slices.DeleteFunc(slices.Clone(s.Nodes), waits)
		if s.Stage == strategy.NotStarted {
			nodes = append(nodes, p.Waiting...)
			slices.Sort(nodes)
		}
		r.Report.Nodes[i].Nodes = nodes
	}
	r.Waiting = slices.DeleteFunc(slices.Clone(p.Waiting), p.Outside)
	r.Outside = slices.DeleteFunc(slices.Clone(p.Waiting), func(node string) bool { return !p.Outside(node) })
	switch {
	case r.Status != Succeeded:
	case len(p.Held) > 0:
		r.Status = Paused
	case p.Within != nil:
		r.Status = Limited
	}
}

// changes returns the plan of a site in which every node of a group has one change.
func changes(s site.Site) (*planner.Plan, error) {
	groups := s.Groups
	if groups == nil {
		groups = strategy.Default()
	}
	m, err := strategy.New(groups, s.Nodes, nil)
	if err != nil {
		return nil, err
	}
	p := &planner.Plan{Site: s.Name, EndAtPause: s.Approval == site.ApprovalEnd}
	owned := map[string]bool{}
	var settings []site.Group // in processing order
	for _, name := range m.Order() {
		g := planner.Group{Name: name, Members: m.Members(name)}
		for _, n := range g.Members {
			if !owned[n] {
				owned[n] = true
				g.Owned = append(g.Owned, n)
			}
		}
		at := slices.IndexFunc(groups, func(s site.Group) bool { return s.Name == name })
		p.Groups, settings = append(p.Groups, g), append(settings, groups[at])
	}
	var errs invalid.Errors
	if p.Within, errs = planner.WithinLimit(s, p.Groups, nil); len(errs) > 0 {
		return nil, errs
	}
	busy := func(node string) bool { return !p.Outside(node) }
	holds, held, covered, errs := planner.HoldBack(s, p.Groups, settings, busy)
	if len(errs) > 0 {
		return nil, errs
	}
	for _, g := range p.Groups {
		prepare := planner.Phase{TaskGroup: task.Prepare, Group: g.Name}
		deploy := planner.Phase{TaskGroup: task.Node, Group: g.Name}
		for _, n := range g.Owned {
			if p.Outside(n) || len(held) > 0 && !covered[n] {
				p.Waiting = append(p.Waiting, n)
				continue
			}
			prepare.Tasks = append(prepare.Tasks, task.Task{Node: n, Action: task.PrepareNode})
			deploy.Tasks = append(deploy.Tasks, task.Task{Node: n})
		}
		p.Phases = append(p.Phases, prepare, deploy)
	}
	slices.Sort(p.Waiting)
	p.Held = holds
	p.MayFail = s.FailureBudget.Of(len(owned))
	p.SetBatches(groups)
	return p, nil
}

// play runs a program, and returns the steps of its groups as far as they show in commands: who was worked on, and who
// did not succeed; and the nodes of which the restore was played. Sessions end at once, but for soaks and those that do
// not end in time: theirs passes when nothing else runs, the shortest first.
func (o Outcomes) play(program run.Program, clock time.Time) (steps map[string]map[Phase]*Step,
	restored map[string]bool, pauses []Pause, report *run.Report, events []run.Command) {
	restored = map[string]bool{}
	steps = make(map[string]map[Phase]*Step, len(program.Groups))
	for _, g := range program.Groups {
		steps[g.Name] = map[Phase]*Step{}
		for _, phase := range Phases() {
			steps[g.Name][phase] = &Step{Group: g.Name, Phase: phase, Nodes: []string{}, Failed: []string{},
				TimedOut: []string{}}
		}
	}
	m := run.New(program)
	var approved []run.Event       // by nobody, and at once
	var wake time.Time             // of the timer; zero: it is not set
	var ending, late []run.Command // sessions that run
	lost := map[run.ID]run.Command{}
	commands := m.Handle(run.Event{Kind: run.Begin}, clock)
	for {
		for _, c := range commands {
			switch c.Kind {
			case run.PhaseStarted, run.PhaseFinished, run.NodeFinished, run.GroupFinished, run.Retry:
				events = append(events, c)
			case run.Settle: // it is not tried again
				c = lost[c.ID]
				if c.Session.Kind != run.Rollback {
					steps[c.Group][Phase(c.Call)].take(c.Node, Failure)
				}
				ending = append(ending, c)
			case run.Finish:
				return steps, restored, pauses, c.Report, events
			case run.Wake:
				wake = c.Until
			case run.Pause:
				pauses = append(pauses, Pause{c.Group, clock, c.Text})
				if c.Batch > 0 {
					approved = append(approved, run.Event{Kind: run.Approve, Group: c.Group, Batch: c.Batch})
				}
			case run.Fail: // its time was up before it started
				steps[c.Group][Phase(c.Call)].take(c.Node, Timeout)
			case run.Start:
				result := o.of(c)
				restored[c.Node] = restored[c.Node] || c.Session.Kind == run.Rollback
				if c.ID.Purpose == run.Work && c.Node != "" && c.Session.Kind != run.Rollback {
					steps[c.Group][Phase(c.Call)].take(c.Node, result)
				}
				if c.ID.Purpose == run.Work && (result == Timeout || c.Session.Kind == run.Soak) {
					late = append(late, c)
				} else {
					ending = append(ending, c)
				}
			}
		}
		if len(approved) > 0 {
			commands = m.Handle(approved[0], clock)
			approved = approved[1:]
			continue
		}
		if len(ending) == 0 { // a run that is not over has a session that runs, or waits for its timer
			slices.SortStableFunc(late, func(a, b run.Command) int { return a.Until.Compare(b.Until) })
			if !wake.IsZero() && (len(late) == 0 || wake.Before(late[0].Until)) {
				clock, wake = wake, time.Time{}
				commands = m.Handle(run.Event{Kind: run.Woken}, clock)
				continue
			}
			ending, late = late[:1], late[1:]
			clock = ending[0].Until
		}
		c := ending[0]
		ending = ending[1:]
		e := run.Event{Kind: run.Ended, ID: c.ID, Result: o.result(c)}
		if _, again := lost[c.ID]; !again && o.loses(c) {
			lost[c.ID] = c
			e = run.Event{Kind: run.Lost, ID: c.ID}
		}
		commands = m.Handle(e, clock)
	}
}

// of returns what is scripted for a session.
func (o Outcomes) of(c run.Command) Result {
	switch c.Session.Kind {
	case run.Check:
		return o[HealthCheck][c.Node]
	case run.Rollback:
		return o[Restore][c.Node]
	default:
	}
	return o[Phase(c.Call)][c.Node]
}

// loses reports whether a session is lost before it starts anything.
func (o Outcomes) loses(c run.Command) bool {
	scripted := o.of(c)
	return c.ID.Purpose == run.Work && (scripted == Lost || scripted == LostOnce && c.ID.Attempt == 1)
}

// result is how a session ends.
func (o Outcomes) result(c run.Command) run.Result {
	r := run.Result{Outcome: run.Succeeded, Sent: true}
	scripted := o.of(c)
	switch {
	case c.ID.Purpose != run.Work:
	case scripted == Timeout:
		r.Outcome, r.Err = run.Failed, c.Limit
	case scripted == Failure, scripted == Lost:
		r.Outcome, r.Err = run.Failed, errFailed
	}
	switch {
	case c.Window && (c.Keep || scripted == Timeout && c.ID.Purpose == run.Work):
		r.Lock = run.IsLocked
	case c.Window:
		r.Lock = run.IsUnlocked
	}
	return r
}

var errFailed = errors.New("the outcomes say so")

// take adds a node to a step that works on it, or checks it after that.
func (s *Step) take(node string, result Result) {
	s.Nodes = append(s.Nodes, node)
	switch result {
	case Failure:
		s.Failed = append(s.Failed, node)
	case Timeout:
		s.TimedOut = append(s.TimedOut, node)
	case Success:
	}
}

// validate reports outcomes for nodes that do not exist.
func (o Outcomes) validate(nodes []site.Node) invalid.Errors {
	var errs invalid.Errors
	known := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		known[n.Name] = true
	}
	for _, phase := range Scripted() {
		for node := range o[phase] {
			if !known[node] {
				errs = append(errs, invalid.Error{Object: "node", Name: node, Attribute: string(phase),
					Code:    invalid.UnknownNode,
					Message: "an outcome is given for it, but there is no such node"})
			}
		}
	}
	errs.Sort()
	return errs
}

// validateChecks reports health checks that are not to succeed of nodes of which no group has one.
func (o Outcomes) validateChecks(s site.Site, p *planner.Plan) (errs invalid.Errors) {
	checked := map[string]bool{}
	for _, g := range p.Groups {
		at := slices.IndexFunc(s.Groups, func(s site.Group) bool { return s.Name == g.Name })
		if at < 0 || s.Groups[at].Rolling == nil || s.Groups[at].Rolling.HealthCheck == nil {
			continue
		}
		for _, node := range g.Members {
			checked[node] = true
		}
	}
	for node, result := range o[HealthCheck] {
		if result != Success && !checked[node] {
			errs = append(errs, invalid.Error{Object: "node", Name: node, Attribute: string(HealthCheck),
				Code: invalid.BadValue, Message: fmt.Sprintf("no group of the node has rolling.health_check; give its group one, "+
					"let the node fail in %s instead, or leave it out", Deploy)})
		}
	}
	errs.Sort()
	return errs
}

// validateRestores reports restores that are not to succeed of nodes of which none was played.
func (o Outcomes) validateRestores(played map[string]bool) (errs invalid.Errors) {
	for node, result := range o[Restore] {
		if result != Success && !played[node] {
			errs = append(errs, invalid.Error{Object: "node", Name: node, Attribute: string(Restore), Code: invalid.BadValue,
				Message: fmt.Sprintf("the run does not put the node back; let its batch fail as well, by nodes that fail in %s or "+
					"%s, and give its group rolling.on_failure = %q, or leave it out", Deploy, HealthCheck,
					site.OnFailureRollback)})
		}
	}
	errs.Sort()
	return errs
}

// judged returns the steps of a group, with how they ended.
func judged(g strategy.GroupReport, steps map[Phase]*Step) []Step {
	out := make([]Step, 0, len(steps))
	for _, phase := range Phases() {
		s := *steps[phase]
		slices.Sort(s.Nodes)
		s.Nodes = slices.Compact(s.Nodes) // those that were checked are there twice
		slices.Sort(s.Failed)
		slices.Sort(s.TimedOut)
		failedIn := strategy.Deployed
		if len(g.Shortfalls) > 0 {
			failedIn = g.Shortfalls[0].Phase
		}
		switch {
		case g.FailedBy != "":
			s.Cause, s.FailedBy = ByDependency, g.FailedBy
		case !g.Stage.Complete() && (phase == Deploy || g.Stage == strategy.NotStarted):
			if s.Cause = ByPause; g.BudgetSpent {
				s.Cause = ByBudget
			}
		case phase == Deploy && failedIn == strategy.Prepared:
			s.Cause = ByPrepare
		case len(g.Shortfalls) > 0 && (phase == Deploy) == (failedIn == strategy.Deployed):
			s.Cause, s.Shortfalls = ByCriteria, g.Shortfalls
		}
		s.Succeeded = s.Cause == ""
		out = append(out, s)
	}
	return out
}

// Result describes the result of the step in the words of seed 001 ("Example Processing").
func (s Step) Result() string {
	switch {
	case s.Succeeded:
		return "SUCCESS"
	case s.Cause == ByPrepare:
		return "FAILED, due to prepare failure"
	case s.Cause == ByBudget:
		return "NOT FINISHED, the failure budget is spent"
	case s.Cause == ByPause:
		return "NOT FINISHED, the run is paused"
	case s.Cause == ByDependency:
		return fmt.Sprintf("FAILED, due to dependency on %s", s.FailedBy)
	}
	return "FAILED"
}

// Finish describes the result of the run in the words of seed 001.
func (r Run) Finish() string {
	switch {
	case r.Report.BudgetSpent:
		return "failed due to spent failure budget"
	case r.Status == Failed:
		return "failed due to critical group failed"
	case r.Status == Limited:
		return "success within the limit"
	case r.Status == Paused:
		return "paused, the next run goes on"
	case r.Status == Degraded:
		return "success with some nodes/groups failed"
	}
	return "success"
}
