// Package run is the run of a plan as a state machine (design.md 6): events in, commands out. It decides everything
// that is decided in a run: the order of groups and phases, which session starts when, success criteria, locks, time
// limits, failures, cancellation, what is never started, and how the run ends. It has no clock, no goroutine and no
// connection: whoever drives it, a run or a simulation, executes the commands in their order and returns what came of
// them.
//
//	m := run.New(program)
//	commands := m.Handle(run.Event{Kind: run.Begin}, now)
//	for the last command is not run.Finish {
//		... execute the commands ...
//		commands = m.Handle(the next event, now)
//	}
//
// Sessions wait in rounds. A call (the preparation of a group, the rest of its block, a phase outside of groups, the
// tear-down) is a sequence of rounds with one time limit, and a round begins when the one before it is over. A round
// has chains: the sessions of one node that follow each other, one in general, and all between lock and unlock in a
// rolling group. A chain takes a place of the run, of its call, and of its phase for as long as it lasts; one callback
// runs at a time (litp.md 46).
//
// With batches, the rounds of a group's block come batch by batch, with health checks and soaks between them. A soak is
// a session that does nothing until its time is over or the run is stopped.
package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Event is what happened.
type Event struct {
	Kind   EventKind
	ID     ID // of the session that ended or was lost, or of the pass, as the command gave it; others are ignored
	Result Result
	Group  string // of Approve
	Batch  int    // of Approve, from 1: what comes after it may start
	// Twice are the nodes of the site that are the same machine as another one, as far as anyone knows now. Nothing is
	// done on them, and the run fails; nil: no news.
	Twice   []string
	Program *Program // of Planned
}

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	Begin  EventKind = "begin"
	Ended  EventKind = "ended"   // a session or a callback
	Lost   EventKind = "lost"    // a session, before it started anything: it may be tried again
	Stop   EventKind = "stop"    // nothing is started any more, except what unlocks a node
	GiveUp EventKind = "give up" // running sessions are given up
	// What a person decides.
	Approve EventKind = "approve"
	Hold    EventKind = "hold" // nothing is started any more, except what ends the work on a node, until Resume
	Resume  EventKind = "resume"
	Woken   EventKind = "woken" // the time of the last Wake has come
	// Planned answers NextPass: the run goes on with Program, whose failure budget is that of the first pass, or ends
	// when there is none.
	Planned EventKind = "planned"
)

// ID names a session of a run, with the run's own id before it.
type ID struct {
	Pass    int // from 1
	Session int // of the pass, in the order in which they start, from 1
	Purpose Purpose
	Attempt int // from 1; those before it were lost before they started anything
}

// Result is the result of a session. The machine decides by Outcome, Sent, Lock, Removal and Decided; the rest is for
// people who look at what is stored with its events. See [Result.Bounded].
type Result struct {
	Outcome Outcome
	Sent    bool    `json:",omitempty"` // the node may have changed
	Lock    Lock    `json:",omitempty"`
	Removal Removal `json:",omitempty"` // of a tear-down
	Err     error   `json:",omitempty"` // why it failed, for reports: it is only passed on
	Counts  Counts  `json:",omitzero"`
	// Failures are the first items that failed: type[title].
	Failures []string `json:",omitempty"`
	Boot     string   `json:",omitempty"` // the boot id of the node; empty: it did not report it
	// Digest is the SHA-256 of the whole result, which is in the journal: of a line "RESOURCE STATUS" for each event of
	// the kind task_finished of the session, in their order, in hexadecimal. Empty: there was none.
	Digest string `json:",omitempty"`
	// Decided are the nodes that are not torn down, or need not be, with how their tear-down ends. It is of a separation,
	// which is no session with a node, and has up to 100 bytes for each of them.
	Decided map[string]Removal `json:",omitempty"`
}

// Outcome is how a session ended.
type Outcome string

// The outcomes.
const (
	Succeeded  Outcome = "succeeded"
	Failed     Outcome = "failed"
	GivenUp    Outcome = "given up"    // it failed because the run was stopped
	NotStarted Outcome = "not started" // because the run was stopped
)

// Lock is what a session reported of the lock of its node.
type Lock string

// The reports. Empty is no report: what was known counts.
const (
	IsLocked   Lock = "locked" // or may be
	IsUnlocked Lock = "unlocked"
	IsStuck    Lock = "stuck" // its unlock command failed
)

// Removal is how the tear-down of a node ended.
type Removal string

