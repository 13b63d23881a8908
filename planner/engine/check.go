package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/planner/telemetry"
)

// Checked is what a check found.
type Checked struct {
	Done        bool  // false: no node was looked at, and Messages says why
	State       State // what to remember
	Drift       []DriftItem
	Unfinished  []DriftItem // what the last run began and did not finish: nobody knows in which form it is
	Unreachable []string    // sorted: neither drifted nor gone
	Messages
}

// Differences returns all that is not in order as the journal has it: what is unfinished first, because a list may be
// cut.
func (c Checked) Differences() (all []journal.Drift) {
	for i, d := range slices.Concat(c.Unfinished, c.Drift) {
		all = append(all, journal.Drift{Node: d.Node, Resource: string(d.Resource), Change: d.Change,
			Unfinished: i < len(c.Unfinished)})
	}
	return all
}

// DriftItem is a configuration resource that is no longer as slipway left it.
type DriftItem struct {
	Node     string
	Resource resource.ID
	Change   string // what differs, and a diff of a text below it
}

func (d DriftItem) compare(other DriftItem) int {
	return cmp.Or(strings.Compare(d.Node, other.Node), strings.Compare(string(d.Resource), string(other.Resource)))
}

// DriftOf returns drift for a [Prior].
func DriftOf(items []DriftItem) planner.Drift {
	if len(items) == 0 {
		return nil
	}
	drift := planner.Drift{}
	for _, i := range items {
		drift[i.Node] = append(drift[i.Node], i.Resource)
	}
	return drift
}

// Inspection says how a site is checked.
type Inspection struct {
	Settings
	Parallelism int // nodes at once; 0 is the default of rollout.Options
	// Corrected are nodes of the site, by name, that are reached in another way now than by the last run. Such an answer
	// counts when it is that of the same machine: the address is the same, or its identity.
	Corrected map[string]site.Node
	// Known is the drift that was found before. Where another form of a resource is desired by now and not applied yet,
	// because its node waits, a check cannot look for drift: it stays as it is.
	Known []DriftItem
}

// Adopt takes over what the journal knows better of services: a run that ended before it could report left it there
// (lsm.md 20, "recovery at start-up"), and warns of what it had not put back. t has the services of the new state; it
// is nil when the journal knows nothing new.
func (e *Engine) Adopt(ctx context.Context, siteName string, past State) (state State, t *services.Transition,
	m Messages) {
	store, err := e.Journals.OpenExisting(ctx, siteName)
	if errors.Is(err, journal.ErrNoJournal) {
		return past, nil, nil
	}
	var journaled []services.Revision
	if err == nil {
		defer func() { _ = store.Close() }() // it was only read
		m = owed(ctx, store, siteName, "")
		journaled, err = store.Services(ctx, false)
	}
	if err != nil {
		m.warn("The journal cannot be read", "%v\n\nServices count as they are in the state.", err)
		return past, nil, m
	}
	journaled = slices.DeleteFunc(journaled, func(s services.Revision) bool { return !past.Services.Newer(s) })
	if len(journaled) == 0 {
		return past, nil, m
	}
	past.Services = past.Services.Merge(journaled)
	t, _ = services.Unchanged(past.Services, site.Site{Name: siteName}) // the plan reports what cannot be read
	return past, t, m
}

