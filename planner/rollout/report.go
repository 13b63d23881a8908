package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// What a run and its machine have in common.
type (
	Status         = run.Status
	Removal        = run.Removal
	PhaseReport    = run.PhaseReport
	GroupReport    = strategy.GroupReport
	TimeLimitError = run.TimeLimitError
)

// The statuses of a run, and the ends of a tear-down.
const (
	StatusSucceeded   = run.StatusSucceeded
	StatusDegraded    = run.StatusDegraded
	StatusFailed      = run.StatusFailed
	StatusInterrupted = run.StatusInterrupted
	StatusPaused      = run.StatusPaused

	TornDown    = run.TornDown
	Kept        = run.Kept
	Forgotten   = run.Forgotten
	Unreachable = run.Unreachable
	NotTornDown = run.NotTornDown
)

// Report is the result of a run.
type Report struct {
	Site   string
	Run    string
	Status Status
	Groups []GroupReport // in processing order
	// BudgetSpent says that more nodes failed than the failure budget allows, so that nothing new was started.
	BudgetSpent bool
	Awaits      string                  // what groups wait for that are held; empty: none is
	Nodes       map[string]NodeReport   // every node that is in a group
	Departed    map[string]TearDownNode // every node that the plan tears down
	Outside     []PhaseReport           // the phases outside of groups that were started, in their order
	Warnings    []string                // what a person should know though it failed no group
	// Callbacks are the callbacks that were started: task name -> digest of the task, so that the next plan knows which
	// ran. The digest is empty when the callback failed or was given up, on any of its nodes.
	Callbacks map[string]string
	Values    Values // what the callbacks yielded
}

// NodeReport is the result of one node.
type NodeReport struct {
	Group     string         // the last group that worked on it; the first one that holds it when none did
	Stage     strategy.Stage // DEPLOYED also when there was nothing to do
	Waits     string         // why nothing of its work is in the plan; empty: the plan has it, or it has no work
	Attempted bool           // a catalog was sent, so the node may have changed
	Reachable bool           // it answered; false also when it was not asked
	// why its last session could not do its work: wraps *converge.SessionError, a transport error, *TimeLimitError or
	// ErrInterrupted
	Error error
	ItemResults
	Restored bool          // it has again what it had before the run, but for packages and what commands did
	PutBack  []resource.ID // the resources that were restored for that
	// Ledger is what the site has applied on the node as its last session reported; nil is unknown. A node that was not
	// attempted has nil here and the ledger that it had before the run.
	// A node that is left locked has task.LeftLocked in it, one that no health check has followed task.Unchecked.
	Ledger map[resource.ID]string
	Asked  bool // it reported in this run which machine it is, even without changes
	Locked bool // it is locked, or may be: the last session did not report it; then Ledger may be nil
	// Unhealthy is set where a health check of the node failed: [task.CheckFailed] and the run; and where callbacks were
	// called for it since the last one: [task.OnlyCalled] and the run. Healthy: the last one of its batch succeeded.
	Unhealthy string
	Healthy   bool
}

// ItemResults are the results of the items of one or several sessions with a node.
type ItemResults struct {
	Failures []Failure // in the order in which they came
	// items that were done, in the order in which they came; one that may fail and did is among them
	Done      []resource.ID
	Altered   []resource.ID // those of Done that were not as they should be until then
	Changed   int           // items
	Unchanged int           // items
	Skipped   int           // items left out because one they require failed
	Unknown   int           // items whose outcome is not known: the session ended before
}

// add adds the results of later sessions.
func (r *ItemResults) add(later ItemResults) {
	r.Failures = slices.Concat(r.Failures, later.Failures)
	r.Done = slices.Concat(r.Done, later.Done)
	r.Altered = slices.Concat(r.Altered, later.Altered)
	r.Changed += later.Changed
	r.Unchanged += later.Unchanged
	r.Skipped += later.Skipped
	r.Unknown += later.Unknown
}

// Applied returns what is applied on the node after the run, as far as anyone knows: what its last session reported, or
// else what was known before the run, with task.LeftLocked when it may be locked. That a health check of it failed is
// known until one succeeds. It leaves before alone.
func (r NodeReport) Applied(before map[resource.ID]string) map[resource.ID]string {
	after := r.applied(before)
	switch {
	case r.Unhealthy != "":
		return planner.WithUnchecked(after, r.Unhealthy)
	case r.Healthy:
		return after
	}
	return planner.KeepUnhealthy(before, after)
}

func (r NodeReport) applied(before map[resource.ID]string) map[resource.ID]string {
	switch {
	case r.Ledger != nil:
		return r.Ledger
	case r.Locked && before == nil:
		return withLock(map[resource.ID]string{}, true)
	case r.Locked || r.Attempted:
		return withLock(before, r.Locked)
	}
	return before
}

