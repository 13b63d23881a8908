package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// schedule splits the tasks that services have in one task group, and the given callbacks of whole services, into
// phases. Configuration resources share one phase when no task has a priority class: each node orders them. Otherwise
// phases of the three kinds of tasks alternate as their requirements need (litp.md 97 to 103). A remote task has a
// phase of its own.
func (w *phaseBuilder) schedule(k sequence.Key, callbacks []int) ([][]task.Task, error) {
	tasks := slices.Concat(w.tasks[k]...)
	w.tasks[k] = nil
	calls := slices.ContainsFunc(callbacks, func(i int) bool { return w.due[i] })
	if !calls && !slices.ContainsFunc(tasks, func(t task.Task) bool {
		return t.Kind != task.Config ||
			w.classOf(t) > 0
	}) {
		if len(tasks) == 0 {
			return nil, nil
		}
		return [][]task.Task{tasks}, nil
	}
	s := newScope(w, tasks, callbacks)
	s.require()
	s.align()
	phases, cycles := s.Phases()
	if len(cycles) > 0 { // perhaps only because nodes differ
		s = newScope(w, tasks, callbacks)
		s.require()
		phases, cycles = s.Phases()
	}
	if len(cycles) > 0 {
		return nil, s.cycleError(cycles[0])
	}
	var out [][]task.Task
	for _, phase := range phases { // by node, and on a node in the order of execution
		out = append(out, s.split(phase)...)
	}
	return out, nil
}

// scope is the tasks of one task group while they are put into phases.
type scope struct {
	*sequence.Scope
	builder  *phaseBuilder
	tasks    []task.Task     // by vertex
	at       map[onPlace]int // vertices of tasks on nodes
	callback map[int]int     // callback of a service as a whole -> vertex
}

// onPlace names a task on a node.
type onPlace struct {
	node string
	id   resource.ID
}

// newScope returns a scope of the tasks that are to be done and of callbacks of whole services. A callback that is not
// due only passes on what it requires.
func newScope(w *phaseBuilder, tasks []task.Task, callbacks []int) *scope {
	s := &scope{builder: w, tasks: slices.Clone(tasks), at: make(map[onPlace]int), callback: make(map[int]int)}
	var places []sequence.Place
	for v, t := range s.tasks {
		places = append(places, sequence.Place{Callback: t.Kind != task.Config, Class: w.rank(t)})
		s.at[onPlace{t.Node, t.Resource.ID()}] = v
	}
	for _, i := range callbacks {
		t := w.callbacks[i].Task
		t.Action = task.Run
		s.callback[i] = len(s.tasks)
		s.tasks = append(s.tasks, t)
		places = append(places, sequence.Place{Callback: true, Skip: !w.due[i], Class: w.rank(t)})
	}
	s.Scope = sequence.NewScope(places)
	return s
}

func (s *scope) require() {
	s.requireOnNodes()
	s.requireCallbacks()
}

// align makes each remote task, and each callback per node, start in the same phase on all nodes.
func (s *scope) align() {
	index := make(map[resource.ID]int)
	var sets [][]int
	for v, t := range s.tasks {
		if t.Kind == task.Config || t.Node == "" {
			continue
		}
		i, ok := index[t.Resource.ID()]
		if !ok {
			i = len(sets)
			index[t.Resource.ID()] = i
			sets = append(sets, nil)
		}
		sets[i] = append(sets[i], v)
	}
	s.Align(sets)
}

// requireOnNodes adds the requirements of tasks on nodes.
func (s *scope) requireOnNodes() {
	layers := make(map[int]sequence.Layer)
	flush := func() {
		if len(layers) > 1 {
			s.AddSections(layers)
		}
		clear(layers)
	}
	for v, t := range s.tasks {
		if v > 0 && t.Node != s.tasks[v-1].Node {
			flush()
		}
		c := s.builder.wanted[t.Node]
		if t.Node == "" || c == nil {
			continue
		}
		for _, id := range t.Requires {
			if required, ok := s.at[onPlace{t.Node, id}]; ok {
				s.Require(v, required)
			}
		}
		i, wanted := c.index[t.Resource.ID()]
		if !wanted {
			continue // it is removed
		}
		if c.layers != nil {
			layers[v] = c.layers[i]
		}
		s.requireCalls(v, c, i)
	}
	flush()
}