// Check compares every node of a site, as the last run left it, with what is applied on it, and changes nothing. It
// keeps three outcomes apart: in order, drifted and unreachable. It never concludes from silence that something is
// gone.
func (e *Engine) Check(ctx context.Context, past State, s site.Site, how Inspection) (out Checked) {
	out.State = past
	tasks, errs := desired(past, &s, how.Cache)
	if errs != "" {
		out.add(Unplannable(errs))
		return out
	}
	if err := e.ready(ctx); err != nil {
		out.warn("Drift was not checked", "Workers look at the nodes. %v.", err)
		return out
	}
	items := make(map[string][]converge.Item, len(tasks))
	for node, list := range tasks {
		items[node] = rollout.Items(list)
	}
	found := e.survey(ctx, s, items, past, how)
	if owned := refusals(found); owned != "" {
		out.fail(ownedElsewhere, "%s", owned)
		return out
	}

	out.Done = true
	out.State.Applied, out.State.Machines = maps.Clone(past.Applied), maps.Clone(past.Machines)
	if out.State.Applied == nil {
		out.State.Applied = planner.Applied{}
	}
	if out.State.Machines == nil {
		out.State.Machines = map[string]converge.Identity{}
	}
	unreachable := map[string]error{}
	var noop, guards, lost []string
	out.State.Unasked = nil
	for _, node := range past.Unasked {
		if _, looked := found[node]; !looked {
			out.State.Unasked = append(out.State.Unasked, node)
		}
	}
	for node, survey := range found {
		if survey.Identity.Running() {
			out.State.Machines[node] = survey.Identity
		}
		if survey.Ledger != nil {
			if out.State.Applied[node] = planner.KeepUnhealthy(past.Applied[node], survey.Ledger); len(survey.Ledger) == 0 {
				if len(out.State.Applied[node]) == 0 {
					delete(out.State.Applied, node)
				}
				if was := len(past.Applied[node]); was > 0 {
					lost = append(lost, fmt.Sprintf("node %q: %d", node, was))
				}
			}
		}
		if !survey.Reachable || survey.Error != nil {
			if unreachable[node] = survey.Error; rollout.Unasked(survey.Error) {
				out.State.Unasked = append(out.State.Unasked, node)
			}
			continue
		}
		out.Drift = append(out.Drift, driftOn(node, survey, tasks[node], how.Known)...)
		if survey.Guard != "" {
			guards = append(guards, fmt.Sprintf("node %q: %s", node, survey.Guard))
		}
		for _, item := range survey.Noop {
			noop = append(noop, fmt.Sprintf("node %q: %s: %s", node, item.ID, change(item)))
		}
	}
	for node, resources := range out.State.Applied {
		for id, digest := range resources {
			if digest == "" {
				out.Unfinished = append(out.Unfinished, DriftItem{node, id, unfinished(id, found[node].LockedBy)})
			}
		}
	}
	slices.SortFunc(out.Drift, DriftItem.compare)
	slices.SortFunc(out.Unfinished, DriftItem.compare)
	out.Unreachable = slices.Sorted(maps.Keys(unreachable))
	slices.Sort(out.State.Unasked)
	if len(guards) > 0 {
		slices.Sort(guards)
		out.warn(fmt.Sprintf("Nodes have put guarded changes back: %d", len(guards)),
			"No new connection confirmed them, so these nodes are as they were before. Correct the change, or the way to the "+
				"nodes, then apply again.\n%s", strings.Join(FirstLines(guards), "\n"))
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		out.warn(fmt.Sprintf("Nodes on which nothing of the site is left: %d", len(lost)),
			"Their ledgers have nothing of the site any more, as after a reinstall. The next apply does again all that is to "+
				"be there. How many resources there were:\n%s", strings.Join(FirstLines(lost), "\n"))
	}
	if len(noop) > 0 {
		slices.Sort(noop)
		out.warn(fmt.Sprintf("Resources with noop differ: %d", len(noop)),
			"They stay as they are. Take noop away to have them applied.\n%s", strings.Join(FirstLines(noop), "\n"))
	}
	if len(unreachable) > 0 {
		out.warn(fmt.Sprintf("%d of %d nodes could not be checked", len(unreachable), len(s.Nodes)),
			"A refresh looks at nodes through the connections of the last apply, and in a plan through those of slipway_node "+
				"that were corrected since. What is known of these nodes stays as it was; they count neither as drifted nor as gone.\n%s",
			Reasons(unreachable))
	}
	calls, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime) // the nodes may have taken all the time
	defer cancel()
	if err := telemetry.Checked(calls, s.Name, len(out.Drift), len(out.Unfinished), len(out.Unreachable)); err != nil {
		out.warn("The metrics of the check were not sent", "%v", err)
	}
	if err := e.record(calls, s, out); err != nil {
		out.warn("The check is not in the journal", "%v", err)
	}
	return out
}