// withLock returns a ledger with or without the mark task.LeftLocked (litp.md 84); nil stays nil.
func withLock(ledger map[resource.ID]string, locked bool) map[resource.ID]string {
	if _, marked := ledger[task.LeftLocked]; ledger == nil || marked == locked {
		return ledger
	}
	ledger = maps.Clone(ledger)
	delete(ledger, task.LeftLocked)
	if locked {
		ledger[task.LeftLocked] = ""
	}
	return ledger
}

// Failure is one item that failed, was skipped, or has no result.
type Failure struct {
	Resource resource.ID
	Message  string
	Skipped  bool
	Refresh  bool // what failed is that it reacted to a notification
}

// take adds a session's outcome.
func (r *NodeReport) take(group string, o outcome) {
	r.Group, r.Attempted, r.Ledger = cmp.Or(group, r.Group), true, o.ledger
	if o.err != nil { // a node that failed before may be unlocked successfully
		r.Error = o.err
	}
	r.Reachable = o.answered(r.Reachable)
	r.add(o.ItemResults)
}

// idle reports whether the node counts as deployed because it had no work: nobody has asked it.
func (r NodeReport) idle() bool { return r.Stage == strategy.Deployed && !r.Attempted && !r.Asked }

// withoutChanges says how many of a group's deployed nodes nobody has asked.
func withoutChanges(idle int) string {
	switch idle {
	case 0:
		return ""
	case 1:
		return ", 1 of them had no changes and was not contacted"
	}
	return fmt.Sprintf(", %d of them had no changes and were not contacted", idle)
}

// Reason says in one line why a node failed; empty when it did not. Of many failed items the first ones are named.
func (r NodeReport) Reason() string {
	why := reason(r.Error, r.Failures)
	if !r.Restored {
		return why
	}
	why = cmp.Or(why, "its batch failed") + "; it has again what it had before this run"
	for i, id := range r.PutBack {
		if i == shownRestored {
			return fmt.Sprintf("%s and %d more (`report` shows them)", why, len(r.PutBack)-i)
		}
		why += [...]string{": ", ", "}[min(i, 1)] + string(id)
	}
	return why
}

// shownRestored bounds how many resources the reason of a node names as put back.
const shownRestored = 5

func reason(err error, failures []Failure) string {
	const shown = 3
	var parts []string
	if err != nil {
		parts = append(parts, short(err.Error()))
	}
	var skipped, more int
	for _, f := range failures {
		switch {
		case f.Skipped:
			skipped++
		case more > 0 || len(parts) >= shown:
			more++
		default:
			parts = append(parts, fmt.Sprintf("%s: %s", f.Resource, short(f.Message)))
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more failed (`report` shows them)", more))
	}
	if skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", skipped))
	}
	return strings.Join(parts, "; ")
}

// short makes one line of a message and bounds it: a reason says what to look at, the journal holds the rest.
func short(message string) string {
	const most = 400
	r := []rune(strings.Join(strings.Fields(message), " "))
	if len(r) <= most {
		return string(r)
	}
	return string(r[:most-1]) + "…"
}

// stages in the order of a report (airship.md 11, D-11).
var stages = []strategy.Stage{strategy.NotStarted, strategy.Prepared, strategy.Deployed, strategy.Failed}

// listed bounds each list of a report. The journal holds every event of every node.
const listed = 20

// Why nothing of the work of a node is in the plan.
const (
	notApproved    = "not approved yet"
	outsideOfLimit = "outside of the limit"
)