// The ends of a tear-down.
const (
	TornDown    Removal = "torn_down"   // nothing of the site is left on it
	Kept        Removal = "kept"        // it is the machine of a node of the site: nothing is undone
	Forgotten   Removal = "forgotten"   // it left the site and did not answer: it is not asked again
	Unreachable Removal = "unreachable" // it did not answer
	// something is left on it, or may be: its ledger knows, so it can be tried again.
	NotTornDown Removal = "failed"
)

// Command is what is to be done now.
type Command struct {
	Kind    CommandKind
	ID      ID // of a session that starts, is tried again or is settled; the next pass
	Session Session
	Window  bool      // the lock and unlock commands of its group are part of the session
	Keep    bool      // it leaves the node locked
	Until   time.Time // when the session is given up, because of Limit, or is tried again; of Wake
	Limit   *TimeLimitError
	Call    string // of a session or a node that fails: prepare, deploy, or the task group of a phase outside of groups
	Group   string
	Node    string
	Phase   int
	Batch   int            // of Pause: the one that ended and waits for Approve; 0: another pause
	Stage   strategy.Stage // of the node or group that finished
	Failed  bool           // of a phase that finished: something failed or was not done in it
	Removal Removal
	Text    string
	Err     error // why a node fails, or why no group was started
	Report  *Report
}

// CommandKind is the kind of a command.
type CommandKind string

// The kinds of commands.
const (
	Start  CommandKind = "start"  // start a session or a callback
	Retry  CommandKind = "retry"  // record that the session ID, which was lost, is tried again at Until
	Settle CommandKind = "settle" // the session ID was lost and is not tried again: send Ended with its result
	Fail   CommandKind = "fail"   // a node fails without a session, because of Err
	Warn   CommandKind = "warn"   // of Text
	Wake   CommandKind = "wake"   // give Woken at Until, instead of when the Wake before said

	PhaseStarted  CommandKind = "phase_started" // record it, like the next ones
	PhaseFinished CommandKind = "phase_finished"
	NodeFinished  CommandKind = "node_finished"
	GroupFinished CommandKind = "group_finished"
	Pause         CommandKind = "pause"    // of a group, because of Text
	PutBack       CommandKind = "put_back" // of nodes of a batch of a group, see Text

	Removed  CommandKind = "removed"   // record how the tear-down of a node ended; Err: why it was not started
	Depart   CommandKind = "depart"    // report how the tear-down of a node that left ended
	NextPass CommandKind = "next_pass" // plan what follows the pass that Report is of, and give Planned
	Finish   CommandKind = "finish"    // the run is over, see Report: of its last pass
)

// Purpose is what a session is for.
type Purpose string

// The purposes.
const (
	Work        Purpose = "work"
	LockFirst   Purpose = "lock"   // lock the node before a callback
	UnlockAfter Purpose = "unlock" // unlock a node whose lock window did not end as planned
)

// TimeLimitError is the cause of a session that did not finish within the time limit of its call (airship.md 10).
type TimeLimitError struct {
	Call  string // "prepare", "deploy", "unlock", "tear down", or the task group of a phase outside of groups
	Group string // empty outside of a group
	Limit time.Duration
}

func (e *TimeLimitError) Error() string {
	s := fmt.Sprintf("the time limit of %s for %s", e.Limit, e.Call)
	if e.Group != "" {
		s += fmt.Sprintf(" of group %q", e.Group)
	}
	s += " is over"
	if e.Group != "" && (e.Call == "prepare" || e.Call == "deploy") {
		s += fmt.Sprintf(" (raise %s_timeout of the group if it needs more)", e.Call)
	}
	return s
}

// Status is how a run or a phase ended.
type Status string

// The statuses of a run. A phase knows succeeded, failed and interrupted.
const (
	StatusSucceeded   Status = "succeeded"
	StatusDegraded    Status = "degraded"    // something failed, but no critical group: there is work for the next plan
	StatusFailed      Status = "failed"      // a critical group failed (airship.md 9), or a phase outside of groups
	StatusInterrupted Status = "interrupted" // stopped before everything was started
	StatusPaused      Status = "paused"      // a group was left for another run, because its maintenance window is closed
)

// Report is how a run ended.
type Report struct {
	strategy.Report
	Status  Status
	Outside []PhaseReport             // the phases outside of groups that were started, in their order
	Alone   map[string]strategy.Stage // of the nodes in no group with sessions outside of groups
	Locked  map[string]bool           // nodes that are locked, or may be
	Err     error                     // this package misused the walk of the groups
}

