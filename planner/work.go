package planner

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// work gathers the tasks of a plan by where they stand in it.
type work struct {
	model   *model
	tasks   map[sequence.Key][]task.Task
	unlocks map[int][]task.Task   // group -> tasks
	runs    []map[int][]task.Task // action -> group -> tasks
}

func newWork(m *model) *work {
	return &work{model: m, tasks: make(map[sequence.Key][]task.Task), unlocks: make(map[int][]task.Task), runs: make([]map[int][]task.Task, len(m.actions))}
}

// add adds tasks of one task group.
func (w *work) add(group string, t ...task.Task) {
	if len(t) > 0 {
		k := sequence.Key{TaskGroup: t[0].Group, Group: group}
		w.tasks[k] = append(w.tasks[k], t...)
	}
}

// of adds the work of a node that a group owns. A node that has any is prepared first.
func (w *work) of(node string, owner int, n nodeWork) {
	if n.empty() {
		return
	}
	group := w.model.groups[owner].Name
	w.add(group, task.Task{Node: node, Group: task.Prepare, Action: task.PrepareNode})
	if n.unlock {
		w.unlocks[owner] = append(w.unlocks[owner], task.Task{Node: node, Group: task.PreNode, Action: task.Unlock})
	}
	for _, i := range n.actions {
		if w.runs[i] == nil {
			w.runs[i] = make(map[int][]task.Task)
		}
		t := w.model.actions[i].task
		t.Node = node
		w.runs[i][owner] = append(w.runs[i][owner], t)
	}
	w.add(group, n.tasks...)
}

// phases returns the phases of the plan. Tasks of pre_node, cluster and post_cluster have a phase for each action, so that one ends on all of its nodes
// before the next begins; those that unlock nodes come first of all.
func (w *work) phases() ([]Phase, error) {
	order := make([]string, len(w.model.groups))
	lengths := make(map[sequence.Key][]int) // how many tasks each phase of a key has
	step := func(group string, tasks []task.Task) {
		if len(tasks) > 0 {
			w.add(group, tasks...)
			k := sequence.Key{TaskGroup: tasks[0].Group, Group: group}
			lengths[k] = append(lengths[k], len(tasks))
		}
	}
	for i, g := range w.model.groups {
		order[i] = g.Name
		step(g.Name, w.unlocks[i])
	}
	for a, runs := range w.runs {
		if w.model.actions[a].task.Group == task.PostCluster {
			step("", w.together(runs))
			continue
		}
		for i, g := range w.model.groups {
			step(g.Name, runs[i])
		}
	}
	found, err := sequence.Phases(order, w.tasks)
	if err != nil {
		return nil, err
	}
	var phases []Phase
	for _, phase := range found {
		tasks := phase.Tasks
		for _, n := range lengths[sequence.Key{TaskGroup: phase.TaskGroup, Group: phase.Group}] {
			phases = append(phases, Phase{phase.TaskGroup, phase.Group, tasks[:n:n]})
			tasks = tasks[n:]
		}
		if len(tasks) > 0 {
			phases = append(phases, Phase{phase.TaskGroup, phase.Group, tasks})
		}
	}
	return phases, nil
}

// together returns the tasks of all groups, by node.
func (w *work) together(runs map[int][]task.Task) []task.Task {
	var all []task.Task
	for i := range w.model.groups {
		all = append(all, runs[i]...)
	}
	slices.SortFunc(all, func(a, b task.Task) int { return strings.Compare(a.Node, b.Node) })
	return all
}
