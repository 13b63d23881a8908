package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// nodeSet is the nodes that have the same services and the same overrides, and so share one task list.
type nodeSet struct {
	services, layers []int
	nodes            []string // sorted
	first, last      int      // of the groups that own them
	list             *taskList
}

// taskList is the tasks of all nodes of a set, in the order of execution. Their Node and Action are empty.
type taskList struct {
	tasks []task.Task
	ids   []resource.ID // of the tasks
	index map[resource.ID]int
	// The following are nil on nodes without services of entities.
	details  map[resource.ID]*refine.EntityTask
	layers   []sequence.Layer     // of the tasks, when sections order them
	calls    [][]int              // by task: the callbacks of services as a whole that it requires, directly or not
	replaced map[resource.ID]bool // what a task supersedes once it is there (litp.md 61)
	// The following are nil without ordering rules.
	classes []int // of the tasks
	waits   map[resource.ID][]sequence.Wait
}

// fill sets the tasks of a list, in order.
func (l *taskList) fill(tasks []task.Task, layers []sequence.Layer) {
	l.tasks, l.layers, l.ids, l.index = tasks, layers, make([]resource.ID, len(tasks)),
		make(map[resource.ID]int, len(tasks))
	for i := range tasks {
		l.ids[i] = tasks[i].Resource.ID()
		l.index[l.ids[i]] = i
	}
}
