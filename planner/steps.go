package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

const (
	titlesShown = 12 // so many resources of one kind are listed in a step
	groupsApart = 3  // so many groups in a row that do the same have steps of their own
)

// Steps returns [Plan.Lines] with numbers, such as
//
//  1. control-nodes (critical): prepare 3 nodes (ctl1, ctl2, ctl3)
//  2. control-nodes (critical): pre_node: run shell net-1.0/1 on 3 nodes
//  3. management: call command ntp/allocate
//  4. control-nodes (critical): node phase, 1 node at a time between lock and unlock: 6 changes on 3 nodes: ...
func (p *Plan) Steps() []string {
	lines := p.Lines()
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%d. %s", i+1, line)
	}
	return lines
}

// Lines describes the plan: one line for each phase and each batch, in the order of the run, with counts and titles. A
// line lists at most 12 resources of each kind, more only where overrides change them, and 8 nodes, and cuts long
// titles. More than 3 groups in a row that do the same share one line with all their names. An empty plan has no lines.
func (p *Plan) Lines() []string {
	groups := make(map[string]Group, len(p.Groups))
	for _, g := range p.Groups {
		groups[g.Name] = g
	}
	batched := make(map[string][]string) // group -> its nodes that are worked on in batches
	for _, phase := range p.Phases {
		if phase.inBatches() && len(groups[phase.Group].Batches) > 0 {
			batched[phase.Group] = append(batched[phase.Group], phase.nodeNames()...)
		}
	}
	lines := make([]string, 0, len(p.Phases))
	for _, b := range p.blocks(groups) {
		if len(b.groups) > groupsApart {
			lines = append(lines, b.describe(p.EndAtPause))
			continue
		}
		for _, phase := range slices.Concat(b.phases...) {
			g := groups[phase.Group]
			if phase.inBatches() {
				lines = append(lines, g.describeBatches(distinct(batched[phase.Group]), p.EndAtPause)...)
				delete(batched, phase.Group)
			}
			lines = append(lines, phase.describe(g, p.Departed)+phase.maintenance(g, p.EndAtPause))
		}
	}
	if len(lines) > 0 && p.MayFail != nil {
		lines[0] += fmt.Sprintf("; failure budget: nothing new is started in any group once more than %s failed",
			resource.Count(*p.MayFail, "node"))
	}
	return lines
}

// block is the phases of a group, one after another, or those of several groups in a row that do the same.
type block struct {
	does   string // what the group does, without names of nodes; empty where nothing else counts as the same
	groups []Group
	phases [][]Phase // of each group
}

func (p *Plan) blocks(groups map[string]Group) (out []block) {
	for from, to := 0, 0; from < len(p.Phases); from = to {
		g := groups[p.Phases[from].Group]
		for to = from + 1; to < len(p.Phases) && g.Name != "" && p.Phases[to].Group == g.Name; {
			to++
		}
		phases := p.Phases[from:to]
		b := block{does(g, phases), []Group{g}, [][]Phase{phases}}
		if last := len(out) - 1; last >= 0 && b.does != "" && out[last].does == b.does {
			out[last].groups, out[last].phases = append(out[last].groups, g), append(out[last].phases, phases)
			continue
		}
		out = append(out, b)
	}
	return out
}

// does returns what a group does on all nodes of each phase alike; empty where it depends on the node, or on how many
// nodes there are.
func does(g Group, phases []Phase) string {
	if g.Name == "" || len(g.Batches)+len(g.Order)+len(g.Unlocked) > 0 {
		return ""
	}
	text := fmt.Sprint(g.Critical, g.Stops, g.MaxParallel, g.Locked, g.Maintenance)
	for _, phase := range phases {
		t, nodes := phase.Tasks[0], len(phase.nodeNames())
		if t.Kind == task.Callback || t.Limit > 0 {
			return ""
		}
		text += fmt.Sprintf("\n%s %s %v", phase.TaskGroup, t.Name, t.Tolerate)
		for _, c := range gather(phase.Tasks) {
			if len(c.nodes) < nodes {
				return ""
			}
			text += fmt.Sprintf(" %+v", c.changeKey)
		}
	}
	return text
}

// describe describes what several groups do, each by itself.
func (b block) describe(ends bool) string {
	names, does := make([]string, len(b.groups)), make([]string, len(b.phases[0]))
	for i, g := range b.groups {
		names[i] = cut(g.Name)
	}
	for i, phase := range b.phases[0] {
		all := Phase{TaskGroup: phase.TaskGroup}
		for _, phases := range b.phases {
			all.Tasks = append(all.Tasks, phases[i].Tasks...)
		}
		does[i] = all.describe(b.groups[0], nil) + all.maintenance(b.groups[0], ends)
	}
	title := strings.Join(names, ", ")
	if b.groups[0].Critical {
		title += " (critical)"
	}
	return title + ", each by itself: " + strings.Join(does, "; then ")
}

