package plugin

import (
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
	before [][]int // distinct
	after  [][]int // distinct
	groups [][]int // that each task is a part of, distinct
	order  []int
}

// NewGraph connects the graph tasks of plugins and the [Anchors]. A reference to a task that no plugin defines, an id
// that two plugins define, and a cycle are errors. Warnings come with the graph; with errors there is none.
func NewGraph(plugins []site.Plugin) (*Graph, invalid.Errors) {
	b := &builder{Graph: &Graph{index: make(map[string]int)}, edges: make(map[[2]int]bool)}
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
	b.connect()
	b.chainAnchors()
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
	edges map[[2]int]bool
	errs  invalid.Errors
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
				other, ok := b.index[name]
				switch {
				case !ok:
					b.missing(i, fmt.Sprintf("%s[%d]", list.attribute, j), list.verb, name, ids)
				case list.first:
					b.edge(other, i)
					if list.parts {
						b.part(other, i)
					}
				default:
					b.edge(i, other)
				}
			}
		}
		b.joinGroups(i, groups)
	}
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
		}
	}
}

func (b *builder) missing(i int, attribute, verb, name string, known []string) {
	hint := "; no plugin brings such a task"
	if len(b.errs) < resource.MostHints {
		if meant := resource.DidYouMean(name, resource.Others(known, b.tasks[i].ID)); meant != "" {
			hint = meant
		}
	}
	b.report(b.owners[i], attribute, UnknownTask, false, "the task %q %s %q, which does not exist%s", b.tasks[i].ID,
		verb, name, hint)
}

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
