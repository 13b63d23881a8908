package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// UnresolvedError is a reference to a resource that the node does not have.
type UnresolvedError struct {
	Task      task.Task // that has the reference
	Relation  string    // require, before, notify or subscribe
	Reference resource.ID
	Nearest   resource.ID // what may have been meant; may be empty
}

func (e *UnresolvedError) Error() string {
	s := fmt.Sprintf("%s: %s: there is no %s", e.Task.Resource.ID(), e.Relation, e.Reference)
	if e.Nearest != "" {
		s += fmt.Sprintf("; did you mean %s?", e.Nearest)
	}
	return s
}

// CycleError is resources that wait for each other.
type CycleError struct {
	Tasks     []task.Task // each requires the next, the last requires the first
	Relation  string      // by which the first task requires the second, as written
	Writer    task.Task   // the task that has this relation: the first or the second
	Reference resource.ID // the other one
}

func (e *CycleError) Error() string {
	var b strings.Builder
	for _, t := range e.Tasks {
		fmt.Fprintf(&b, "%s requires ", t.Resource.ID())
	}
	fmt.Fprintf(&b, "%s", e.Tasks[0].Resource.ID())
	return b.String()
}

// Order returns the configuration tasks of one node in the order of execution, with Requires and Notifies filled in: a
// stable topological order of require, before, notify and subscribe, in which service name, type and title decide between tasks
// that may both come next. What Puppet requires by itself is required too ([autorequired]), unless it contradicts what is
// written. tasks is not changed. The errors are *[UnresolvedError] and *[CycleError]; the order is of no use then.
func Order(tasks []task.Task) ([]task.Task, []error) {
	sorted := slices.Clone(tasks)
	slices.SortFunc(sorted, func(a, b task.Task) int {
		return cmp.Or(strings.Compare(a.Service, b.Service),
			strings.Compare(a.Resource.Type, b.Resource.Type), strings.Compare(a.Resource.Title, b.Resource.Title))
	})
	c := newCatalog(sorted)
	errs := c.relate()
	if len(errs) > 0 {
		return sorted, errs
	}
	c.autorequire()
	out := make([]task.Task, 0, len(sorted))
	for _, i := range c.graph.order() {
		t := sorted[i]
		t.Requires = c.ids(c.graph.requires[i])
		t.Notifies = c.ids(c.notifies[i])
		out = append(out, t)
	}
	return out, nil
}

// catalog is the tasks of one node and what they mean to each other.
type catalog struct {
	tasks    []task.Task
	names    []resource.ID // of the tasks
	index    map[resource.ID]int
	graph    *graph
	notifies [][]int
	files    map[string]int      // path -> task; made when first asked for
	accounts map[resource.ID]int // user[name] or group[name] -> task; made when first asked for
}

func newCatalog(tasks []task.Task) *catalog {
	c := &catalog{
		tasks: tasks, names: make([]resource.ID, len(tasks)), index: make(map[resource.ID]int, len(tasks)),
		graph: newGraph(len(tasks)), notifies: make([][]int, len(tasks)),
	}
	for i, t := range tasks {
		c.names[i] = t.Resource.ID()
		c.index[c.names[i]] = i
	}
	return c
}

// relations are the parameters that relate resources: whether what is named comes first, and whether the later one is
// refreshed when the earlier one changed.
var relations = []struct {
	name         string
	first, alert bool
}{
	{name: resource.Require, first: true},
	{name: resource.Subscribe, first: true, alert: true},
	{name: resource.Before},
	{name: resource.Notify, alert: true},
}

// relate enters what is written and returns what is wrong with it.
func (c *catalog) relate() []error {
	var errs []error
	for i, t := range c.tasks {
		for _, relation := range relations {
			for _, id := range t.Resource.References(relation.name) {
				other, ok := c.index[id]
				if !ok {
					errs = append(errs, &UnresolvedError{t, relation.name, id, c.nearest(id)})
					continue
				}
				earlier, later := i, other
				if relation.first {
					earlier, later = other, i
				}
				c.graph.add(later, earlier)
				if relation.alert {
					c.notifies[earlier] = append(c.notifies[earlier], later)
				}
			}
		}
	}
	for _, cycle := range c.graph.cycles() {
		errs = append(errs, c.cycleError(cycle))
	}
	return errs
}

func (c *catalog) cycleError(cycle []int) *CycleError {
	e := &CycleError{}
	for _, i := range cycle {
		e.Tasks = append(e.Tasks, c.tasks[i])
	}
	later, earlier := c.tasks[cycle[0]], c.tasks[cycle[1%len(cycle)]]
	for _, relation := range relations {
		writer, other := earlier, later
		if relation.first {
			writer, other = later, earlier
		}
		if slices.Contains(writer.Resource.References(relation.name), other.Resource.ID()) {
			e.Relation, e.Writer, e.Reference = relation.name, writer, other.Resource.ID()
			break
		}
	}
	return e
}

// nearest returns the resource of the node that a wrong reference may have meant.
func (c *catalog) nearest(id resource.ID) resource.ID {
	candidates := make([]string, len(c.tasks))
	for i, t := range c.tasks {
		candidates[i] = string(t.Resource.ID())
	}
	return resource.ID(resource.Nearest(string(id), candidates))
}

// ids returns the resources of tasks, sorted, each once; nil for none.
func (c *catalog) ids(tasks []int) []resource.ID {
	if len(tasks) == 0 {
		return nil
	}
	out := make([]resource.ID, len(tasks))
	for i, t := range tasks {
		out[i] = c.names[t]
	}
	slices.Sort(out)
	return slices.Compact(out)
}
