package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// RelationError is a relation between resources of a node that cannot be kept. Its code is [invalid.UnknownReference]
// when the node does not have one of them, [invalid.DependencyCycle] when it closes a cycle, and [invalid.BadStructure]
// when the order of task groups contradicts it (litp.md 69, Q2).
type RelationError struct {
	Code      invalid.Code
	Writer    task.Task   // that has the relation
	Relation  string      // require, before, notify, subscribe or [Requires]
	Reference resource.ID // the other resource, as the writer names it
	// Rule is the rule of the site that says so, or that closes the cycle; empty when tasks do.
	Rule string
	// Of an unknown reference:
	Nearest resource.ID // what may have been meant; may be empty
	Others  []string    // titles of the node's resources of the same type, sorted; nil when there is a nearest

	text string
}

func (e *RelationError) Error() string { return e.text }

// Constraints orders a task in addition to its own parameters.
type Constraints struct {
	Section catalog.Section // of the node; empty is that of inline configuration, services
	After   []resource.ID   // tasks of the node that it requires; those that the node does not have are left out
	Waits   []Wait          // what it requires beside that because of rules of the site
	// Unordered says that no section puts it in order with others of its type. Packages are unordered anyway.
	Unordered bool
}

// Wait is an ordering rule that makes a task require others (litp.md D2).
type Wait struct {
	Rule string        // as users know it: `waits[0]`
	For  []resource.ID // tasks of the node; tasks may share it
}

// Requires is the relation of [Constraints.After] and of ordering rules.
const Requires = "requires"

// Order returns the tasks of one node in the order of execution, with Requires and Notifies filled in. The order is a
// stable topological order of require, before, notify and subscribe; service name, type and title decide between tasks
// that may both come next. What Puppet requires by itself is required too ([autorequired]), unless it contradicts a
// written requirement. tasks is not changed. With errors the order must not be used.
func Order(tasks []task.Task) ([]task.Task, []*RelationError) {
	ordered, _, errs := OrderNode(tasks, nil)
	return ordered, errs
}

// OrderNode is [Order] with further constraints, by resource, and with the sections of the node (design.md 5.5). It
// also returns the layers of the tasks; nil when no section orders them.
func OrderNode(tasks []task.Task, constraints map[resource.ID]Constraints) ([]task.Task, []Layer, []*RelationError) {
	sorted := tasks
	if !slices.IsSortedFunc(tasks, byService) {
		sorted = slices.Clone(tasks)
		slices.SortFunc(sorted, byService)
	}
	c := newNodeTasks(sorted)
	errs := c.addRelations(constraints)
	if len(errs) > 0 {
		return sorted, nil, errs
	}
	c.autorequire()
	var layers []Layer
	var bySection [][]int
	if len(constraints) > 0 {
		layers, bySection = c.addSections(constraints)
	}
	out := make([]task.Task, 0, len(sorted))
	c.buffer = make([]resource.ID, 0, c.countRelations())
	var orderedLayers []Layer
	for _, i := range c.graph.order() {
		if i >= len(sorted) {
			continue // a gate
		}
		t := sorted[i]
		requires := c.graph.requires[i]
		if bySection != nil {
			requires = slices.Concat(requires, bySection[i])
			orderedLayers = append(orderedLayers, layers[i])
		}
		t.Requires = c.ids(requires)
		t.Notifies = c.ids(c.notifies[i])
		out = append(out, t)
	}
	return out, orderedLayers, nil
}

func byService(a, b task.Task) int {
	return cmp.Or(strings.Compare(a.Service, b.Service),
		strings.Compare(a.Resource.Type, b.Resource.Type), strings.Compare(a.Resource.Title, b.Resource.Title))
}

// nodeTasks is the tasks of one node and the relations between them.
type nodeTasks struct {
	tasks    []task.Task
	names    []resource.ID // of the tasks
	index    map[resource.ID]int
	graph    *graph
	notifies [][]int
	buffer   []resource.ID       // for what the tasks require and notify, see ids
	files    map[string]int      // path -> task; made when first asked for
	leaving  []int               // users; made when first asked for
	types    map[string][]int    // by type; made when first asked for
	mounts   map[string]int      // mount point -> task; made when first asked for
	accounts map[resource.ID]int // user[name] or group[name] -> task; made when first asked for
}

