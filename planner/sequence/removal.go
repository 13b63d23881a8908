package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Dropping is the resource type of the tasks that take the resources of a removed item out of a node's catalog (litp.md 128 b).
const Dropping = "drop"

// addRemoval makes the tasks that let removed items go, where no returned task does it (litp.md 128).
func (p *pipeline) addRemoval() {
	removed := p.model.Removed()
	if len(removed) == 0 {
		return
	}
	planned := make(map[string]bool, len(p.works)) // items
	defined := make(map[resourceOn]bool, len(p.works))
	for i := range p.works {
		w := &p.works[i]
		planned[w.Item] = true
		if w.config() {
			defined[w.where()] = true
		}
	}
	known := make(map[string][]*Work) // by item: what earlier plans put on nodes
	for _, list := range [][]Work{p.Remembered, p.Lost} {
		for i := range list {
			if w := &list[i]; w.config() {
				known[w.Item] = append(known[w.Item], w)
			}
		}
	}
	for _, path := range removed {
		if !planned[path] {
			p.removeItem(path, known[path], defined)
		}
	}
}

// removeItem adds, for each node that has resources of the item, a task that drops those which no task of the plan defines again; and a
// cleanup where there is nothing to drop.
func (p *pipeline) removeItem(path string, known []*Work, defined map[resourceOn]bool) {
	it := p.model.item(path)
	if it.isA(p.Rules.NoDrop...) {
		known = nil
	}
	cleanup, dropped := false, false
	var nodes []string
	for _, w := range known {
		if !slices.Contains(nodes, w.Node) && (it.Node == "" || it.Node == w.Node) {
			nodes = append(nodes, w.Node)
		}
	}
	for _, node := range nodes {
		if p.model.item(node).Removed {
			cleanup = true
			continue
		}
		var resources []Resource
		for _, w := range known {
			switch {
			case w.Node != node:
			case defined[w.where()]:
				cleanup = true
			case !slices.Contains(resources, w.Resource):
				resources = append(resources, w.Resource)
			}
		}
		if len(resources) > 0 {
			dropped = true
			p.works = append(p.works, Work{
				ID: "drop:" + path + "@" + pathID(node), Kind: task.Config, Item: path, Node: node,
				Resource: Resource{Dropping, path}, Replaces: resources, Removes: true,
			})
		}
	}
	if cleanup || !dropped {
		p.cleanups = append(p.cleanups, cleanupOf(path))
	}
}
