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
	// stand is what requiring each task of the catalog means: the task itself, or what it requires when it is left out; nil when none is.
	stand [][]resource.ID
}

func (w nodeWork) empty() bool { return !w.unlock && len(w.tasks)+len(w.actions) == 0 }

// compare returns the work of one node of a group. That its entry for an action goes is no deployment of the node, so its other actions
// need not run for it; nor need they for being unlocked.
func (m *model) compare(node string, applied Applied, drift []resource.ID) nodeWork {
	w := m.configure(node, applied, drift)
	if _, w.unlock = applied[node][task.LeftLocked]; m.concerns != nil {
		return w
	}
	busy := slices.ContainsFunc(w.tasks, func(t task.Task) bool { return t.Kind == task.Config && !isAction(t.Resource.Type) })
	w.actions = m.due(node, applied[node], busy)
	return w
}

// configure returns the tasks of one node's catalog that are to be done, in the order of execution: what is to be removed, then what is to be created, updated,
// repaired, refreshed or run (design.md 5.4).
func (m *model) configure(node string, applied Applied, drift []resource.ID) nodeWork {
	c := m.wanted[node]
	removals := c.unwanted(applied[node], m.on(node))
	actions, included := c.actions(node, applied, drift)
	if m.concerns != nil {
		removals = slices.DeleteFunc(removals, func(r resource.Resource) bool {
			return !m.concerns(task.Task{Node: node, Action: task.Remove, Resource: r})
		})
		included = m.leaveOut(c, actions)
	}
	if len(removals)+included == 0 {
		return nodeWork{}
	}
	w := nodeWork{tasks: make([]task.Task, 0, len(removals)+included)}
	for _, r := range removals {
		w.tasks = append(w.tasks, task.Task{Node: node, Group: task.Node, Action: task.Remove, Resource: r})
	}
	var requires [][]resource.ID
	requires, w.stand = c.requiresAmong(actions, included)
	for i, t := range c.tasks {
		if actions[i] == "" {
			continue
		}
		t = onNode(t, node)
		t.Action = actions[i]
		if requires != nil {
			t.Requires = requires[i]
		}
		w.tasks = append(w.tasks, t)
	}
	return w
}

// leaveOut takes the tasks out that do not count and that nothing notifies which does, and returns how many are left.
func (m *model) leaveOut(c *catalog, actions []task.Action) (included int) {
	for i, t := range c.tasks {
		if actions[i] != "" && !m.concerns(t) {
			actions[i] = ""
		}
	}
	c.notify(actions)
	for _, a := range actions {
		if a != "" {
			included++
		}
	}
	return included
}

// split is the reverse of [resource.Resource.ID]. Unlike a reference that a person wrote, the title is taken as it is.
func split(id resource.ID) resource.Resource {
	typ, rest, _ := strings.Cut(string(id), "[")
	return resource.Resource{Type: typ, Title: strings.TrimSuffix(rest, "]")}
}

// unwanted returns what is applied and neither in the catalog, nor replaced by what is, nor an action of the node, in reverse order of type and title: what is in a
// directory before the directory. Better orders are for the node's ledger to find, which knows in which order things were done.
func (c *catalog) unwanted(applied map[resource.ID]string, d *duties) []resource.Resource {
	var out []resource.Resource
	for id := range applied {
		_, wanted := c.index[id]
		_, runs := d.index[id]
		if !wanted && !runs && !c.replaced[id] && id != task.LeftLocked {
			out = append(out, split(id))
		}
	}
	slices.SortFunc(out, func(a, b resource.Resource) int {
		return cmp.Or(strings.Compare(b.Type, a.Type), strings.Compare(b.Title, a.Title))
	})
	return out
}