// requireCallbacks adds the requirements of callbacks of whole services.
func (s *scope) requireCallbacks() {
	m := s.builder
	for i, c := range m.callbacks {
		v, ok := s.callback[i]
		if !ok {
			continue
		}
		for _, need := range c.Needs {
			for _, other := range m.requiredCallbacks(c, need) {
				if required, ok := s.callback[other]; ok {
					s.Require(v, required)
				}
			}
			for _, k := range m.nodeSets {
				for _, i := range k.list.requiredTasks(c, need) {
					s.requireOn(v, k, i)
				}
			}
		}
	}
}

// requireCalls adds the callbacks of whole services that the i-th task of a list requires, as requirements of vertex v.
func (s *scope) requireCalls(v int, c *taskList, i int) {
	if c.calls == nil {
		return
	}
	for _, called := range c.calls[i] {
		if required, ok := s.callback[called]; ok {
			s.Require(v, required)
		}
	}
}

// requireOn makes vertex v require the i-th task of a node set on every node. A task that is left out is replaced by
// what it requires: tasks of the node, and callbacks of whole services (litp.md 94).
func (s *scope) requireOn(v int, k *nodeSet, i int) {
	s.requireCalls(v, k.list, i)
	for _, node := range k.nodes {
		stands := []resource.ID{k.list.tasks[i].Resource.ID()}
		if stand := s.builder.standIns[node]; stand != nil {
			stands = stand[i]
		}
		for _, id := range stands {
			if required, ok := s.at[onPlace{node, id}]; ok {
				s.Require(v, required)
			}
		}
	}
}

// split gives each kind of task, and each remote task, a phase of its own. The tasks of one phase may be done in any
// order.
func (s *scope) split(phase []int) [][]task.Task {
	type part struct {
		kind task.Kind
		name string
	}
	index := make(map[part]int)
	var parts []part
	var out [][]task.Task
	for _, v := range phase {
		t := s.tasks[v]
		p := part{kind: t.Kind}
		if t.Kind == task.Remote {
			p.name = t.Name
		}
		i, ok := index[p]
		if !ok {
			i = len(out)
			index[p] = i
			parts = append(parts, p)
			out = append(out, nil)
		}
		out[i] = append(out[i], t)
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(parts[a].kind, parts[b].kind), strings.Compare(parts[a].name, parts[b].name))
	})
	sorted := make([][]task.Task, len(out))
	for to, from := range order {
		sorted[to] = out[from]
	}
	return sorted
}

func (s *scope) cycleError(cycle sequence.Cycle) error {
	names := make([]string, 0, len(cycle)+1)
	rule := ""
	for i, v := range append(slices.Clone(cycle), cycle[0]) {
		t := s.tasks[v]
		if c := s.builder.wanted[t.Node]; rule == "" && c != nil {
			rule = c.ruleBetween(t.Resource.ID(), s.tasks[cycle[(i+1)%len(cycle)]].Resource.ID())
		}
		name := string(t.Resource.ID())
		if t.Node != "" {
			name += " on node " + t.Node
		}
		names = append(names, name)
	}
	return fmt.Errorf("tasks of services wait for each other: %s; leave one of these requirements out%s",
		strings.Join(names, " requires "), orRule(rule))
}

// classOf returns the number of a planned task's priority class, from 1; 0 is no class, as for a removal.
func (d *desired) classOf(t task.Task) int {
	if d.rules == nil || len(d.rules.Classes) == 0 {
		return 0
	}
	if c := d.wanted[t.Node]; c != nil {
		if i, ok := c.index[t.Resource.ID()]; ok && c.classes != nil {
			return c.classes[i]
		}
		return 0
	}
	if of := d.rules.entities[t.Service]; of != nil && t.Node == "" { // a callback of a service as a whole
		return d.rules.class(t, d.rules.section(t, of.Section))
	}
	return 0
}

// rank returns the rank of a task among phases: removals first, then priority classes, and 0, the last, without a
// class.
func (d *desired) rank(t task.Task) int {
	class := d.classOf(t)
	switch {
	case t.Action == task.Remove && d.rules != nil && len(d.rules.Classes) > 0:
		return 1
	case class > 0:
		return class + 1
	}
	return 0
}

// phaseBuilder collects the tasks of a plan by task group and returns its phases.
type phaseBuilder struct {
	*changes
	tasks   map[sequence.Key][][]task.Task // as they were added
	unlocks map[int][]task.Task            // group -> tasks
	checks  map[int][]task.Task            // likewise
	runs    []map[int][]task.Task          // action -> group -> tasks
	// What follows serves callbacks of services as a whole.
	busy     activity
	standIns map[string][][]resource.ID // node -> what replaces each of its tasks as a requirement
	due      []bool                     // by callback
}
