package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// changes is what brings a site from what is applied to what is desired, node by node.
type changes struct {
	*desired
	groups    []Group       // of the plan
	changed   []nodeChanges // of the nodes with something to do, by name
	departed  []string      // nodes that left the site and have something applied, sorted
	forget    []string      // nodes that are torn down: those that departed, and those in no group, sorted
	forgotten []resource.ID // callbacks that ran and are no longer wanted, sorted
	called    map[resource.ID]string
	waiting   []string             // nodes outside of the limit with something to do, sorted
	later     []task.Task          // that wait for approval
	postponed []resource.ID        // callbacks among them, sorted
	includes  func(task.Task) bool // selects the tasks of the plan; nil selects all
}

// nodeChanges is what is to be done on one node of a group.
type nodeChanges struct {
	node    string
	unlock  bool        // an earlier run left the node locked (litp.md 84)
	check   bool        // an earlier run left the node unchecked, and nothing else of the plan makes the run check it
	left    string      // what [task.Unchecked] has of it; empty where its group has no health check
	tasks   []task.Task // in the order of execution
	actions []int       // of plugins, in the order of a run
	// standIns holds what replaces each task as a requirement: the task itself, or what it requires when it is left
	// out. It is nil when nothing is left out, or no callback of a whole service requires tasks.
	standIns [][]resource.ID
}

func (n nodeChanges) empty() bool { return !n.unlock && !n.check && len(n.tasks)+len(n.actions) == 0 }

// compare compares every node with what is applied there and what has drifted. With includes, no node is torn
// down and no action of a plugin runs.
func compare(d *desired, applied Applied, drift Drift, includes func(task.Task) bool) *changes {
	c := &changes{desired: d, groups: d.planned(applied), forgotten: d.forgotten(applied[Controller]),
		called: applied[Controller], includes: includes}
	for node, resources := range applied {
		if node == Controller || len(resources) == 0 || includes != nil {
			continue
		}
		if _, owned := d.owner[node]; !owned && !d.covers(node) {
			c.waiting = append(c.waiting, node)
			continue
		}
		if !d.isNode[node] {
			c.departed = append(c.departed, node)
		}
		if _, owned := d.owner[node]; !owned {
			c.forget = append(c.forget, node)
		}
	}
	slices.Sort(c.departed)
	slices.Sort(c.forget)
	for _, n := range d.nodes {
		if _, owned := d.owner[n.Name]; !owned {
			continue
		}
		changes := c.on(n.Name, applied, drift[n.Name])
		switch {
		case changes.empty():
		case d.covers(n.Name):
			c.changed = append(c.changed, changes)
		default:
			c.waiting = append(c.waiting, n.Name)
			if d.held != nil && (d.within == nil || d.within[n.Name]) {
				c.later = append(c.later, changes.tasks...)
			}
		}
	}
	slices.Sort(c.waiting)
	if d.limit != nil {
		c.forgotten = nil
	}
	return c
}

// planned returns the groups of the plan. Those that spare new nodes their lock have the nodes on which nothing is
// applied yet.
func (d *desired) planned(applied Applied) []Group {
	groups := slices.Clone(d.groups)
	for i, settings := range d.settings {
		groups[i].After = d.after[i]
		if r := settings.Rolling; r == nil || !r.SpareNew || !groups[i].Locked {
			continue
		}
		for _, node := range groups[i].Owned {
			if len(applied[node]) == 0 {
				groups[i].Unlocked = append(groups[i].Unlocked, node)
			}
		}
	}
	return groups
}

// on returns the changes of one node. Actions of plugins run with other changes of the node; forgetting an action and
// unlocking the node do not count as changes.
func (c *changes) on(node string, applied Applied, drift []resource.ID) nodeChanges {
	n := c.changesOf(node, applied, drift)
	if n.node = node; len(c.callbacks) == 0 {
		n.standIns = nil
	}
	if _, n.unlock = applied[node][task.LeftLocked]; c.includes != nil {
		return n
	}
	busy := slices.ContainsFunc(n.tasks, func(t task.Task) bool {
		return t.Kind == task.Config && !isAction(t.Resource.Type)
	})
	n.actions = slices.DeleteFunc(c.dueActions(node, applied[node], busy), func(i int) bool {
		t := c.actions[i]
		return c.postpones(node, t, applied[node][t.Resource.ID()])
	})
	if left, unchecked := applied[node][task.Unchecked]; unchecked && c.checks(node) {
		n.left = left
		n.check = !slices.ContainsFunc(n.tasks, func(t task.Task) bool { return inBatches(t.Group) }) &&
			!slices.ContainsFunc(n.actions, func(i int) bool { return inBatches(c.actions[i].Group) })
	}
	return n
}