// actions returns what is to be done with each task, nothing for those that are left out, and how many are not.
func (c *catalog) actions(node string, applied Applied, drift []resource.ID) (actions []task.Action, included int) {
	actions = make([]task.Action, len(c.tasks))
	there, called := applied[node], applied[Controller]
	for i, t := range c.tasks {
		var digest string
		var known bool
		if t.Kind == task.Callback {
			digest, known = called[CallbackID(onNode(t, node))]
		} else {
			digest, known = there[c.ids[i]]
		}
		switch {
		case known && digest == t.Digest:
		case t.Kind != task.Config:
			actions[i] = task.Run
		case !known:
			actions[i] = task.Create
		default: // an empty digest too: begun and not finished
			actions[i] = task.Update
		}
	}
	for _, id := range drift {
		if i, wanted := c.index[id]; wanted && actions[i] == "" && c.drifts(c.tasks[i]) {
			actions[i] = task.Repair
		}
	}
	c.notify(actions)
	if c.details != nil {
		for c.join(actions) { // what is notified gives other services work
			c.notify(actions)
		}
	}
	for _, a := range actions {
		if a != "" {
			included++
		}
	}
	return actions, included
}

// notify marks what is notified. It comes later in the order, so one pass carries notifications on. A resource with noop does not change, so it
// notifies nobody.
func (c *catalog) notify(actions []task.Action) {
	for i, t := range c.tasks {
		if actions[i] == "" || t.Resource.Noop() {
			continue
		}
		for _, id := range t.Notifies {
			if n := c.index[id]; actions[n] == "" {
				actions[n] = task.Refresh
			}
		}
	}
}

// persists reports whether a task that was done is remembered (litp.md 50).
func (c *catalog) persists(t task.Task) bool {
	d, ok := c.details[t.Resource.ID()]
	return !ok || !d.Once
}

// drifts reports whether what a task did may be found otherwise.
func (c *catalog) drifts(t task.Task) bool { return t.Kind == task.Config && c.persists(t) }

// join marks what runs because its service has other work on the node: remote tasks and callbacks when it has work on configuration resources, as the tasks of
// plugins do, and those that are not remembered when it has any. It reports whether there are more.
func (c *catalog) join(actions []task.Action) (more bool) {
	var busy activity
	for i, t := range c.tasks {
		if actions[i] != "" {
			busy.add(t, !c.persists(t))
		}
	}
	for i, t := range c.tasks {
		d, ok := c.details[t.Resource.ID()]
		if !ok || actions[i] != "" || !busy.runs(t, d.Once) {
			continue
		}
		actions[i], more = task.Run, true
		if t.Kind == task.Config {
			actions[i] = task.Update
		}
	}
	return more
}

// activity tells which services have work.
type activity struct {
	configure map[string]bool // on configuration resources that are remembered
	any       map[string]bool
}

func (a *activity) add(t task.Task, once bool) {
	if t.Service == "" {
		return
	}
	if a.any == nil {
		a.configure, a.any = make(map[string]bool), make(map[string]bool)
	}
	a.any[t.Service] = true
	if t.Kind == task.Config && !once {
		a.configure[t.Service] = true
	}
}

// runs reports whether a task that need not run for its own sake runs because of others.
func (a *activity) runs(t task.Task, once bool) bool {
	if once {
		return a.any[t.Service]
	}
	return t.Kind != task.Config && a.configure[t.Service]
}

// requiresAmong returns what each task requires of those that are included, with requirements carried on through tasks that are
// left out (litp.md 94), and what each task stands for: itself, or what it requires when it is left out. Both are nil when nothing is left out.
func (c *catalog) requiresAmong(actions []task.Action, included int) (out, standFor [][]resource.ID) {
	if included == len(c.tasks) {
		return nil, nil
	}
	standFor = make([][]resource.ID, len(c.tasks))
	out = make([][]resource.ID, len(c.tasks))
	for i, t := range c.tasks {
		var ids []resource.ID
		for _, id := range t.Requires {
			ids = append(ids, standFor[c.index[id]]...)
		}
		slices.Sort(ids)
		out[i] = slices.Compact(ids)
		standFor[i] = out[i]
		if actions[i] != "" {
			standFor[i] = c.ids[i : i+1 : i+1]
		}
	}
	return out, standFor
}
