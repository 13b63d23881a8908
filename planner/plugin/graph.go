package plugin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Graph is the graph tasks of all plugins, connected: requires -> task, task -> required_for, task -> the groups that
// it names, tasks of a group -> group (fuel.md A7). Tasks keep the order in which they were given wherever the edges
// leave a choice.
type Graph struct {
	tasks  []site.GraphTask
	owners []origin
	index  map[string]int
	before [][]int    // distinct
	after  [][]int    // distinct
	groups [][]int    // that each task is a part of, distinct
	roles  [][]string // of nodes, for groups that no plugin brings
	order  []int
}

// NewGraph connects the graph tasks of plugins and the [Anchors]. A reference to a task that no plugin defines, an id
// that two plugins define, and a cycle are errors. A plugin with AllowUnknownTasks may refer to such a task: the
// reference falls away with a warning, and a group that no plugin defines means the nodes with the role of its name.
// Warnings come with the graph; with errors there is none.
func NewGraph(plugins []site.Plugin) (*Graph, invalid.Errors) {
	b := &builder{Graph: &Graph{index: make(map[string]int)}, edges: make(map[[2]int]bool),
		unknown: make(map[relationTo]int), loose: make(map[[2]int]relation)}
	b.errs = validate(plugins)
	for _, p := range plugins {
		for i, t := range p.GraphTasks {
			if first, ok := b.index[t.ID]; ok {
				if owner := b.owners[first]; owner.plugin.FullName() != p.FullName() {
					b.report(origin{p, i}, "id", invalid.Duplicate, false,
						"the plugin %q has a task %q too; give each an id of its own", owner.plugin.Name, t.ID)
				}
				continue // reported by validate when it is in one plugin
			}
			b.index[t.ID] = len(b.tasks)
			b.tasks = append(b.tasks, t)
			b.owners = append(b.owners, origin{p, i})
		}
	}
	b.addAnchors()
	b.before, b.after, b.groups = make([][]int, len(b.tasks)), make([][]int, len(b.tasks)), make([][]int, len(b.tasks))
	b.roles = make([][]string, len(b.tasks))
	b.connect()
	b.reportIdle()
	b.chainAnchors()
	b.dropGroupRelations()
	b.sort()
	if len(b.errs.Errors()) > 0 {
		return nil, b.errs
	}
	return b.Graph, b.errs
}

// origin is where a task is written.
type origin struct {
	plugin site.Plugin
	index  int // in the plugin's GraphTasks
}

type builder struct {
	*Graph
	edges   map[[2]int]bool
	errs    invalid.Errors
	unknown map[relationTo]int // tasks that no plugin brings -> the warning that says so, in errs
	// relations of tasks to groups that fall away where they make a cycle -> the task that has them
	loose map[[2]int]relation
}

// relationTo is what tasks name.
type relationTo struct {
	name  string
	group bool // in the list groups
}

// relation is where a task names another one.
type relation struct {
	task      int
	attribute string
}

func (b *builder) report(o origin, attribute string, code invalid.Code, warning bool, format string, args ...any) {
	b.errs = append(b.errs, invalid.Error{Object: "plugin", Name: o.plugin.Name,
		Attribute: fmt.Sprintf("graph_tasks[%d].%s", o.index, attribute), Code: code, Warning: warning,
		Message: fmt.Sprintf(format, args...)})
}

func (b *builder) edge(from, to int) {
	if !b.edges[[2]int{from, to}] {
		b.edges[[2]int{from, to}] = true
		b.after[from] = append(b.after[from], to)
		b.before[to] = append(b.before[to], from)
	}
}

