package journal

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Progress is how far a pass of a run is on the nodes of its groups while it goes on: the [NodeFinished] of a node that
// succeeds comes only with the end of its group. The zero value is that of a run without events.
type Progress struct {
	left   map[string]map[string]map[int]*unfinished // group -> node -> phase; 0: the health checks of its batch
	last   map[string][]string                       // group -> the last node of each batch, by name
	undone map[string]bool                           // nodes that are put back
}

// unfinished is what a phase has left to do on a node.
type unfinished struct {
	tasks int
	ended map[string]bool // a session that another worker takes over reports some of them again
}

// Add takes the next event of the run.
func (p *Progress) Add(e Event) {
	switch {
	case e.Kind == RunStarted:
		*p = Progress{map[string]map[string]map[int]*unfinished{}, map[string][]string{}, map[string]bool{}}
		for _, g := range OutlineOf(e).Groups {
			p.left[g.Name], p.last[g.Name] = map[string]map[int]*unfinished{}, g.Last
		}
	case p.left[e.Group] == nil:
	case e.Kind == Planned && (e.Phase > 0 || e.Action == string(task.HealthCheck)):
		for node, tasks := range e.PlannedTasks() {
			if p.left[e.Group][node] == nil {
				p.left[e.Group][node] = map[int]*unfinished{}
			}
			p.left[e.Group][node][e.Phase] = &unfinished{tasks: tasks, ended: map[string]bool{}}
		}
	case e.Kind == TaskFinished && e.Action == string(task.Restore):
		p.undone[e.Node] = true
	case e.Kind == TaskFinished && !slices.Contains([]string{"failed", "skipped", "unknown"}, e.Status):
		phases := p.left[e.Group][e.Node]
		o := phases[e.Phase]
		if o == nil || o.ended[e.Action+e.Resource] {
			return
		}
		o.ended[e.Action+e.Resource] = e.Phase > 0 // a node is checked twice
		if o.tasks--; o.tasks <= 0 {
			delete(phases, e.Phase)
		}
	case e.Kind == PhaseFinished && e.Status == "succeeded":
		for node, phases := range p.left[e.Group] { // tasks that turn out not to be needed have no events
			if p.ran(e, node) {
				delete(phases, e.Phase)
			}
		}
	}
}

// ran reports whether a phase that has ended was that of a node: with batches it ends for each of them.
func (p *Progress) ran(e Event, node string) bool {
	var batch int
	if n, _ := fmt.Sscanf(e.Message, "batch %d of", &batch); n == 0 { // before the first batch, after the last one, or without
		return true
	}
	last := p.last[e.Group]
	return node != "" && batch >= 1 && batch <= len(last) && node <= last[batch-1] && (batch == 1 || node > last[batch-2])
}

// Done reports whether all that the pass does on a node of a group has succeeded, with the health checks of its batch
// and the callbacks of the whole group, for which all its nodes wait. It is not done any more once it is put back
// because its batch failed. Where the run has recorded a [NodeFinished] of the node, the stage of that counts: one that
// failed has it at once.
func (p *Progress) Done(group, node string) bool {
	phases, planned := p.left[group][node]
	return planned && len(phases) == 0 && len(p.left[group][""]) == 0 && !p.undone[node]
}