// PhaseReport is the result of a phase outside of groups that was started.
type PhaseReport struct {
	Phase     int // its number in the plan, from 1
	TaskGroup task.Group
	Status    Status         // succeeded, failed, or interrupted
	Failures  []PhaseFailure // in the order of the phase
}

// PhaseFailure is a node or a callback that failed in a phase outside of groups.
type PhaseFailure struct {
	Node    string // empty for a callback that belongs to no node
	Message string
}

// Machine is the state of a run. It is for one goroutine.
type Machine struct {
	p    Program
	walk *strategy.Machine
	at   time.Time
	out  []Command // of the event that is handled

	pass    int  // from 1
	part    part // of the pass that is under way
	next    int  // the next phase of the part
	goOn    bool // groups may be started
	calls   []*call
	running map[ID]*chain
	number  int  // of the last session
	free    int  // places of the run
	freed   bool // a place has become free, or the failure budget spent, since the calls were looked at
	calling bool // a callback runs

	regroup   bool // a group may be ready that was not before
	nodes     map[string]*node
	locked    map[string]bool // nodes that are locked, or may be
	windows   map[string]bool // nodes that are in a lock window
	later     map[string]bool // nodes with sessions after the groups
	recorded  map[string]bool // groups whose end was recorded
	twice     []string
	stopped   bool
	gaveUp    bool
	failed    map[string]bool // nodes that failed, in any pass
	spent     bool            // more of them than may fail: nothing new is started
	cut       bool            // something was left out because the run was stopped
	halted    error           // why no group was started
	worst     Status          // of what the walk does not see: degraded, failed, or empty
	outside   []PhaseReport
	removed   map[string]Removal
	unstarted map[string][]string  // group -> nodes that its brake kept from being started
	paused    map[string]bool      // groups of which something was left for another run
	held      bool                 // nothing new is started because a person said so
	waiting   bool                 // groups that may start wait for their maintenance windows
	opensAt   map[string]time.Time // group -> when its maintenance window opens, as recorded
	wake      time.Time            // of the timer; one that has passed is not set
	wrong     error
}

// part is a part of a run.
type part int

const (
	beforeGroups part = iota
	inGroups
	afterGroups
	cleanup
	asking // for the next pass
	over
)

// node is what is known of a node.
type node struct {
	group     string // that worked on it last, or the first that has it
	attempted bool   // a session was sent
	failed    bool
	recorded  bool // its last stage
	stuck     bool // its last session could not unlock it
	restored  bool // it has again what it had before the run
}

// New returns the machine of a program. Its first event is Begin.
func New(p Program) *Machine {
	if p.Parallelism == 0 {
		p.Parallelism = DefaultParallelism
	}
	p.ParallelGroups = max(p.ParallelGroups, 1)
	m := &Machine{p: p, pass: 1, failed: map[string]bool{}, running: map[ID]*chain{}, free: p.Parallelism, goOn: true,
		nodes: map[string]*node{}, locked: map[string]bool{}, windows: map[string]bool{}, later: nodesOf(p.After),
		recorded: map[string]bool{},
		removed:  map[string]Removal{}, unstarted: map[string][]string{},
		paused: map[string]bool{}, opensAt: map[string]time.Time{}}
	members, after := map[string][]string{}, map[string][]string{}
	groups := make([]site.Group, len(p.Groups))
	for i, g := range p.Groups {
		groups[i], members[g.Name], after[g.Name] = g.Group, g.Members, g.After
		for _, n := range g.Members {
			if n := m.node(n); n.group == "" {
				n.group = g.Name
			}
		}
	}
	m.walk = strategy.Walk(groups, members, p.Idle)
	if p.ParallelGroups > 1 || len(p.Windows) > 0 { // a group that is closed lets others start
		m.walk.AllowParallel(after)
	}
	for name, sessions := range p.Deploy {
		for _, s := range sessions {
			if s.Kind == Unlock {
				m.locked[name] = true
			}
		}
	}
	return m
}

func (m *Machine) node(name string) *node {
	n := m.nodes[name]
	if n == nil {
		n = &node{}
		m.nodes[name] = n
	}
	return n
}