func (b *builder) connect() {
	var groups, ids []string
	for _, t := range b.tasks {
		ids = append(ids, t.ID)
		if t.Type == Group {
			groups = append(groups, t.ID)
		}
	}
	for i, t := range b.tasks {
		for _, list := range []struct {
			attribute, verb string
			names           []string
			first           bool // what is named comes before the task
			parts           bool // what is named is a part of the task
		}{
			{"requires", "requires", t.Requires, true, false},
			{"required_for", "is required for", t.RequiredFor, false, false},
			{"tasks", "has the task", t.Tasks, true, true},
		} {
			for j, name := range list.names {
				others := b.named(i, name)
				if len(others) == 0 {
					b.missing(i, invalid.PathAt(list.attribute, j), list.verb, name, ids)
				}
				for _, other := range others {
					from, to := other, i
					if !list.first {
						from, to = i, other
					}
					if list.parts {
						b.part(other, i)
					}
					toGroup := t.Type != Group && b.tasks[other].Type == Group
					if edge := [2]int{from, to}; toGroup && b.owners[i].plugin.AllowUnknownTasks && !b.edges[edge] {
						b.loose[edge] = relation{i, invalid.PathAt(list.attribute, j)}
					}
					b.edge(from, to)
				}
			}
		}
		b.joinGroups(i, groups)
	}
}

// named returns the tasks that a name in a task means: the one with the id, or those that a /regex/ matches, without
// the task itself (fuel.md A7).
func (b *builder) named(task int, name string) (others []int) {
	if other, ok := b.index[name]; ok {
		return []int{other}
	}
	pattern, err := site.ParseRolePattern(name)
	if err != nil {
		return nil // reported by validate
	}
	for other, t := range b.tasks {
		if other != task && pattern.Matches(t.ID) {
			others = append(others, other)
		}
	}
	return others
}

// part records that a task is part of a group.
func (b *builder) part(task, group int) {
	if !slices.Contains(b.groups[task], group) {
		b.groups[task] = append(b.groups[task], group)
	}
}

// joinGroups makes a task part of the groups that it names.
func (b *builder) joinGroups(i int, groups []string) {
	t := b.tasks[i]
	for j, text := range t.Groups {
		attribute := fmt.Sprintf("groups[%d]", j)
		pattern, err := site.ParseRolePattern(text)
		if err != nil {
			continue // reported by validate
		}
		found := false
		for _, g := range groups {
			if pattern.Matches(g) {
				found = true
				b.edge(i, b.index[g])
				b.part(i, b.index[g])
			}
		}
		if found {
			continue
		}
		if other, isTask := b.index[text]; isTask {
			b.edge(i, other) // it has no parts, but an order (fuel.md A7)
			b.report(b.owners[i], attribute, invalid.NoEffect, true,
				"%q has the type %s and no nodes of its own, so the task %q only comes before it; name a task of the type group",
				text, b.tasks[other].Type, t.ID)
		} else {
			b.missing(i, attribute, "is a part of", text, groups)
			b.roles[i] = append(b.roles[i], text)
		}
	}
}

// missing reports a task that no plugin brings: an error, or one warning for all that name it.
func (b *builder) missing(i int, attribute, verb, name string, known []string) {
	meant := ""
	if len(b.errs) < resource.MostHints {
		meant = resource.DidYouMean(name, resource.Others(known, b.tasks[i].ID))
	}
	if !b.owners[i].plugin.AllowUnknownTasks {
		b.report(b.owners[i], attribute, UnknownTask, false, "the task %q %s %q, which does not exist%s", b.tasks[i].ID,
			verb, name, cmp.Or(meant, "; no plugin brings such a task"))
		return
	}
	list, _, _ := strings.Cut(attribute, "[")
	says := fmt.Sprintf("%s of %q", list, b.tasks[i].ID)
	which := relationTo{name, list == "groups"}
	if at, ok := b.unknown[which]; ok {
		if len(b.errs[at].Message) < longestWarning {
			b.errs[at].Message += ", " + says
		}
		return
	}
	b.unknown[which] = len(b.errs)
	if which.group {
		b.report(b.owners[i], attribute, UnknownTask, true,
			"no plugin brings the group %q%s; it stands for the nodes with that role: %s", name, meant, says)
		return
	}
	b.report(b.owners[i], attribute, UnknownTask, true,
		"no plugin brings the task %q%s; what names it orders nothing: %s", name, meant, says)
}

// longestWarning bounds what a warning lists, in bytes.
const longestWarning = 2000

// reportIdle warns of tasks that Fuel carries out and slipway does not.
func (b *builder) reportIdle() {
	for i, t := range b.tasks {
		if Idle(t.Type) {
			b.report(b.owners[i], "type", invalid.NoEffect, true,
				"the task %q has the type %s, which slipway does not carry out: it only keeps its place in the order", t.ID, t.Type)
		}
	}
}

