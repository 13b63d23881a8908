package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

const (
	titlesShown = 12 // resources of one kind that a step lists
	cutAfter    = 60 // characters of one name or title in a step
)

// Steps describes the plan to a person: its [Plan.Lines], numbered, such as
//
//  1. control-nodes (critical): prepare 3 nodes (ctl1, ctl2, ctl3)
//  2. control-nodes (critical): pre_node: run shell net-1.0/1 on 3 nodes
//  3. management: call command ntp/allocate
//  4. control-nodes (critical): node phase, 1 node at a time between lock and unlock: 6 changes on 3 nodes: create file[/etc/motd] on 3, ...
func (p *Plan) Steps() []string {
	lines := p.Lines()
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%d. %s", i+1, line)
	}
	return lines
}

// Lines describes the plan: one line for each phase, in the order of the run, with counts and titles. A line lists at most 12 resources
// of each kind, more only where overrides change them, and 8 nodes, and cuts long titles. An empty plan has no lines.
func (p *Plan) Lines() []string {
	groups := make(map[string]Group, len(p.Groups))
	for _, g := range p.Groups {
		groups[g.Name] = g
	}
	lines := make([]string, len(p.Phases))
	for i, phase := range p.Phases {
		lines[i] = phase.describe(groups[phase.Group], p.Departed)
	}
	return lines
}

// Part returns the plan with those of its tasks that are wanted, and the phases that have any. It is for showing: it cannot be run.
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

// TornDown returns the nodes that the plan tears down, sorted: those that left the site, and those that are in no group any more.
func (p *Plan) TornDown() []string {
	var nodes []string
	for _, phase := range p.Phases {
		if phase.TaskGroup == task.Cleanup {
			nodes = append(nodes, phase.nodes()...)
		}
	}
	return distinct(nodes)
}

// ChangedNodes returns the nodes on which the run does something, sorted, with those that left the site.
func (p *Plan) ChangedNodes() []string {
	nodes := slices.Clone(p.Departed)
	for _, phase := range p.Phases {
		nodes = append(nodes, phase.nodes()...)
	}
	return distinct(nodes)
}

// nodes returns the nodes of a phase, sorted, as its tasks are. A callback of a service as a whole has none.
func (ph Phase) nodes() []string {
	var nodes []string
	for _, t := range ph.Tasks {
		if t.Node != "" && (len(nodes) == 0 || nodes[len(nodes)-1] != t.Node) {
			nodes = append(nodes, t.Node)
		}
	}
	return nodes
}

// among returns those of some nodes, which are sorted, that the phase works on.
func (ph Phase) among(nodes []string) []string {
	return slices.DeleteFunc(ph.nodes(), func(node string) bool {
		_, found := slices.BinarySearch(nodes, node)
		return !found
	})
}

func (ph Phase) describe(g Group, departed []string) string {
	var parts []string
	if ph.Group != "" {
		name := cut(ph.Group)
		if g.Critical {
			name += " (critical)"
		}
		parts = append(parts, name)
	}
	switch ph.TaskGroup {
	case task.Prepare:
		nodes := ph.nodes()
		return strings.Join(append(parts, fmt.Sprintf("prepare %s (%s)", count(len(nodes), "node"), list(nodes))), ": ")
	case task.Cleanup:
		return strings.Join(append(parts, "cleanup", ph.cleanup(departed)), ": ")
	}
	switch first := ph.Tasks[0]; {
	case first.Action == task.Unlock:
		nodes := ph.nodes()
		told := fmt.Sprintf("unlock %s (%s), left locked by an earlier run", count(len(nodes), "node"), list(nodes))
		return strings.Join(append(parts, string(ph.TaskGroup), told), ": ")
	case first.Kind == task.Remote:
		return strings.Join(append(parts, string(ph.TaskGroup), ph.remote()), ": ")
	case first.Kind == task.Callback:
		return strings.Join(append(parts, string(ph.TaskGroup), "call "+ph.callbacks()), ": ")
	}
	what := string(ph.TaskGroup) + " phase"
	if g.MaxParallel > 0 {
		what += ", " + atOnce(g.MaxParallel)
		if g.Locked {
			what += " between lock and unlock"
			if spared := ph.among(g.Unlocked); len(spared) > 0 {
				what += fmt.Sprintf(", %s (%s) without", count(len(spared), "new node"), list(spared))
			}
		}
	}
	return strings.Join(append(parts, what, changes(ph.Tasks)), ": ")
}

// remote tells what a task does that runs on several nodes: `run shell net-1.0/1 on 3 nodes, 1 node at a time`.
func (ph Phase) remote() string {
	t := ph.Tasks[0]
	told := fmt.Sprintf("%s %s %s%s on %s", t.Action, t.Resource.Type, cut(t.Name), waiting(t), onNodes(ph.nodes()))
	if t.Limit > 0 && t.Limit < len(ph.Tasks) {
		told += ", " + atOnce(t.Limit)
	}
	if t.Tolerate {
		told += "; a failure is a warning"
	}
	return told
}