// Part returns the plan with only the tasks that wanted selects, and the phases that have any. The result is for
// display and cannot be run.
func (p *Plan) Part(wanted func(task.Task) bool) *Plan {
	out := *p
	out.Phases = nil
	for _, phase := range p.Phases {
		tasks := slices.DeleteFunc(slices.Clone(phase.Tasks), func(t task.Task) bool { return !wanted(t) })
		if len(tasks) > 0 {
			out.Phases = append(out.Phases, Phase{TaskGroup: phase.TaskGroup, Group: phase.Group, Tasks: tasks})
		}
	}
	return &out
}

// LeaveOutBatches leaves out the batches of groups that are open: it is not certain on which nodes they have tasks.
func (p *Plan) LeaveOutBatches(open func(Group) bool) {
	p.Groups = slices.Clone(p.Groups)
	for i, g := range p.Groups {
		if open(g) {
			p.Groups[i].Batches, p.Groups[i].Pauses = nil, nil
		}
	}
}

// TornDown returns the nodes that the plan tears down, sorted: those that left the site, and those that left every
// group.
func (p *Plan) TornDown() []string {
	var nodes []string
	for _, phase := range p.Phases {
		if phase.TaskGroup == task.Cleanup {
			nodes = append(nodes, phase.nodeNames()...)
		}
	}
	return distinct(nodes)
}

// ChangedNodes returns the nodes on which the run does something, sorted. Nodes that left the site are included.
func (p *Plan) ChangedNodes() []string {
	nodes := slices.Clone(p.Departed)
	for _, phase := range p.Phases {
		nodes = append(nodes, phase.nodeNames()...)
	}
	return distinct(nodes)
}

// among returns those of the given nodes, which must be sorted, on which the phase does something.
func (ph Phase) among(nodes []string) []string {
	return slices.DeleteFunc(ph.nodeNames(), func(node string) bool {
		_, found := slices.BinarySearch(nodes, node)
		return !found
	})
}

// ordered returns the nodes of the phase in the order of their group; none when it has no order. Nodes that are not
// locked come last.
func (ph Phase) ordered(g Group) []string {
	nodes := ph.nodeNames()
	var locked, others []string
	for _, node := range g.Order {
		_, without := slices.BinarySearch(g.Unlocked, node)
		switch {
		case !slices.Contains(nodes, node):
		case without:
			others = append(others, node)
		default:
			locked = append(locked, node)
		}
	}
	return append(locked, others...)
}

func (ph Phase) describe(g Group, departed []string) string {
	var parts []string
	if ph.Group != "" {
		parts = append(parts, g.stepTitle())
	}
	if first := ph.Tasks[0]; ph.inBatches() && len(g.Batches) > 1 {
		switch {
		case first.Node == "":
			parts = append(parts, "after the last batch")
		case first.Action == task.Unlock:
			parts = append(parts, "before the first batch")
		default:
			parts = append(parts, "each batch")
		}
	}
	switch ph.TaskGroup {
	case task.Prepare:
		nodes := ph.nodeNames()
		what := fmt.Sprintf("prepare %s (%s)", resource.Count(len(nodes), "node"), list(nodes))
		if g.Stops {
			what += "; no further node is started once the criteria cannot be met"
		}
		if len(g.Batches) > 0 {
			what += "; no further batch is started once one has failed"
		}
		return strings.Join(append(parts, what), ": ")
	case task.Cleanup:
		return strings.Join(append(parts, "cleanup", ph.cleanup(departed)), ": ")
	}
	switch first := ph.Tasks[0]; {
	case first.Action == task.Unlock:
		nodes := ph.nodeNames()
		text := fmt.Sprintf("unlock %s (%s), left locked by an earlier run", resource.Count(len(nodes), "node"), list(nodes))
		return strings.Join(append(parts, string(ph.TaskGroup), text), ": ")
	case first.Action == task.HealthCheck:
		return strings.Join(append(parts, string(ph.TaskGroup), ph.describeChecks()), ": ")
	case first.Kind == task.Remote:
		return strings.Join(append(parts, string(ph.TaskGroup), ph.remote()), ": ")
	case first.Kind == task.Callback:
		return strings.Join(append(parts, string(ph.TaskGroup), "call "+ph.describeCallbacks()), ": ")
	}
	what := string(ph.TaskGroup) + " phase"
	if g.MaxParallel > 0 {
		what += ", " + atOnce(g.MaxParallel)
		if g.Locked {
			what += " between lock and unlock"
			if spared := ph.among(g.Unlocked); len(spared) > 0 {
				what += fmt.Sprintf(", %s (%s) without", resource.Count(len(spared), "new node"), list(spared))
			}
		}
		if order := ph.ordered(g); len(order) > 1 {
			what += ", in the order " + list(order)
		}
	}
	return strings.Join(append(parts, what, describeChanges(ph.Tasks)), ": ")
}