// dropGroupRelations drops what tasks of Fuel's plugins say of groups where it makes a cycle: for Fuel's later executor
// a group is no task, so such a relation orders nothing there (nailgun, lcm/transaction_serializer.py).
func (b *builder) dropGroupRelations() {
	for round, dropped := 0, true; dropped && len(b.loose) > 0 && round < maxRounds; round++ {
		dropped = false
		for _, cycle := range digraph.Of(b.after).Cycles() {
			for j, from := range cycle {
				edge := [2]int{from, cycle[(j+1)%len(cycle)]}
				at, loose := b.loose[edge]
				if !loose {
					continue
				}
				dropped = true
				delete(b.loose, edge)
				b.after[edge[0]] = slices.DeleteFunc(b.after[edge[0]], func(to int) bool { return to == edge[1] })
				b.before[edge[1]] = slices.DeleteFunc(b.before[edge[1]], func(from int) bool { return from == edge[0] })
				b.report(b.owners[at.task], at.attribute, invalid.Cycle, true,
					"what the task %q says of a group would make tasks wait for each other: it orders nothing, as in Fuel since version 9", b.tasks[at.task].ID)
			}
		}
	}
}

// maxRounds bounds how often cycles are sought; what is left is an error.
const maxRounds = 100

// sort orders the tasks and reports cycles.
func (b *builder) sort() {
	b.order = digraph.Of(b.before).Order()
	for _, cycle := range digraph.Of(b.after).Cycles() {
		names := make([]string, 0, len(cycle)+1)
		for _, i := range append(cycle, cycle[0]) {
			names = append(names, fmt.Sprintf("%q", b.tasks[i].ID))
		}
		b.report(b.owners[cycle[0]], "requires", invalid.Cycle, false,
			"tasks wait for each other: %s; remove one of these relations", strings.Join(names, " before "))
	}
}

// Tasks returns all tasks that plugins bring in an order that keeps every edge; where edges leave a choice, in the
// order given.
func (g *Graph) Tasks() []site.GraphTask {
	return g.chosen(func(int) bool { return true })
}

// chosen returns those of Tasks whose index is selected.
func (g *Graph) chosen(is func(at int) bool) []site.GraphTask {
	out := make([]site.GraphTask, 0, len(g.order))
	for _, at := range g.order {
		if g.owners[at].index != implicit && is(at) {
			out = append(out, g.tasks[at])
		}
	}
	return out
}

// Before returns the ids of the tasks directly before a task, in the order given; nil for an unknown id.
func (g *Graph) Before(id string) []string {
	ids := []string{}
	i, ok := g.index[id]
	if !ok {
		return ids
	}
	before := slices.Clone(g.before[i])
	slices.Sort(before)
	for _, at := range before {
		ids = append(ids, g.tasks[at].ID)
	}
	return ids
}

// Part returns the tasks of [Graph.Tasks] from start up to end, both included. An empty start or end is no bound. An
// unknown id is an error.
func (g *Graph) Part(start, end string) ([]site.GraphTask, error) {
	in := make([]int, len(g.tasks))
	bounds := 0
	for _, bound := range []struct {
		id    string
		edges [][]int
	}{{start, g.after}, {end, g.before}} {
		if bound.id == "" {
			continue
		}
		i, ok := g.index[bound.id]
		if !ok {
			return nil, fmt.Errorf("there is no task %q%s", bound.id,
				resource.DidYouMean(bound.id, slices.Sorted(maps.Keys(g.index))))
		}
		bounds++
		for _, at := range reach(i, bound.edges, nil) {
			in[at]++
		}
	}
	return g.chosen(func(at int) bool { return in[at] == bounds }), nil
}

// reach returns a task and all that can be reached from it on paths that avoid the tasks in stop.
func reach(start int, edges [][]int, stop map[int]bool) []int {
	seen := map[int]bool{start: true}
	out := []int{start}
	for next := 0; next < len(out); next++ {
		for _, to := range edges[out[next]] {
			if !seen[to] && !stop[to] {
				seen[to] = true
				out = append(out, to)
			}
		}
	}
	return out
}