// callbacks tells which callbacks are called: `command ntp/allocate, http ntp/register for 3 nodes`.
func (ph Phase) callbacks() string {
	var order []string
	nodes := make(map[string][]string)
	for _, t := range ph.Tasks {
		what := t.Resource.Type + " " + cut(t.Resource.Title) + waiting(t)
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

// waiting tells of parameters that are known only when callbacks have returned their values.
func waiting(t task.Task) string {
	if len(t.Pending) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s known in the run)", list(t.Pending))
}

func atOnce(nodes int) string { return count(nodes, "node") + " at a time" }

// cleanup tells which nodes are torn down, those that are still in the site apart.
func (ph Phase) cleanup(departed []string) string {
	var left, ungrouped []string
	for _, node := range ph.nodes() {
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

// change is one thing done to one resource on one or more nodes.
type change struct {
	changeKey
	nodes []string
}

type changeKey struct {
	action     task.Action
	typ, title string
	remark     string // what the title does not tell
	overridden bool   // overrides make the resource or change it, or did so before
}

// remark says that a resource is wanted away, which "create" would hide, which overrides change or make it, or did so before (fuel.md F-10), and what of it is known only when
// callbacks have returned their values, or when Terraform has applied what it is made from.
func remark(t task.Task) string {
	var remarks []string
	if t.Resource.Parameters.String("ensure") == "absent" {
		remarks = append(remarks, "absent")
	}
	if t.Resource.Noop() {
		remarks = append(remarks, "noop")
	}
	if len(t.Override) > 0 && t.Action != task.Refresh {
		remarks = append(remarks, "by override "+list(t.Override))
	}
	if len(t.Overrode) > 0 {
		remarks = append(remarks, "no longer by override "+list(t.Overrode))
	}
	if len(t.Pending) > 0 {
		remarks = append(remarks, list(t.Pending)+" known in the run")
	}
	if unknown := t.Resource.Parameters.Unknown(); len(unknown) > 0 {
		remarks = append(remarks, list(unknown)+" known after apply")
	}
	if len(remarks) == 0 {
		return ""
	}
	return " (" + strings.Join(remarks, ", ") + ")"
}

// overridden reports whether a task is what it is because of overrides, or because there are none any more.
func overridden(t task.Task) bool {
	return len(t.Override)+len(t.Overrode) > 0 && t.Action != task.Refresh
}

// How steps show two things that change nothing on a node: the entry for an action of a plugin goes, of which nothing is undone; and a resource that has
// noop is only looked at.
const (
	forget task.Action = "forget"
	check  task.Action = "check"
)

// changes describes what tasks do, in the order in which they do it: `3 changes on 2 nodes: create file[/a] on 2, refresh service[c] on n1, remove file[/b] on n1`. Refreshing,
// forgetting and checking change nothing by themselves, and are not counted.
func changes(tasks []task.Task) string {
	n, nodes := 0, Phase{Tasks: tasks}.nodes()
	all := gather(tasks)
	var touched []string
	for _, c := range all {
		if c.action != task.Refresh && c.action != forget && c.action != check {
			n += len(c.nodes)
			touched = append(touched, c.nodes...)
		}
	}
	listed := listChanges(all, len(nodes))
	switch {
	case n > 0:
		return fmt.Sprintf("%s on %s: %s", count(n, "change"), onNodes(distinct(touched)), listed)
	case len(nodes) == 1:
		return listed + " on " + onNodes(nodes)
	}
	return listed
}

// distinct returns names sorted, each once.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func onNodes(nodes []string) string {
	if len(nodes) == 1 {
		return "node " + cut(nodes[0])
	}
	return count(len(nodes), "node")
}

// gather unites the tasks that do the same on several nodes, by action and resource. What comes first on any node stands first, unless nodes disagree.
func gather(tasks []task.Task) []change {
	index := make(map[changeKey]int)
	var out []change
	var after [][]int // change -> those that come right before it on some node
	last := -1
	for i, t := range tasks {
		action := t.Action
		switch {
		case action == task.Remove && isAction(t.Resource.Type):
			action = forget
		case t.Resource.Noop():
			action = check
		}
		k := changeKey{action, t.Resource.Type, t.Resource.Title, remark(t), overridden(t)}
		this, ok := index[k]
		if !ok {
			this = len(out)
			index[k] = this
			out = append(out, change{changeKey: k})
			after = append(after, nil)
		}
		out[this].nodes = append(out[this].nodes, t.Node)
		if i > 0 && tasks[i-1].Node == t.Node {
			after[this] = append(after[this], last)
		}
		last = this
	}
	ordered, seen := make([]change, 0, len(out)), make([]bool, len(out))
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

// listChanges lists changes of a phase that works on so many nodes, the action where it is another one than before. Of each kind, an action on resources of one type, the first ones are
// listed, and all that overrides change; the others are counted.
func listChanges(changes []change, nodes int) string {
	var parts []string
	var action task.Action
	var kinds counts
	for _, c := range changes {
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

// counts says of many things of several kinds which are listed: the first ones of each kind.
type counts struct {
	order  []string // the kinds that have more, as formats of a number
	number map[string]int
}

// past counts one of a kind, and reports whether it is one of those that are only counted. One that is always listed is not.
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

// rest says how many are not listed: ` and 5 more (create 3 file, remove 2 package)`; nothing when all are.
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

// cut shortens a long name, and makes one line of it.
func cut(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= cutAfter {
		return string(r)
	}
	return string(r[:cutAfter-1]) + "…"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