// changesOf returns the tasks of one node that are to be done, in the order of execution: first removals, then what is
// created, updated, repaired, refreshed or run (design.md 5.4).
func (c *changes) changesOf(node string, applied Applied, drift []resource.ID) nodeChanges {
	l := c.wanted[node]
	removals := l.unwanted(applied[node], c.nodeActions[node], c.actions)
	actions, included := l.actionsOn(node, applied, drift)
	if c.includes != nil {
		removals = slices.DeleteFunc(removals, func(r resource.Resource) bool {
			return !c.includes(task.Task{Node: node, Action: task.Remove, Resource: r})
		})
		included = c.excludeOthers(l, actions)
	}
	for i, t := range l.tasks {
		if actions[i] != "" && c.postpones(node, t, applied[node][l.ids[i]]) {
			actions[i], included = "", included-1
			c.later = append(c.later, onNode(t, node))
		}
	}
	if len(removals)+included == 0 {
		return nodeChanges{}
	}
	w := nodeChanges{tasks: make([]task.Task, 0, len(removals)+included)}
	for _, r := range removals {
		w.tasks = append(w.tasks, task.Task{Node: node, Group: task.Node, Action: task.Remove, Resource: r})
	}
	var requires [][]resource.ID
	requires, w.standIns = l.requiresAmong(actions, included)
	for i, t := range l.tasks {
		if actions[i] == "" {
			continue
		}
		t = onNode(t, node)
		t.Action = actions[i]
		if requires != nil {
			t.Requires = requires[i]
		}
		t.Unnotified = l.unnotified(i, actions, applied[node])
		w.tasks = append(w.tasks, t)
	}
	return w
}

// unnotified reports whether a task is a command that only a notification runs, and nothing notifies it: neither what
// the plan includes, nor what did so before, which leaves it unfinished.
func (l *taskList) unnotified(i int, actions []task.Action, applied map[resource.ID]string) bool {
	r := l.tasks[i].Resource
	if r.Type != "exec" || !r.Parameters.Bool("refreshonly") || r.Noop() || actions[i] == task.Refresh {
		return false
	}
	digest, known := applied[l.ids[i]]
	return (!known || digest != "") && !slices.ContainsFunc(l.tasks[:i], func(t task.Task) bool {
		return actions[l.index[t.Resource.ID()]] != "" && !t.Resource.Noop() && slices.Contains(t.Notifies, l.ids[i])
	})
}

// excludeOthers drops the tasks that the plan does not include, unless an included task notifies them. It returns the
// number of tasks left.
func (c *changes) excludeOthers(l *taskList, actions []task.Action) (included int) {
	for i, t := range l.tasks {
		if actions[i] != "" && (!c.includes(t) || slices.Contains(l.left, l.ids[i])) {
			actions[i] = ""
		}
	}
	l.notify(actions)
	for i := range actions {
		if slices.Contains(l.left, l.ids[i]) {
			actions[i] = "" // a notification would give it one of the forms
		}
		if actions[i] != "" {
			included++
		}
	}
	return included
}

// unwanted returns what is applied and is not in the task list, not replaced by a task of it, and no action of the
// node. What was only ever looked at has noop. The order is the reverse of type and title, so that a file comes before
// its directory. The node's ledger knows the order of creation and may choose a better one.
func (l *taskList) unwanted(applied map[resource.ID]string, runs []int, actions []task.Task) []resource.Resource {
	var out []resource.Resource
	isAction := make(map[resource.ID]bool, len(runs))
	for _, i := range runs {
		isAction[actions[i].Resource.ID()] = true
	}
	for id, digest := range applied {
		_, wanted := l.index[id]
		if !wanted && !isAction[id] && !l.replaced[id] && !task.IsMark(id) {
			r := split(id)
			if watched(digest) {
				r.Parameters = resource.Parameters{resource.Noop: true}
			}
			out = append(out, r)
		}
	}
	slices.SortFunc(out, removedBefore)
	return out
}

// removedBefore compares resources in the order in which they are removed: by type and title, both backward, so that
// what lies in a directory comes before that. A mount comes between its directory and what lies in it.
func removedBefore(a, b resource.Resource) int {
	as := func(r resource.Resource) string {
		if r.Type == "mount" {
			return "file"
		}
		return r.Type
	}
	return cmp.Or(strings.Compare(as(b), as(a)), strings.Compare(b.Title, a.Title), strings.Compare(b.Type, a.Type))
}