func newNodeTasks(tasks []task.Task) *nodeTasks {
	c := &nodeTasks{
		tasks: tasks, names: make([]resource.ID, len(tasks)), index: make(map[resource.ID]int, len(tasks)),
		graph: newGraph(len(tasks)), notifies: make([][]int, len(tasks)),
	}
	for i := range tasks {
		c.names[i] = tasks[i].Resource.ID()
		c.index[c.names[i]] = i
	}
	return c
}

// relations are the parameters that relate two resources: whether the named resource comes first, and whether the later
// one is refreshed when the earlier one changed.
var relations = []struct {
	name         string
	first, alert bool
}{
	{name: resource.Require, first: true},
	{name: resource.Subscribe, first: true, alert: true},
	{name: resource.Before},
	{name: resource.Notify, alert: true},
}

// addRelations adds the requirements and notifications that are written, and returns their errors.
func (c *nodeTasks) addRelations(constraints map[resource.ID]Constraints) []*RelationError {
	var errs []*RelationError
	for i := range c.tasks {
		for _, id := range constraints[c.names[i]].After {
			if other, ok := c.index[id]; ok && other != i {
				errs = c.require(errs, i, other, Requires, i)
			}
		}
	}
	for i := range c.tasks {
		for _, relation := range relations {
			for _, id := range c.tasks[i].Resource.References(relation.name) {
				other, ok := c.index[id]
				if !ok {
					errs = append(errs, c.unresolved(c.tasks[i], relation.name, id, len(errs)))
					continue
				}
				earlier, later := i, other
				if relation.first {
					earlier, later = other, i
				}
				errs = c.require(errs, later, earlier, relation.name, i)
				if relation.alert {
					c.notifies[earlier] = append(c.notifies[earlier], later)
				}
			}
		}
	}
	errs = c.addWaits(errs, constraints)
	for _, cycle := range c.graph.cycles() {
		errs = append(errs, c.cycleError(cycle, constraints))
	}
	return errs
}

// addWaits adds what ordering rules make tasks wait for. A rule that the order of task groups contradicts is reported
// once.
func (c *nodeTasks) addWaits(errs []*RelationError, constraints map[resource.ID]Constraints) []*RelationError {
	reported := make(map[string]bool)
	for i := range c.tasks {
		waits := constraints[c.names[i]].Waits
		if len(waits) == 0 {
			continue
		}
		has := make(map[int]bool, len(c.graph.requires[i]))
		for _, r := range c.graph.requires[i] {
			has[r] = true
		}
		for _, w := range waits {
			for _, id := range w.For {
				other, ok := c.index[id]
				switch {
				case !ok || other == i || has[other]:
				case c.mayFollow(i, other):
					has[other] = true
					c.graph.Require(i, other)
				case !reported[w.Rule]:
					reported[w.Rule] = true
					e := c.groupOrderError(i, other, Requires, i)
					e.Rule = w.Rule
					errs = append(errs, e)
				}
			}
		}
	}
	return errs
}

// require adds the requirement of one task on another. writer is the task, one of the two, that has the relation. A
// requirement that the order of task groups contradicts is added to the errors.
func (c *nodeTasks) require(errs []*RelationError, later, earlier int, relation string, writer int) []*RelationError {
	if !c.mayFollow(later, earlier) {
		return append(errs, c.groupOrderError(later, earlier, relation, writer))
	}
	c.graph.add(later, earlier)
	return errs
}

// groupOrderError returns the error of a requirement that the order of task groups contradicts.
func (c *nodeTasks) groupOrderError(later, earlier int, relation string, writer int) *RelationError {
	return &RelationError{Code: invalid.BadStructure, Writer: c.tasks[writer], Relation: relation,
		Reference: c.names[later+earlier-writer],
		text: fmt.Sprintf("%s, in the task group %s, requires %s, in the task group %s, which comes later",
			c.names[later], c.tasks[later].Group, c.names[earlier], c.tasks[earlier].Group)}
}

// mayFollow reports whether the order of task groups lets one task come after another.
func (c *nodeTasks) mayFollow(later, earlier int) bool {
	a, b := c.tasks[later].Group, c.tasks[earlier].Group
	return a == b || groupPlace[a] >= groupPlace[b]
}

