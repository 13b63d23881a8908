package plugin

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// NodeTask is a graph task that runs on nodes.
type NodeTask struct {
	Plugin site.Plugin
	Index  int // in the plugin's GraphTasks
	Task   site.GraphTask
	Span   Span
	Nodes  []string // sorted, one at least
	Limit  int      // on how many nodes at once, as the groups say that it is a part of; 0 is all
	// After are the works that must have ended before: places in the list that holds this one. What is tied through an
	// anchor is not among them, because the spans keep that.
	After []int
}

// On assigns nodes to the tasks that run on nodes, in an order that keeps every edge. A task without roles has the
// nodes of its groups, and for a group that no plugin brings those with the role of its name. A task without a
// node is left out with a warning; the tasks before and after it keep their order.
func (g *Graph) On(nodes []site.Node) ([]NodeTask, invalid.Errors) {
	var errs invalid.Errors
	members := make(map[string]Place)
	for _, t := range g.tasks {
		if t.Type == Group {
			members[t.ID] = g.placeOf(t, nodes)
		}
	}
	spans := g.spans()
	anchors := make(map[int]bool)
	for _, id := range Anchors() {
		if i, ok := g.index[id]; ok {
			anchors[i] = true
		}
	}
	var out []NodeTask
	placed := make(map[int]int) // task -> its place in out
	for _, i := range g.order {
		t := g.tasks[i]
		if !runsOnNodes(t.Type) {
			continue
		}
		place, attribute := g.placeOf(t, nodes), "role"
		if len(t.Role) == 0 {
			place, attribute = rolePlace(g.roles[i], nodes), "groups"
			for _, group := range g.groups[i] {
				place = place.with(members[g.tasks[group].ID])
			}
		}
		report := func(format string, args ...any) {
			var more invalid.Errors
			more.Warn(attribute, invalid.NoNodes, format, args...)
			errs = append(errs, more.Of("plugin", g.owners[i].plugin.Name, fmt.Sprintf("graph_tasks[%d].", g.owners[i].index))...)
		}
		switch {
		case place.Controller:
			report(onController, fmt.Sprintf("task %q", t.ID))
		case len(place.Nodes) == 0 && attribute == "role":
			report("no node has the role %s, so the task %q is left out", anyOf(t.Role), t.ID)
		case len(place.Nodes) == 0 && len(g.groups[i])+len(g.roles[i]) == 0:
			report("the task %q has neither a role nor a group, so it is left out; give it a role, or \"*\" for all nodes that have one", t.ID)
		case len(place.Nodes) == 0:
			report("no group that the task %q is a part of has a node, so it is left out", t.ID)
		}
		if len(place.Nodes) == 0 {
			continue
		}
		w := NodeTask{Plugin: g.owners[i].plugin, Index: g.owners[i].index, Task: t, Span: spans[i], Nodes: place.Nodes,
			Limit: t.Strategy.Limit()}
		for _, group := range g.groups[i] {
			if limit := g.tasks[group].Strategy.Limit(); limit > 0 && (w.Limit == 0 || limit < w.Limit) {
				w.Limit = limit
			}
		}
		for _, before := range reach(i, g.before, anchors)[1:] {
			if at, ok := placed[before]; ok {
				w.After = append(w.After, at)
			}
		}
		slices.Sort(w.After)
		placed[i] = len(out)
		out = append(out, w)
	}
	return out, errs
}