// actionsOn returns the action of each task, empty for a task that is left out, and the number of tasks that are
// included.
func (l *taskList) actionsOn(node string, applied Applied, drift []resource.ID) (actions []task.Action, included int) {
	actions = make([]task.Action, len(l.tasks))
	there, called := applied[node], applied[Controller]
	for i, t := range l.tasks {
		var digest string
		var known bool
		if t.Kind == task.Callback {
			digest, known = called[CallbackID(onNode(t, node))]
		} else {
			digest, known = there[l.ids[i]]
		}
		switch {
		case known && strings.TrimPrefix(digest, resource.Watched) == t.Digest:
		case t.Kind != task.Config:
			actions[i] = task.Run
		case !known:
			actions[i] = task.Create
		default: // also an empty digest: started and not finished
			actions[i] = task.Update
		}
	}
	for _, id := range drift {
		if i, wanted := l.index[id]; wanted && actions[i] == "" && l.drifts(l.tasks[i]) {
			actions[i] = task.Repair
		}
	}
	l.notify(actions)
	if l.details != nil {
		for l.addCompanions(actions) { // a notified task is a change of its service
			l.notify(actions)
		}
	}
	for _, a := range actions {
		if a != "" {
			included++
		}
	}
	return actions, included
}

// notify marks the tasks that are notified. They come later in the order, so one pass carries notifications on. A
// resource with noop does not change, so it notifies nothing.
func (l *taskList) notify(actions []task.Action) {
	for i, t := range l.tasks {
		if actions[i] == "" || t.Resource.Noop() {
			continue
		}
		for _, id := range t.Notifies {
			if n := l.index[id]; actions[n] == "" {
				actions[n] = task.Refresh
			}
		}
		if i := l.fileOf(t.Resource); i >= 0 && actions[i] == "" {
			actions[i] = task.Refresh // what is mounted anew takes what the file says
		}
	}
}

// fileOf returns the index of the file for the mount point of a mount, where what is mounted takes what that says; -1
// when there is none.
func (l *taskList) fileOf(r resource.Resource) int {
	if r.Type != "mount" || schema.IsSwap(r) || r.Parameters.StringOr("ensure", "mounted") != "mounted" {
		return -1
	}
	return slices.IndexFunc(l.tasks, func(t task.Task) bool {
		return schema.IsMountPoint(t.Resource, r.Title) && !t.Resource.Noop()
	})
}

// persists reports whether the ledger records the task once it is done (litp.md 50).
func (l *taskList) persists(t task.Task) bool {
	d, ok := l.details[t.Resource.ID()]
	return !ok || !d.Once
}

// drifts reports whether a drift check looks at the task.
func (l *taskList) drifts(t task.Task) bool { return t.Kind == task.Config && l.persists(t) }

// addCompanions marks the tasks that run because their service has other changes on the node: remote tasks and
// callbacks with a change of a configuration resource, tasks with persist = false with any change. It reports whether
// it marked any.
func (l *taskList) addCompanions(actions []task.Action) (more bool) {
	var busy activity
	for i, t := range l.tasks {
		if actions[i] != "" {
			busy.add(t, !l.persists(t))
		}
	}
	for i, t := range l.tasks {
		d, ok := l.details[t.Resource.ID()]
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

// activity records which services have changes.
type activity struct {
	configure map[string]bool // on configuration resources that are remembered
	any       map[string]bool
}

func (a *activity) add(t task.Task, once bool) {
	for _, service := range t.Owners() {
		if a.any == nil {
			a.configure, a.any = make(map[string]bool), make(map[string]bool)
		}
		a.any[service] = true
		if t.Kind == task.Config && !once {
			a.configure[service] = true
		}
	}
}

// runs reports whether a task runs only because its service has other changes.
func (a *activity) runs(t task.Task, once bool) bool {
	if once {
		return slices.ContainsFunc(t.Owners(), func(service string) bool { return a.any[service] })
	}
	return t.Kind != task.Config && a.configure[t.Service] // nobody shares it
}

// requiresAmong returns, for each task, the included tasks that it requires, directly or through tasks that are left
// out (litp.md 94). standFor holds what replaces each task as a requirement: the task itself, or what it requires when
// it is left out. Both are nil when nothing is left out.
func (l *taskList) requiresAmong(actions []task.Action, included int) (out, standFor [][]resource.ID) {
	if included == len(l.tasks) {
		return nil, nil
	}
	standFor = make([][]resource.ID, len(l.tasks))
	out = make([][]resource.ID, len(l.tasks))
	for i, t := range l.tasks {
		var ids []resource.ID
		for _, id := range t.Requires {
			ids = append(ids, standFor[l.index[id]]...)
		}
		slices.Sort(ids)
		out[i] = slices.Compact(ids)
		standFor[i] = out[i]
		if actions[i] != "" {
			standFor[i] = l.ids[i : i+1 : i+1]
		}
	}
	return out, standFor
}
