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

// schedule puts the services' tasks of one task group, in one deployment group where it repeats, into phases, with the given callbacks of services as a whole. Tasks that are all on configuration resources
// share one when none is of a priority class: each node puts them in order. Else phases of the three kinds alternate as requirements make it necessary (litp.md 97 to 103); a remote
// task has a phase of its own.
func (w *work) schedule(k sequence.Key, callbacks []int) ([][]task.Task, error) {
	tasks := slices.Concat(w.tasks[k]...)
	w.tasks[k] = nil
	calls := slices.ContainsFunc(callbacks, func(i int) bool { return w.due[i] })
	if !calls && !slices.ContainsFunc(tasks, func(t task.Task) bool { return t.Kind != task.Config || w.model.classOf(t) > 0 }) {
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
	work     *work
	tasks    []task.Task     // by vertex
	at       map[onPlace]int // vertices of tasks on nodes
	callback map[int]int     // callback of a service as a whole -> vertex
}

// onPlace names a task on a node.
type onPlace struct {
	node string
	id   resource.ID
}

// newScope makes a scope of the tasks that are to be done, and of the callbacks of services as a whole that need not run: these only hand on what
// they require.
func newScope(w *work, tasks []task.Task, callbacks []int) *scope {
	s := &scope{work: w, tasks: slices.Clone(tasks), at: make(map[onPlace]int), callback: make(map[int]int)}
	var places []sequence.Place
	for v, t := range s.tasks {
		places = append(places, sequence.Place{Callback: t.Kind != task.Config, Class: w.model.rank(t)})
		s.at[onPlace{t.Node, t.Resource.ID()}] = v
	}
	for _, i := range callbacks {
		t := w.model.callbacks[i].Task
		t.Action = task.Run
		s.callback[i] = len(s.tasks)
		s.tasks = append(s.tasks, t)
		places = append(places, sequence.Place{Callback: true, Skip: !w.due[i], Class: w.model.rank(t)})
	}
	s.Scope = sequence.NewScope(places)
	return s
}

func (s *scope) require() {
	s.requireOnNodes()
	s.requireCallbacks()
}

// align makes a remote task or callback begin on all nodes at the same time.
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

// requireOnNodes enters what tasks on nodes require.
func (s *scope) requireOnNodes() {
	layers := make(map[int]sequence.Layer)
	flush := func() {
		if len(layers) > 1 {
			s.Stack(layers)
		}
		clear(layers)
	}
	for v, t := range s.tasks {
		if v > 0 && t.Node != s.tasks[v-1].Node {
			flush()
		}
		c := s.work.model.wanted[t.Node]
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

// requireCallbacks enters what callbacks of services as a whole require.
func (s *scope) requireCallbacks() {
	m := s.work.model
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
			for _, k := range m.kinds {
				for _, i := range k.catalog.meant(c, need) {
					s.requireOn(v, k, i)
				}
			}
		}
	}
}

// requireCalls makes a vertex require the callbacks of services as a whole that a task of a catalog requires.
func (s *scope) requireCalls(v int, c *catalog, i int) {
	if c.calls == nil {
		return
	}
	for _, called := range c.calls[i] {
		if required, ok := s.callback[called]; ok {
			s.Require(v, required)
		}
	}
}

// requireOn makes a callback require a task of a catalog on every node. Where that need not be done, it stands for what it requires itself: tasks of the
// node, and callbacks of services as a whole (litp.md 94).
func (s *scope) requireOn(v int, k *kind, i int) {
	s.requireCalls(v, k.catalog, i)
	for _, node := range k.nodes {
		stands := []resource.ID{k.catalog.tasks[i].Resource.ID()}
		if stand := s.work.stand[node]; stand != nil {
			stands = stand[i]
		}
		for _, id := range stands {
			if required, ok := s.at[onPlace{node, id}]; ok {
				s.Require(v, required)
			}
		}
	}
}

// split gives every kind of task its own phases, and every remote task. What stands in one phase may be done in any order. Those of configuration
// resources are apart already.
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
		if c := s.work.model.wanted[t.Node]; rule == "" && c != nil {
			rule = c.because(t.Resource.ID(), s.tasks[cycle[(i+1)%len(cycle)]].Resource.ID())
		}
		name := string(t.Resource.ID())
		if t.Node != "" {
			name += " on node " + t.Node
		}
		names = append(names, name)
	}
	return fmt.Errorf("tasks of services wait for each other: %s; leave one of these requirements out%s", strings.Join(names, " requires "), orRule(rule))
}