// Handle takes an event that happened at a time, which never decreases, and returns what is to be done, in order. Equal
// events give equal commands.
func (m *Machine) Handle(e Event, at time.Time) []Command {
	m.at, m.out = at, nil
	for _, c := range m.calls {
		m.putOff(c)
	}
	if e.Twice != nil {
		m.twice = e.Twice
		m.failRun(true)
	}
	switch e.Kind {
	case Stop:
		m.stopped, m.regroup = true, m.regroup || m.waiting
	case GiveUp:
		m.stopped, m.gaveUp, m.regroup = true, true, m.regroup || m.waiting
	case Woken:
		m.regroup = m.regroup || m.waiting
	case Hold:
		m.held = true
	case Resume:
		m.held, m.regroup = false, m.regroup || m.waiting
	case Approve:
		for _, c := range m.calls {
			if c.groupName() == e.Group && c.asked == e.Batch {
				c.approved = e.Batch
			}
		}
	case Planned:
		if m.part == asking && e.ID.Pass == m.pass+1 {
			m.nextPass(e.Program)
		}
	case Ended:
		if ch := m.running[e.ID]; ch != nil {
			delete(m.running, e.ID)
			m.ended(ch, e.Result)
		}
	case Lost:
		if ch := m.running[e.ID]; ch != nil {
			m.lost(ch, e.ID)
		}
	case Begin:
	}
	for m.part < asking && m.advance() {
	}
	return m.out
}

// nextPass starts another pass, or ends the run. What failed, and that the run is stopped, counts in all passes.
func (m *Machine) nextPass(p *Program) {
	if p == nil {
		m.part = over
		m.do(Command{Kind: Finish, Report: m.report()})
		return
	}
	next := New(*p)
	next.p.MayFail, next.pass = m.p.MayFail, m.pass+1
	next.failed, next.spent = m.failed, m.spent
	if m.spent {
		next.failRun(true)
	}
	next.stopped, next.gaveUp, next.held = m.stopped, m.gaveUp, m.held
	next.twice, next.wake, next.at = m.twice, m.wake, m.at
	*m = *next
}

// advance starts what may start and ends what is over. It reports whether anything changed that lets more start or end.
func (m *Machine) advance() bool {
	m.freed = false
	for i, c := range m.calls {
		if m.work(c) {
			m.calls = slices.Delete(m.calls, i, i+1)
			switch {
			case c.group != nil:
				m.groupOver(c)
			case c.outside != nil:
				m.outsideOver(c.outside)
			default:
				m.cleanupOver()
			}
			return true
		}
	}
	if m.part == inGroups && m.goOn && m.startGroup() || m.freed { // a call before may take the place
		return true
	}
	if len(m.calls) > 0 || m.part == inGroups && m.goOn && m.waiting {
		return false
	}
	switch m.part {
	case beforeGroups:
		m.phaseBefore()
	case inGroups:
		m.part, m.next = afterGroups, 0
	case afterGroups:
		m.phaseAfter()
	case cleanup:
		m.finish()
	case asking, over:
	}
	return m.part < asking
}

// do adds a command.
func (m *Machine) do(c Command) { m.out = append(m.out, c) }

// stop reports whether no session may be started any more, and remembers that something was left out.
func (m *Machine) stop() bool {
	m.cut = m.cut || m.stopped
	return m.stopped
}

// failRun remembers that something failed that the walk does not see.
func (m *Machine) failRun(critical bool) {
	switch {
	case critical:
		m.worst = StatusFailed
	case m.worst == "":
		m.worst = StatusDegraded
	}
}

// nodeFailed notes that a node failed. What is torn down does not count.
func (m *Machine) nodeFailed(name string) {
	if name == "" {
		return
	}
	if n := m.node(name); !n.failed {
		n.failed = true
		for _, c := range m.calls {
			c.nodeFailed(name)
		}
	}
	m.failed[name] = true
	if m.p.MayFail != nil && len(m.failed) > *m.p.MayFail {
		m.freed, m.spent = m.freed || !m.spent, true
		m.failRun(true)
	}
}

// setNode sets the stage of a node that the walk cannot see. A node without a group has no stage.
func (m *Machine) setNode(name string, stage strategy.Stage) {
	if m.walk.NodeStage(name) == "" {
		return
	}
	if err := m.walk.SetNode(name, stage); err != nil && m.wrong == nil {
		m.wrong = err
	}
}

// finished records that a node reached its last stage of the run, once.
func (m *Machine) finished(group, name string, stage strategy.Stage) {
	if n := m.node(name); !n.recorded {
		n.recorded = true
		m.do(Command{Kind: NodeFinished, Group: group, Node: name, Stage: stage})
	}
}

// fail fails a node without a session, in a call or after all of them.
func (m *Machine) fail(c *call, name string, err error) {
	m.nodeFailed(name)
	out := Command{Kind: Fail, Node: name, Err: err}
	if c != nil {
		out.Call, out.Group = c.name, c.groupName()
		n := m.node(name)
		n.group = cmp.Or(out.Group, n.group)
	}
	m.do(out)
}