// String describes for a person how the run went: the groups in order with what they missed, the nodes by stage, and
// why nodes failed. Of many nodes the first ones are named.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "site %s, run %s: %s\n", r.Site, r.Run, r.Status)
	if r.BudgetSpent {
		b.WriteString("the failure budget of the deployment is spent: nothing new was started\n")
	}
	if r.Awaits != "" {
		fmt.Fprintf(&b, "%s\n", r.Awaits)
	}
	if len(r.Outside) > 0 {
		b.WriteString("outside of groups:\n")
	}
	for _, ph := range r.Outside {
		fmt.Fprintf(&b, "  %s (phase %d): %s\n", ph.TaskGroup, ph.Phase, ph.Status)
		writeList(&b, "", ph.Failures, func(f run.PhaseFailure) {
			fmt.Fprintf(&b, "    %s%s\n", strings.TrimPrefix(f.Node+": ", ": "), short(f.Message))
		})
	}
	if len(r.Groups) > 0 {
		b.WriteString("groups, in order:\n")
	}
	for _, g := range r.Groups {
		critical := ""
		if g.Critical {
			critical = " (critical)"
		}
		deployed, idle := 0, 0
		for _, n := range g.Members {
			if r.Nodes[n].Stage == strategy.Deployed {
				deployed++
			}
			if r.Nodes[n].idle() {
				idle++
			}
		}
		fmt.Fprintf(&b, "  %s%s: %s, %d of %d nodes deployed%s\n", g.Name, critical, g.Stage, deployed, len(g.Members),
			withoutChanges(idle))
		for _, v := range g.Reasons() {
			fmt.Fprintf(&b, "    %s\n", v)
		}
	}
	if len(r.Nodes) > 0 {
		b.WriteString("nodes:\n")
	}
	byStage := map[strategy.Stage][]string{}
	var idle []string
	waiting := map[string][]string{} // why -> nodes
	for _, n := range slices.Sorted(maps.Keys(r.Nodes)) {
		switch {
		case r.Nodes[n].idle():
			idle = append(idle, n)
		case r.Nodes[n].Waits != "":
			waiting[r.Nodes[n].Waits] = append(waiting[r.Nodes[n].Waits], n)
		default:
			byStage[r.Nodes[n].Stage] = append(byStage[r.Nodes[n].Stage], n)
		}
	}
	stageOf := func(stage string, nodes []string) {
		if len(nodes) > 0 {
			fmt.Fprintf(&b, "  %s: %s%s\n", stage, strings.Join(nodes[:min(len(nodes), listed)], ", "),
				andMore(nodes, " "))
		}
	}
	for _, why := range []string{notApproved, outsideOfLimit} {
		stageOf(fmt.Sprintf("%s (%s)", strategy.NotStarted, why), waiting[why])
	}
	for _, s := range stages {
		stageOf(string(s), byStage[s])
		if s == strategy.Deployed {
			stageOf(string(s)+" (no changes, not contacted)", idle)
		}
	}
	failed := SaidAlike(byStage[strategy.Failed], func(n string) string {
		return cmp.Or(r.Nodes[n].Reason(), "no reason is known")
	})
	writeList(&b, "failed nodes:\n", failed, func(a Alike) {
		fmt.Fprintf(&b, "  %s (%s): %s\n", a.Who(), r.groupsOf(a.Nodes), a.Reason)
	})
	writeList(&b, "nodes that left the site:\n", slices.Sorted(maps.Keys(r.Departed)), func(n string) {
		writeRemoval(&b, n, r.Departed[n].Status, r.Departed[n].Message, r.Departed[n].Undone)
	})
	writeList(&b, "warnings:\n", warnedAlike(r.Warnings), func(w string) { fmt.Fprintf(&b, "  %s\n", short(w)) })
	return b.String()
}

// groupsOf names the groups of nodes, the first ones of many.
func (r Report) groupsOf(nodes []string) string {
	var groups []string
	for _, n := range nodes {
		if g := r.Nodes[n].Group; !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	if more := len(groups) - namesAlike; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(groups[:namesAlike], ", "), more)
	}
	return strings.Join(groups, ", ")
}

// writeList writes the first items of a list below its title; nothing for an empty one.
func writeList[T any](b *strings.Builder, title string, items []T, write func(T)) {
	if len(items) == 0 {
		return
	}
	b.WriteString(title)
	for _, item := range items[:min(len(items), listed)] {
		write(item)
	}
	if more := andMore(items, "  "); more != "" {
		b.WriteString(more + "\n")
	}
}

// andMore says how many items of a list are not shown; empty when all are.
func andMore[T any](items []T, lead string) string {
	if len(items) <= listed {
		return ""
	}
	return fmt.Sprintf("%sand %d more", lead, len(items)-listed)
}

// undoneListed bounds the resources of one node of which a report says that they were undone or put back.
const undoneListed = 8

func writeRemoval(b *strings.Builder, node string, status Removal, message string, undone []resource.ID) {
	said := strings.ReplaceAll(string(status), "_", " ")
	lead := ": "
	if message != "" {
		said += lead + short(message)
		lead = "; "
	}
	if n := len(undone); n > 0 {
		said += fmt.Sprintf("%sundid %d %s: %s", lead, n, plural(n, "resource"), firstOf(undone))
	}
	fmt.Fprintf(b, "  %s: %s\n", node, said)
}

// firstOf lists the first ones of resources in one line.
func firstOf(ids []resource.ID) string {
	names := make([]string, 0, undoneListed)
	for _, id := range ids[:min(len(ids), undoneListed)] {
		names = append(names, string(id))
	}
	text := short(strings.Join(names, ", "))
	if more := len(ids) - undoneListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}