// remote describes a task that runs on several nodes: `run shell net-1.0/1 on 3 nodes, 1 node at a time`.
func (ph Phase) remote() string {
	t := ph.Tasks[0]
	text := fmt.Sprintf("%s %s %s%s on %s", t.Action, t.Resource.Type, cut(t.Name), waitingFor(t), onNodes(ph.nodeNames()))
	if t.Limit > 0 && t.Limit < len(ph.Tasks) {
		text += ", " + atOnce(t.Limit)
	}
	if t.Tolerate {
		text += "; a failure is a warning"
	}
	return text
}

// describeCallbacks describes which callbacks are called: `command ntp/allocate, http ntp/register for 3 nodes`.
func (ph Phase) describeCallbacks() string {
	var order []string
	nodes := make(map[string][]string)
	for _, t := range ph.Tasks {
		what := t.Resource.Type + " " + cut(t.Resource.Title) + waitingFor(t)
		if t.Tolerate {
			what += " (a failure is a warning)"
		}
		if _, ok := nodes[what]; !ok {
			order = append(order, what)
		}
		nodes[what] = append(nodes[what], t.Node)
	}
	var parts []string
	var kinds counts
	for _, what := range order {
		typ, _, _ := strings.Cut(what, " ")
		if kinds.past("%d "+typ, false) {
			continue
		}
		if on := nodes[what]; on[0] != "" {
			what += " for " + onNodes(on)
		}
		parts = append(parts, what)
	}
	return strings.Join(parts, ", ") + kinds.rest()
}

// waitingFor names the parameters that are known only after callbacks have returned their values.
func waitingFor(t task.Task) string {
	if len(t.Pending) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s known in the run)", list(t.Pending))
}

func atOnce(nodes int) string { return resource.Count(nodes, "node") + " at a time" }

// cleanup describes which nodes are torn down. Nodes that are still in the site are listed apart.
func (ph Phase) cleanup(departed []string) string {
	var left, ungrouped []string
	for _, node := range ph.nodeNames() {
		if _, gone := slices.BinarySearch(departed, node); gone {
			left = append(left, node)
		} else {
			ungrouped = append(ungrouped, node)
		}
	}
	var parts []string
	if len(left) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s", task.Forget, list(left)))
	}
	if len(ungrouped) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s (in no group any more)", task.Forget, list(ungrouped)))
	}
	return strings.Join(parts, "; ")
}

// listedChange is one thing done to one resource on one or more nodes.
type listedChange struct {
	changeKey
	nodes []string
}

type changeKey struct {
	action     task.Action
	typ, title string
	remark     string // see [remark]
	overridden bool   // overrides make the resource or change it, or did so before
}

// remark returns what a title does not say: that the resource is to be absent, or has noop or guard; which services
// share it; which overrides change or create it, or did so before (fuel.md F-10); that another title takes over what is
// removed; that nothing runs a command; which parameters are known only after callbacks, or after Terraform, have
// returned their values.
func remark(t task.Task) string {
	var remarks []string
	if t.Resource.Parameters.String("ensure") == "absent" {
		remarks = append(remarks, "absent")
	}
	if t.Resource.Noop() {
		remarks = append(remarks, "noop")
	}
	if len(t.Shared) > 0 && t.Action != task.Refresh {
		remarks = append(remarks, "brought by "+list(t.Owners()))
	}
	if t.Resource.Guard() && t.Action != task.Refresh {
		remarks = append(remarks, "guard")
	}
	if len(t.Override) > 0 && t.Action != task.Refresh {
		remarks = append(remarks, "by override "+list(t.Override))
	}
	if len(t.Overrode) > 0 {
		remarks = append(remarks, "no longer by override "+list(t.Overrode))
	}
	if t.TakenOver {
		remarks = append(remarks, "another title takes it over")
	}
	if t.Unnotified {
		remarks = append(remarks, "only a notification runs it")
	}
	if len(t.Pending) > 0 {
		remarks = append(remarks, list(t.Pending)+" known in the run")
	}
	if a := t.Awaited; a != nil {
		remarks = append(remarks, list(a.Parameters)+" known in the run, from "+list(a.Facts)+" of the node")
	}
	if unknown := t.Resource.Parameters.Unknown(); len(unknown) > 0 {
		remarks = append(remarks, list(unknown)+" known after apply")
	}
	if len(remarks) == 0 {
		return ""
	}
	return " (" + strings.Join(remarks, ", ") + ")"
}

// overridden reports whether overrides change or create the task's resource, or did so before.
func overridden(t task.Task) bool {
	return len(t.Override)+len(t.Overrode) > 0 && t.Action != task.Refresh
}