// groups returns the walk's report.
func (m *Machine) groups() strategy.Report {
	r := m.walk.Report()
	r.BudgetSpent = m.spent
	for i, g := range r.Groups {
		r.Groups[i] = m.group(&m.p.Groups[i], g)
	}
	return r
}

// group adds to the walk's report of a group what only the run knows.
func (m *Machine) group(of *Group, g strategy.GroupReport) strategy.GroupReport {
	g.NotStarted, g.Restored = m.unstarted[g.Name], m.restored(g.Name, g.Members)
	g.Paused = m.paused[g.Name] && !g.Stage.Complete()
	if (m.spent || g.Paused) && !g.Stage.Complete() {
		g.NotStarted = slices.DeleteFunc(slices.Clone(g.Members), func(n string) bool {
			return m.walk.NodeStage(n).Complete()
		})
	}
	g.BudgetSpent = m.spent && len(g.NotStarted) > 0 && (!g.Stage.Complete() || !of.Stops())
	return g
}

// restored returns the members of a group that were put back when their batch of it failed.
func (m *Machine) restored(group string, members []string) (out []string) {
	for _, name := range members {
		if n := m.node(name); n.restored && n.group == group {
			out = append(out, name)
		}
	}
	return out
}

// finishGroups records the groups that finished.
func (m *Machine) finishGroups() {
	for i := range m.p.Groups {
		g := &m.p.Groups[i]
		stage := m.walk.GroupStage(g.Name)
		if !stage.Complete() || m.recorded[g.Name] {
			continue
		}
		m.recorded[g.Name] = true
		r := m.group(g, m.walk.GroupReport(g.Name))
		m.do(Command{Kind: GroupFinished, Group: g.Name, Stage: stage, Text: strings.Join(r.Reasons(), "; ")})
	}
}

// remaining records what is left of groups and nodes when no group is worked on any more.
func (m *Machine) remaining() {
	for _, name := range m.twice { // such a machine is left alone under both names
		if n := m.node(name); m.walk.NodeStage(name) == strategy.Deployed && !n.attempted {
			m.setNode(name, strategy.Failed)
			m.fail(nil, name, nil)
			m.finished(n.group, name, strategy.Failed)
		}
	}
	m.finishGroups()
	for _, s := range m.walk.Report().Nodes {
		for _, name := range s.Nodes {
			if n := m.node(name); n.attempted {
				m.finished(n.group, name, s.Stage)
			}
		}
	}
}

// finish ends the pass, and the run when nothing follows.
func (m *Machine) finish() {
	if m.part = over; m.p.Asks {
		m.part = asking
		m.do(Command{Kind: NextPass, ID: ID{Pass: m.pass + 1}, Report: m.report()})
		return
	}
	m.do(Command{Kind: Finish, Report: m.report()})
}

// report returns how the pass ended.
func (m *Machine) report() *Report {
	r := &Report{Report: m.groups(), Outside: m.outside, Alone: map[string]strategy.Stage{}, Locked: m.locked,
		Err: m.wrong}
	if err := m.walk.Err(); err != nil {
		r.Err = err
	}
	for name, n := range m.nodes {
		_, cleaned := m.removed[name]
		switch { // one in no group
		case name == "" || m.walk.NodeStage(name) != "" || cleaned || !n.attempted && !n.failed:
		case m.halted != nil:
			r.Alone[name] = strategy.NotStarted
		case n.failed:
			r.Alone[name] = strategy.Failed
		default:
			r.Alone[name] = strategy.Deployed
		}
	}
	r.Status = m.status(r)
	return r
}

func (m *Machine) status(r *Report) Status {
	wanted := []Removal{TornDown}
	if !m.p.Destroy {
		wanted = []Removal{TornDown, Kept, Forgotten}
	}
	switch {
	case m.cut || m.gaveUp && !m.p.Destroy:
		return StatusInterrupted
	case r.CriticalFailed || m.worst == StatusFailed:
		return StatusFailed
	case len(m.paused) > 0:
		return StatusPaused
	case m.worst == StatusDegraded || len(r.In(strategy.Failed)) > 0,
		slices.ContainsFunc(r.Groups, func(g strategy.GroupReport) bool { return g.Stage == strategy.Failed }),
		slices.ContainsFunc(slices.Collect(maps.Values(m.removed)), func(r Removal) bool {
			return !slices.Contains(wanted, r)
		}):
		return StatusDegraded
	}
	return StatusSucceeded
}
