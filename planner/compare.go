package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// nodeWork is the work of one node of a group.
type nodeWork struct {
	unlock  bool        // an earlier run left the node locked (litp.md 84)
	tasks   []task.Task // in its catalog, in the order of execution
	actions []int       // of plugins, in the order of a run
}

func (w nodeWork) empty() bool { return !w.unlock && len(w.tasks)+len(w.actions) == 0 }

// compare returns the work of one node of a group. That its entry for an action goes is no deployment of the node, so its other actions
// need not run for it; nor need they for being unlocked.
func (m *model) compare(node string, applied map[resource.ID]string, drift []resource.ID) nodeWork {
	var w nodeWork
	w.tasks = m.configure(node, applied, drift)
	busy := slices.ContainsFunc(w.tasks, func(t task.Task) bool { return !isAction(t.Resource.Type) })
	w.actions = m.due(node, applied, busy)
	_, w.unlock = applied[task.LeftLocked]
	return w
}

// configure returns the configuration tasks of one node in the order of execution: what is to be removed, then what is to be created, updated,
// repaired or refreshed (design.md 5.4).
func (m *model) configure(node string, applied map[resource.ID]string, drift []resource.ID) []task.Task {
	c := m.wanted[node]
	removals := c.unwanted(applied, m.on(node))
	actions, included := c.actions(applied, drift)
	if len(removals)+included == 0 {
		return nil
	}
	tasks := make([]task.Task, 0, len(removals)+included)
	for _, r := range removals {
		tasks = append(tasks, task.Task{Node: node, Group: task.Node, Action: task.Remove, Resource: r})
	}
	requires := c.requiresAmong(actions, included)
	for i, t := range c.tasks {
		if actions[i] == "" {
			continue
		}
		t.Node, t.Action = node, actions[i]
		if requires != nil {
			t.Requires = requires[i]
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// split is the reverse of [resource.Resource.ID]. Unlike a reference that a person wrote, the title is taken as it is.
func split(id resource.ID) resource.Resource {
	typ, rest, _ := strings.Cut(string(id), "[")
	return resource.Resource{Type: typ, Title: strings.TrimSuffix(rest, "]")}
}

// unwanted returns what is applied and neither in the catalog nor an action of the node, in reverse order of type and title: what is in a
// directory before the directory. Better orders are for the node's ledger to find, which knows in which order things were done.
func (c *catalog) unwanted(applied map[resource.ID]string, d *duties) []resource.Resource {
	var out []resource.Resource
	for id := range applied {
		_, wanted := c.index[id]
		_, runs := d.index[id]
		if !wanted && !runs && id != task.LeftLocked {
			out = append(out, split(id))
		}
	}
	slices.SortFunc(out, func(a, b resource.Resource) int {
		return cmp.Or(strings.Compare(b.Type, a.Type), strings.Compare(b.Title, a.Title))
	})
	return out
}

// actions returns what is to be done with each task, nothing for those that are left out, and how many are not.
func (c *catalog) actions(applied map[resource.ID]string, drift []resource.ID) (actions []task.Action, included int) {
	actions = make([]task.Action, len(c.tasks))
	for i, t := range c.tasks {
		digest, there := applied[t.Resource.ID()]
		switch {
		case !there:
			actions[i] = task.Create
		case digest != t.Digest: // an empty digest too: begun and not finished
			actions[i] = task.Update
		}
	}
	for _, id := range drift {
		if i, wanted := c.index[id]; wanted && actions[i] == "" {
			actions[i] = task.Repair
		}
	}
	// What is notified comes later in the order, so one pass carries notifications on.
	for i, t := range c.tasks {
		if actions[i] == "" {
			continue
		}
		included++
		for _, id := range t.Notifies {
			if n := c.index[id]; actions[n] == "" {
				actions[n] = task.Refresh
			}
		}
	}
	return actions, included
}

// requiresAmong returns what each task requires of those that are included, with requirements carried on through tasks that are
// left out (litp.md 94). It is nil when nothing is left out.
func (c *catalog) requiresAmong(actions []task.Action, included int) [][]resource.ID {
	if included == len(c.tasks) {
		return nil
	}
	// standFor[i] is what requiring task i means: the task itself, or what it requires when it is left out.
	standFor := make([][]resource.ID, len(c.tasks))
	out := make([][]resource.ID, len(c.tasks))
	for i, t := range c.tasks {
		var ids []resource.ID
		for _, id := range t.Requires {
			ids = append(ids, standFor[c.index[id]]...)
		}
		slices.Sort(ids)
		out[i] = slices.Compact(ids)
		standFor[i] = out[i]
		if actions[i] != "" {
			standFor[i] = []resource.ID{t.Resource.ID()}
		}
	}
	return out
}