// Unplannable says why a site was not checked: errs, a line each, are wrong in what the state has of it.
func Unplannable(errs string) (m Messages) {
	m.warn("Drift was not checked", "The site in the state is not one that this version of slipway can plan:\n%s\n\n"+
		"The next apply with a valid configuration resolves this.", errs)
	return m
}

// unfinished says in which state a run left a resource, or the node itself where id is a mark. lockedBy is the run that
// left the node locked, as far as the node said it.
func unfinished(id resource.ID, lockedBy string) string {
	switch id {
	case task.LeftLocked:
		by := "an earlier run"
		if lockedBy != "" {
			by = "the run " + lockedBy
		}
		return by + " has left the node locked; the next apply unlocks it"
	case task.UnknownLedger:
		return "what a run left on the node is not known: it could not be read since; the next apply that reaches it finds out"
	default:
		return "was begun and not finished"
	}
}

// NoSite is the site of a manifest that is about no site: no user can give a site this name. It has no journal.
const NoSite = "(none)"

// Identify asks nodes which machines they are and what these are like, and changes nothing there. What a node does not
// say is missing; a warning names the nodes that do not answer.
func (e *Engine) Identify(ctx context.Context, nodes []site.Node, how Settings) (
	machines map[string]converge.Identity, m Messages) {
	if how.Unreached {
		m.warn("Nodes were not asked", "The provider's connection is not known before the apply, so no node could be reached. "+
			"The next plan asks them.")
		return nil, m
	}
	if err := e.ready(ctx); err != nil {
		m.warn("Nodes were not asked", "Workers ask the nodes. %v.", err)
		return nil, m
	}
	machines, silent := map[string]converge.Identity{}, map[string]error{}
	found := e.survey(ctx, site.Site{Name: NoSite, Nodes: nodes}, nil, State{}, Inspection{Settings: how})
	for node, survey := range found {
		if machines[node] = survey.Identity; survey.Error != nil {
			silent[node] = survey.Error
		}
	}
	if len(silent) > 0 {
		m.warn(fmt.Sprintf("%d of %d nodes could not be asked", len(silent), len(nodes)), "What they are is missing:\n%s",
			Reasons(silent))
	}
	return machines, m
}

// ready reports why nobody can look at nodes now, where workers do.
func (e *Engine) ready(ctx context.Context) error {
	if e.Handing == nil {
		return nil
	}
	return e.Handing.Ready(ctx)
}

// record records a check in the journal of its site, where there is one.
func (e *Engine) record(ctx context.Context, s site.Site, found Checked) error {
	store, err := e.Journals.OpenExisting(ctx, s.Name)
	if errors.Is(err, journal.ErrNoJournal) {
		return nil
	}
	if err != nil {
		return err
	}
	c := journal.Check{Nodes: len(s.Nodes), Drift: found.Differences(), Unreachable: found.Unreachable}
	return errors.Join(store.RecordCheck(ctx, c), store.Close())
}

// desired returns the tasks of the nodes of a site as the last run left it, or what is wrong with it, a line each. s
// gets the services that are deployed.
func desired(past State, s *site.Site, cache *Cache) (tasks map[string][]task.Task, errs string) {
	s.Nodes = past.Reaching(s.Nodes)
	s.Values, s.Facts = past.of(*s).Values, factsOf(past.Machines)
	transition, found := services.Unchanged(past.Services, *s)
	*s = transition.Site()
	tasks, more := cache.desired(*s)
	return tasks, append(found, more...).Errors().Error()
}