// How steps show what changes nothing on a node: an entry goes of which nothing is undone; a resource that has noop is
// only looked at; the ledger gets a command that nothing runs.
const (
	forget task.Action = "forget"
	check  task.Action = "check"
	record task.Action = "record"
)

// forgets reports whether the removal of a task undoes nothing: it is an action of a plugin, or was only ever looked
// at.
func forgets(t task.Task) bool { return isAction(t.Resource.Type) || t.Resource.Noop() }

// describeChanges returns what tasks do, in their order: `3 changes on 2 nodes: create file[/a] on 2, refresh
// service[c] on n1, remove file[/b] on n1`. Refreshing, and what changes nothing, is listed and not counted.
func describeChanges(tasks []task.Task) string {
	n, nodes := 0, Phase{Tasks: tasks}.nodeNames()
	all := gather(tasks)
	var touched []string
	for _, c := range all {
		if !slices.Contains([]task.Action{task.Refresh, forget, check, record}, c.action) {
			n += len(c.nodes)
			touched = append(touched, c.nodes...)
		}
	}
	listed := listChanges(all, len(nodes))
	switch {
	case n > 0:
		return fmt.Sprintf("%s on %s: %s", resource.Count(n, "change"), onNodes(distinct(touched)), listed)
	case len(nodes) == 1:
		return listed + " on " + onNodes(nodes)
	}
	return listed
}

// gather merges the tasks that do the same on several nodes, by action and resource. A command is run, whether it is
// new or not; one that only a notification runs is refreshed, and recorded where nothing notifies it. The result keeps
// the order of the nodes where they agree.
func gather(tasks []task.Task) []listedChange {
	index := make(map[changeKey]int)
	var out []listedChange
	var after [][]int // change -> those that come right before it on some node
	last := -1
	for i, t := range tasks {
		action := t.Action
		switch {
		case action == task.Remove && forgets(t):
			action = forget
		case t.Resource.Noop():
			action = check
		case t.Unnotified:
			action = record
		case t.Resource.Type == "exec" && action != task.Remove:
			if action = task.Run; t.Action == task.Refresh || t.Resource.Parameters.Bool("refreshonly") {
				action = task.Refresh
			}
		}
		k := changeKey{action, t.Resource.Type, t.Resource.Title, remark(t), overridden(t)}
		this, ok := index[k]
		if !ok {
			this = len(out)
			index[k] = this
			out = append(out, listedChange{changeKey: k})
			after = append(after, nil)
		}
		out[this].nodes = append(out[this].nodes, t.Node)
		if i > 0 && tasks[i-1].Node == t.Node {
			after[this] = append(after[this], last)
		}
		last = this
	}
	ordered, seen := make([]listedChange, 0, len(out)), make([]bool, len(out))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, before := range after[i] {
			visit(before)
		}
		ordered = append(ordered, out[i])
	}
	for i := range out {
		visit(i)
	}
	return ordered
}

// listChanges lists the changes of a phase on so many nodes. An action is printed once for the changes that follow it.
// Of each action and type the first 12 are listed, and all that overrides change; the rest is counted.
func listChanges(entries []listedChange, nodes int) string {
	var parts []string
	var action task.Action
	var kinds counts
	for _, c := range entries {
		if kinds.past(fmt.Sprintf("%s %%d %s", c.action, c.typ), c.overridden) {
			continue
		}
		s := fmt.Sprintf("%s[%s]%s", c.typ, cut(c.title), c.remark)
		if c.action != action {
			action = c.action
			s = string(action) + " " + s
		}
		switch {
		case nodes == 1:
		case len(c.nodes) == 1:
			s += " on " + cut(c.nodes[0])
		default:
			s += fmt.Sprintf(" on %d", len(c.nodes))
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ") + kinds.rest()
}

// counts decides which of many things of several kinds are listed: the first 12 of each kind.
type counts struct {
	order  []string // the kinds that have more, as formats of a number
	number map[string]int
}

// past counts one thing of a kind and reports whether it is only counted, not listed. One with always is always listed.
func (c *counts) past(kind string, always bool) bool {
	if always {
		return false
	}
	if c.number == nil {
		c.number = make(map[string]int)
	}
	c.number[kind]++
	if c.number[kind] == titlesShown+1 {
		c.order = append(c.order, kind)
	}
	return c.number[kind] > titlesShown
}

// rest describes what is not listed: ` and 5 more (create 3 file, remove 2 package)`; empty when everything is listed.
func (c *counts) rest() string {
	more, parts := 0, make([]string, len(c.order))
	for i, kind := range c.order {
		n := c.number[kind] - titlesShown
		more += n
		parts[i] = fmt.Sprintf(kind, n)
	}
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more (%s)", more, strings.Join(parts, ", "))
}
