package planner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// sequencePhases orders changes into the phases of a plan.
func sequencePhases(c *changes) ([]Phase, error) {
	w := newPhaseBuilder(c)
	for _, n := range c.changed {
		w.addNode(n)
	}
	c.changed = nil // a big site has many tasks, which the phases have from here on
	for _, node := range c.forget {
		w.add("", task.Task{Node: node, Group: task.Cleanup, Action: task.Forget})
	}
	w.markDue()
	return w.phases()
}

func newPhaseBuilder(c *changes) *phaseBuilder {
	return &phaseBuilder{changes: c, tasks: make(map[sequence.Key][][]task.Task), unlocks: make(map[int][]task.Task),
		checks:   make(map[int][]task.Task),
		runs:     make([]map[int][]task.Task, len(c.actions)),
		standIns: make(map[string][][]resource.ID)}
}

// add adds tasks of one task group.
func (w *phaseBuilder) add(group string, t ...task.Task) {
	if len(t) > 0 {
		k := sequence.Key{TaskGroup: t[0].Group, Group: group}
		w.tasks[k] = append(w.tasks[k], t)
	}
}

// addNode adds the changes of a node. A node with changes is prepared first.
func (w *phaseBuilder) addNode(n nodeChanges) {
	node, owner := n.node, w.owner[n.node]
	group := w.groups[owner].Name
	w.add(group, task.Task{Node: node, Group: task.Prepare, Action: task.PrepareNode})
	if n.unlock {
		w.unlocks[owner] = append(w.unlocks[owner], task.Task{Node: node, Group: task.PreNode, Action: task.Unlock})
	}
	if n.check {
		w.checks[owner] = append(w.checks[owner], task.Task{Node: node, Group: task.Node, Action: task.HealthCheck,
			Left: n.left})
	}
	for _, i := range n.actions {
		if w.runs[i] == nil {
			w.runs[i] = make(map[int][]task.Task)
		}
		t := w.actions[i]
		t.Node = node
		w.runs[i][owner] = append(w.runs[i][owner], t)
	}
	for from, to := 0, 0; from < len(n.tasks); from = to {
		in := n.tasks[from].Group
		for to = from; to < len(n.tasks) && n.tasks[to].Group == in; {
			to++
		}
		w.add(w.keyOf(in, group).Group, n.tasks[from:to]...)
	}
	if len(w.callbacks) > 0 {
		w.standIns[node] = n.standIns
		for _, t := range n.tasks {
			w.busy.add(t, !w.wanted[node].persists(t))
		}
	}
}

// keyOf returns the key of a task group within a deployment group. Only task groups that repeat for each deployment
// group keep its name.
func (w *phaseBuilder) keyOf(in task.Group, group string) sequence.Key {
	if !sequence.SlotOf(in).Repeats {
		group = ""
	}
	return sequence.Key{TaskGroup: in, Group: group}
}

// markDue marks the callbacks of whole services that are to run. A callback runs when its digest is not among the
// recorded ones, when it returns a value that is not known, or when its service has other changes, see
// [activity]. For a callback that returns a secret, any change of its service counts.
func (w *phaseBuilder) markDue() {
	w.due = make([]bool, len(w.callbacks))
	for i, c := range w.callbacks {
		if (w.called[CallbackID(c.Task)] != c.Task.Digest || w.lacksValue(c)) && w.coversService(c.Task.Service) {
			w.due[i] = true
			w.busy.add(c.Task, c.Once)
		}
	}
	later := make(map[string]bool)
	for _, t := range w.later {
		for _, service := range t.Owners() {
			later[service] = true
		}
	}
	for i, c := range w.callbacks {
		w.due[i] = w.due[i] || w.busy.runs(c.Task, c.Once || c.secret)
		if w.includes != nil {
			w.due[i] = w.due[i] && w.includes(c.Task)
		}
		if w.due[i] && w.postponesCallback(c, later) {
			w.due[i], w.postponed = false, append(w.postponed, CallbackID(c.Task))
			w.later = append(w.later, c.Task)
		}
	}
	slices.Sort(w.postponed)
}

// phases returns the phases of the plan. A task group starts with one phase for each action of plugins, so that an
// action ends on all its nodes before the next one starts. The tasks of services follow. The last phase of pre_node
// unlocks the nodes that an earlier run left locked (litp.md 84), the last one of node checks those that are only to be
// checked again.
func (w *phaseBuilder) phases() ([]Phase, error) {
	parts := make(map[sequence.Key][][]task.Task)
	step := func(group string, tasks []task.Task) {
		if len(tasks) > 0 {
			k := sequence.Key{TaskGroup: tasks[0].Group, Group: group}
			parts[k] = append(parts[k], tasks)
		}
	}
	for a, runs := range w.runs {
		if w.actions[a].Group == task.PostCluster {
			step("", w.acrossGroups(runs))
			continue
		}
		for i, g := range w.groups {
			step(g.Name, runs[i])
		}
	}
	scopes := w.scopes()
	keys := slices.Collect(maps.Keys(scopes)) // sorted, so that the same error is always returned
	slices.SortFunc(keys, func(a, b sequence.Key) int {
		return cmp.Or(strings.Compare(string(a.TaskGroup), string(b.TaskGroup)), strings.Compare(a.Group, b.Group))
	})
	for _, k := range keys {
		scheduled, err := w.schedule(k, scopes[k])
		if err != nil {
			return nil, err
		}
		if len(scheduled) > 0 {
			parts[k] = append(parts[k], scheduled...)
		}
	}
	for i, g := range w.groups {
		step(g.Name, w.unlocks[i])
		step(g.Name, w.checks[i])
	}
	places, err := sequence.Phases(site.NamesOf(w.membership.groups, func(g Group) string { return g.Name }), parts)
	if err != nil {
		return nil, err
	}
	var phases []Phase
	for _, k := range places {
		for _, tasks := range parts[k] {
			phases = append(phases, Phase{k.TaskGroup, k.Group, tasks})
		}
	}
	return phases, nil
}

// scopes returns the keys under which services have tasks, each with its callbacks of whole services.
func (w *phaseBuilder) scopes() map[sequence.Key][]int {
	out := make(map[sequence.Key][]int, len(w.tasks))
	for k := range w.tasks {
		out[k] = nil
	}
	for i, c := range w.callbacks {
		k := w.keyOf(c.Task.Group, w.groupNameOf(c))
		out[k] = append(out[k], i)
	}
	return out
}

// acrossGroups returns the tasks of all groups, sorted by node.
func (w *phaseBuilder) acrossGroups(runs map[int][]task.Task) []task.Task {
	var all []task.Task
	for i := range w.groups {
		all = append(all, runs[i]...)
	}
	slices.SortFunc(all, func(a, b task.Task) int { return strings.Compare(a.Node, b.Node) })
	return all
}

// groupNameOf returns the name of the group in which a callback runs; empty when its task group does not repeat.
func (m *membership) groupNameOf(c callback) string {
	if !sequence.SlotOf(c.Task.Group).Repeats {
		return ""
	}
	return m.groups[c.group].Name
}

// postponesCallback reports whether a callback of a whole service waits because its group does, or tasks of its
// service, which is among later then.
func (w *phaseBuilder) postponesCallback(c callback, later map[string]bool) bool {
	switch {
	case w.held == nil:
		return false
	case !sequence.SlotOf(c.Task.Group).Repeats:
		return c.Task.Group == task.PostCluster
	}
	return w.held[c.group] || later[c.Task.Service]
}