// cycleError returns the error of a cycle: each task requires the next, the last requires the first. It begins with the
// requirement that a rule makes, where one does.
func (c *nodeTasks) cycleError(cycle []int, constraints map[resource.ID]Constraints) *RelationError {
	e := &RelationError{Code: invalid.DependencyCycle}
	next := func(at int) (later, earlier int) { return cycle[at], cycle[(at+1)%len(cycle)] }
	for at := range cycle {
		later, earlier := next(at)
		if e.Rule = c.ruleOf(later, earlier, constraints); e.Rule != "" {
			cycle = slices.Concat(cycle[at:], cycle[:at])
			break
		}
	}
	for _, i := range cycle {
		e.text += string(c.names[i]) + " requires "
	}
	e.text += string(c.names[cycle[0]])
	later, earlier := next(0)
	e.Relation, e.Writer, e.Reference = c.relationOf(c.tasks[later], c.tasks[earlier])
	return e
}

// ruleOf returns the rule that makes a task require another; empty when a written relation does as well.
func (c *nodeTasks) ruleOf(later, earlier int, constraints map[resource.ID]Constraints) string {
	b, id := constraints[c.names[later]], c.names[earlier]
	relation, _, _ := c.relationOf(c.tasks[later], c.tasks[earlier])
	if relation != Requires || slices.Contains(b.After, id) {
		return ""
	}
	for _, w := range b.Waits {
		if slices.Contains(w.For, id) {
			return w.Rule
		}
	}
	return ""
}

// relationOf returns the parameter by which a task requires another, and the task that has it; [Requires] when no
// parameter does.
func (c *nodeTasks) relationOf(later, earlier task.Task) (relation string, writer task.Task, reference resource.ID) {
	for _, relation := range relations {
		writer, other := earlier, later
		if relation.first {
			writer, other = later, earlier
		}
		if slices.Contains(writer.Resource.References(relation.name), other.Resource.ID()) {
			return relation.name, writer, other.Resource.ID()
		}
	}
	return Requires, later, earlier.Resource.ID()
}

// unresolved returns the error for a reference to a missing resource. While there were few such errors before, it
// suggests a resource with almost the same id, or one of another type with the same title; never the referring
// resource.
func (c *nodeTasks) unresolved(t task.Task, relation string, id resource.ID, before int) *RelationError {
	e := &RelationError{Code: invalid.UnknownReference, Writer: t, Relation: relation, Reference: id,
		text: fmt.Sprintf("%s: %s: there is no %s", t.Resource.ID(), relation, id)}
	if before >= resource.MostHints {
		return e
	}
	wanted, title, _ := strings.Cut(string(id), "[")
	candidates := make([]string, 0, len(c.names))
	var namesake string
	for _, name := range c.names {
		if name == t.Resource.ID() {
			continue
		}
		candidates = append(candidates, string(name))
		switch typ, rest, _ := strings.Cut(string(name), "["); {
		case typ == wanted:
			e.Others = append(e.Others, strings.TrimSuffix(rest, "]"))
		case rest == title && (namesake == "" || string(name) < namesake):
			namesake = string(name)
		}
	}
	if near := resource.Nearest(string(id), candidates); near != "" {
		namesake = near
	}
	if e.Nearest = resource.ID(namesake); namesake != "" {
		e.Others = nil
		e.text += fmt.Sprintf("; did you mean %s?", namesake)
	}
	slices.Sort(e.Others)
	return e
}

// countRelations returns the number of requirements and notifications of all tasks.
func (c *nodeTasks) countRelations() int {
	n := 0
	for i := range c.tasks {
		n += len(c.graph.requires[i]) + len(c.notifies[i])
	}
	return n
}

// ids returns the resources of tasks, sorted, each once; nil for no tasks. All results share one array.
func (c *nodeTasks) ids(tasks []int) []resource.ID {
	if len(tasks) == 0 {
		return nil
	}
	start := len(c.buffer)
	for _, t := range tasks {
		if t < len(c.names) { // else it is a gate
			c.buffer = append(c.buffer, c.names[t])
		}
	}
	slices.Sort(c.buffer[start:])
	ids := slices.Compact(c.buffer[start:])
	c.buffer = c.buffer[:start+len(ids)]
	return slices.Clip(ids)
}