// survey looks at the nodes of a site, at corrected ones in the new way first, and in the old way when that gave no
// answer that counts. Where nothing ever reached a node, the answer says only that the node answers: what the machine
// at the new address has was not applied on that node.
func (e *Engine) survey(ctx context.Context, s site.Site, items map[string][]converge.Item, past State,
	how Inspection) map[string]rollout.NodeSurvey {
	look := func(nodes []site.Node) map[string]rollout.NodeSurvey {
		executor := rollout.Executor(secretive{e.Executor(), how.Secrets})
		defer func() { _ = executor.Close() }() // nothing is lost with a connection after its last answer
		return rollout.Survey(ctx, nodes, items, s.Name, rollout.Options{Executor: executor, Parallelism: how.Parallelism,
			Owner: how.Owner, TakeOver: how.TakeOver})
	}
	now := slices.Clone(s.Nodes)
	for i, n := range s.Nodes {
		if corrected, ok := how.Corrected[n.Name]; ok {
			now[i] = corrected
		}
	}
	before, now := Reach(s.Nodes, how.Connection), Reach(now, how.Connection)
	found := look(now)
	var again []site.Node
	for i, n := range before {
		survey, moved := found[n.Name], now[i].Place() != n.Place()
		_, corrected := how.Corrected[n.Name]
		switch {
		case !corrected:
		case rollout.Unasked(survey.Error) && now[i].Zone == n.Zone: // nobody is there who asks
		case moved && !past.reached(n.Name):
			found[n.Name] = rollout.NodeSurvey{Reachable: survey.Reachable, Error: survey.Error}
		case survey.Error != nil, moved && !survey.Identity.Same(past.Machines[n.Name]):
			again = append(again, n)
		}
	}
	if len(again) == 0 {
		return found
	}
	for name, survey := range look(again) {
		if survey.Error == nil || found[name].Error == nil { // what the corrected connection says is of more use
			found[name] = survey
		}
	}
	return found
}

const ownedElsewhere = "The site is managed by another state"

// refusals says on which nodes the site is that of another state, empty when it is on none.
func refusals(found map[string]rollout.NodeSurvey) string {
	refused := map[string]error{}
	for node, survey := range found {
		var failure *converge.SessionError
		if errors.As(survey.Error, &failure) && failure.Code == converge.CodeOwner {
			refused[node] = failure
		}
	}
	if len(refused) == 0 {
		return ""
	}
	return strings.TrimSpace(Reasons(refused))
}

// driftRoom bounds the texts of what drifted on a node, in bytes: they are in the state. When there are more, of each
// further one only its beginning is.
const driftRoom = 128 << 10

// beginning returns the first line of a text, or the beginning of that, and says how much is left out.
func beginning(text string) string {
	const limit = 200 // bytes
	line, _, _ := strings.Cut(text, "\n")
	line = strings.ToValidUTF8(line[:min(len(line), limit)], "")
	if more := len(text) - len(line); more > 0 {
		line += fmt.Sprintf("\n(%d bytes are left out: the node reports more than %d KiB of drift)", more, driftRoom>>10)
	}
	return line
}

// driftOn returns what of the tasks is applied on a node and no longer as it should be. What is applied in another form
// is left to the next plan, and has drifted when it had before.
func driftOn(node string, survey rollout.NodeSurvey, tasks []task.Task, known []DriftItem) []DriftItem {
	current := make(map[resource.ID]bool, len(tasks))
	for _, t := range tasks {
		current[t.Resource.ID()] = survey.Ledger[t.Resource.ID()] == t.Digest
	}
	var out []DriftItem
	room := driftRoom
	for _, item := range survey.Drift {
		if !current[item.ID] {
			continue
		}
		text := change(item)
		if room -= len(text); room < 0 {
			text = beginning(text)
		}
		out = append(out, DriftItem{node, item.ID, text})
	}
	for _, item := range known {
		if _, applied := survey.Ledger[item.Resource]; applied && item.Node == node && !current[item.Resource] {
			out = append(out, item)
		}
	}
	return out
}

// change says in one line what differs, and shows a text that does below it.
func change(item rollout.DriftItem) string {
	parts := make([]string, 0, len(item.Differences)+1)
	for _, d := range item.Differences {
		parts = append(parts, d.String())
	}
	if item.Message != "" {
		parts = append(parts, item.Message)
	}
	return strings.TrimSuffix(strings.Join(parts, "; ")+"\n"+item.Diff, "\n")
}

// Reasons lists why nodes could not be reached, a line each, sorted, at most 20. The same reason on many nodes is one
// line.
func Reasons(of map[string]error) string {
	alike := rollout.SaidAlike(slices.Sorted(maps.Keys(of)), func(node string) string { return of[node].Error() })
	lines := make([]string, len(alike))
	for i, a := range alike {
		lines[i] = a.Who() + ": " + a.Reason
	}
	return strings.Join(FirstLines(lines), "\n") + "\n"
}
