package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	entity "github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Controller is the name under which [Applied] holds what ran on the controller: callbacks, by type and name.
const Controller = ""

// CallbackID is what a callback is known by in what is applied on the [Controller].
func CallbackID(t task.Task) resource.ID { return resource.MakeID(t.Resource.Type, t.Name) }

// onNode returns a task of a catalog for one node.
func onNode(t task.Task, node string) task.Task {
	t.Node = node
	if t.Kind == task.Callback {
		t.Name += "@" + node
	}
	return t
}

// callback is a callback of a service as a whole. It belongs to no node.
type callback struct {
	refine.EntityTask
	group int // in whose block it stands, where its task group repeats for each
	// secret says that it returns the value of a sensitive attribute. Such a value is not kept, so every run that needs it calls again.
	secret bool
}

// block returns the name of the group in whose block a callback stands.
func (m *model) block(c callback) string {
	if !slotOf(c.Task.Group).Repeats {
		return ""
	}
	return m.groups[c.group].Name
}

// where names a task group, with the deployment group where there is one of it in each.
func (m *model) where(g task.Group, group int) string {
	if !slotOf(g).Repeats || len(m.groups) == 1 {
		return fmt.Sprintf("the task group %s", g)
	}
	return fmt.Sprintf("the task group %s of the group %q", g, m.groups[group].Name)
}

func slotOf(g task.Group) sequence.Slot {
	slots := sequence.Slots()
	i := slices.IndexFunc(slots, func(s sequence.Slot) bool { return s.Group == g })
	if i < 0 {
		return sequence.Slot{Group: g}
	}
	return slots[i]
}

// turnOf numbers the places of a run: a task with a lower number is done before one with a higher number begins. group counts where the task group
// repeats for each.
func (m *model) turnOf(g task.Group, group int) int {
	slots := sequence.Slots()
	place := slices.IndexFunc(slots, func(s sequence.Slot) bool { return s.Group == g })
	switch {
	case place < 0:
		return 0
	case slots[place].Repeats:
		return len(slots)*(1+group) + place
	case place > slices.IndexFunc(slots, func(s sequence.Slot) bool { return s.Repeats }):
		return len(slots)*(1+len(m.groups)) + place
	default:
		return place
	}
}

// convene finds the callbacks of services as a whole. One whose task group repeats for each deployment group runs once: in pre_node of the first group
// with a node of the service, or in its task group of the last one. A service without nodes has none.
func (m *model) convene() {
	first, last := make(map[int]int), make(map[int]int) // service -> group
	for _, k := range m.kinds {
		for _, s := range k.services {
			if f, ok := first[s]; !ok || k.first < f {
				first[s] = k.first
			}
			last[s] = max(last[s], k.last)
		}
	}
	entities := make(map[string]*entity.Entity, len(m.site.Services))
	for _, s := range m.site.Services {
		entities[s.Name] = s.Entity
	}
	m.byService = make(map[string][]int)
	for s := range m.services.Len() {
		begin, placed := first[s]
		if !placed {
			continue
		}
		for _, t := range m.services.Central(s) {
			c := callback{t, last[s], returnsSecret(entities[m.services.Name(s)], t)}
			if t.Task.Group == task.PreNode {
				c.group = begin
			}
			m.byService[m.services.Name(s)] = append(m.byService[m.services.Name(s)], len(m.callbacks))
			m.callbacks = append(m.callbacks, c)
		}
	}
}

// checkCallbacks reports callbacks that cannot stand where they are tagged, and their requirements that the order of groups contradicts.
func (m *model) checkCallbacks() {
	report := func(c callback, at string, code site.Code, format string, args ...any) {
		m.problems = append(m.problems, entityProblem(c.Task, &c.EntityTask, at, code, format, args...))
	}
	for _, c := range m.callbacks {
		slot := slotOf(c.Task.Group)
		switch g := m.settings[c.group]; {
		case c.Task.Group == task.Prepare:
			report(c, ".tag", site.BadValue, "no task of a service can run in the task group %s, in which nodes are made ready; use %s", task.Prepare, task.PreNode)
		case slot.Locked && g.Rolling != nil:
			report(c, ".tag", site.BadValue, "the callback %s belongs to no node, so it cannot run in the task group %s of the rolling group %q, where every node is locked, worked on and unlocked "+
				"by itself; use %s or %s, or write per_node: true", c.Task.Name, c.Task.Group, g.Name, task.PreNode, task.Cluster)
		}
		own := m.turnOf(c.Task.Group, c.group)
		for _, need := range c.Needs {
			if need.Service != "" {
				m.problems = append(m.problems, m.unknownService(c.Task, &c.EntityTask, need.Service)...)
			}
			for _, i := range m.requiredCallbacks(c, need) {
				if other := m.callbacks[i]; m.turnOf(other.Task.Group, other.group) > own {
					report(c, ".requires", site.BadStructure, "the callback %s, in %s, requires the callback %s, in %s, which comes later; %s",
						c.Task.Name, m.where(c.Task.Group, c.group), other.Task.Name, m.where(other.Task.Group, other.group), changeTags)
				}
			}
			m.checkNodesBefore(c, own, need, report)
		}
	}
}

// checkNodesBefore reports the first task on a node that a callback requires and that comes after it.
func (m *model) checkNodesBefore(c callback, own int, need refine.Need, report func(callback, string, site.Code, string, ...any)) {
	for _, k := range m.kinds {
		for _, i := range k.catalog.meant(c, need) {
			t := k.catalog.tasks[i]
			if m.turnOf(t.Group, k.last) <= own {
				continue
			}
			node := k.nodes[slices.IndexFunc(k.nodes, func(n string) bool { return m.owner[n] == k.last })]
			report(c, ".requires", site.BadStructure, "the callback %s, in %s, requires %s on node %s, in %s, which comes later; %s",
				c.Task.Name, m.where(c.Task.Group, c.group), t.Resource.ID(), node, m.where(t.Group, k.last), changeTags)
			return
		}
	}
}

// requiredCallbacks returns the callbacks of services as a whole that a requirement of another one means.
func (m *model) requiredCallbacks(c callback, need refine.Need) []int {
	var out []int
	switch {
	case need.Service != "":
		out = slices.Clone(m.byService[need.Service])
	case need.Resource != "":
		for _, i := range m.byService[c.Task.Service] {
			if m.callbacks[i].Task.Resource.ID() == need.Resource {
				out = append(out, i)
			}
		}
	}
	return slices.DeleteFunc(out, func(i int) bool { return m.callbacks[i].Task.Name == c.Task.Name })
}

// meant returns the tasks of a catalog that a requirement of a callback for a whole service means: all on every node.
func (c *catalog) meant(by callback, need refine.Need) []int {
	service := need.Service
	if need.Task != "" && need.Resource == "" {
		service = by.Task.Service
	}
	if service == "" {
		return nil
	}
	var out []int
	for i, t := range c.tasks {
		if t.Service != service {
			continue
		}
		if d := c.details[t.Resource.ID()]; need.Service != "" || d != nil && d.Template == need.Task {
			out = append(out, i)
		}
	}
	return out
}

// wantedCallbacks returns the digest of every callback of the site, as [Applied] holds them.
func (m *model) wantedCallbacks() map[resource.ID]string {
	out := make(map[resource.ID]string)
	for _, c := range m.callbacks {
		out[CallbackID(c.Task)] = c.Task.Digest
	}
	for _, k := range m.kinds {
		for _, t := range k.catalog.tasks {
			if t.Kind != task.Callback {
				continue
			}
			for _, node := range k.nodes {
				out[CallbackID(onNode(t, node))] = t.Digest
			}
		}
	}
	return out
}

// returnsSecret reports whether a callback returns the value of a sensitive attribute.
func returnsSecret(e *entity.Entity, t refine.EntityTask) bool {
	for name := range t.Returns {
		if a, ok := e.Attribute(name); ok && a.Sensitive {
			return true
		}
	}
	return false
}

// lacksValue reports whether a value is not known that a callback returns, and that would be kept if it had been returned.
func (m *model) lacksValue(c callback) bool {
	if c.secret {
		return false
	}
	values := m.site.Values[c.Task.Service]
	for attribute := range c.Returns {
		if _, known := values[attribute]; !known {
			return true
		}
	}
	return false
}

// Called returns what is applied on the [Controller] after a run of the plan, from what was there before and the callbacks that the run began, by name with
// their digests, empty where they failed. A callback that the run did not come to counts as begun where an earlier run had called it, so that the next plan
// calls it. The arguments are not changed.
func (p *Plan) Called(before map[resource.ID]string, began map[string]string) map[resource.ID]string {
	out := maps.Clone(before)
	if out == nil {
		out = make(map[resource.ID]string)
	}
	for _, id := range p.Forgotten {
		delete(out, id)
	}
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			if t.Kind != task.Callback {
				continue
			}
			id := CallbackID(t)
			digest, reached := began[t.Name]
			if _, known := out[id]; reached || known {
				out[id] = digest
			}
		}
	}
	return out
}

// forgotten returns the callbacks that ran and are no longer wanted, sorted.
func (m *model) forgotten(called map[resource.ID]string) []resource.ID {
	if len(called) == 0 {
		return nil
	}
	wanted := m.wantedCallbacks()
	var out []resource.ID
	for id := range called {
		if _, ok := wanted[id]; !ok {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// checkCycles reports callbacks of services as a whole that wait for each other, directly or through tasks on nodes (litp.md 109). Tasks of one node alone
// have been looked at.
func (m *model) checkCycles() {
	if len(m.callbacks) == 0 || len(m.problems.Errors()) > 0 {
		return
	}
	first := make(map[*kind]int, len(m.kinds)) // vertex of its first task
	var tasks []task.Task
	for _, c := range m.callbacks {
		tasks = append(tasks, c.Task)
	}
	for _, k := range m.kinds {
		first[k] = len(tasks)
		tasks = append(tasks, k.catalog.tasks...)
	}
	s := sequence.NewScope(make([]sequence.Place, len(tasks)))
	for i, c := range m.callbacks {
		for _, need := range c.Needs {
			for _, other := range m.requiredCallbacks(c, need) {
				s.Require(i, other)
			}
			for _, k := range m.kinds {
				for _, at := range k.catalog.meant(c, need) {
					s.Require(i, first[k]+at)
				}
			}
		}
	}
	for _, k := range m.kinds {
		for at, t := range k.catalog.tasks {
			for _, id := range t.Requires {
				s.Require(first[k]+at, first[k]+k.catalog.index[id])
			}
			if d, ok := k.catalog.details[t.Resource.ID()]; ok {
				for _, i := range m.called(t, d) {
					s.Require(first[k]+at, i)
				}
			}
		}
	}
	_, cycles := s.Phases()
	for _, cycle := range cycles { // each begins with its lowest vertex, which is a callback
		names := make([]string, 0, len(cycle)+1)
		rule := ""
		for at, v := range append(slices.Clone(cycle), cycle[0]) {
			id := tasks[v].Resource.ID()
			names = append(names, string(id))
			for _, k := range m.kinds {
				if next := cycle[(at+1)%len(cycle)]; rule == "" && first[k] <= min(v, next) && max(v, next) < first[k]+len(k.catalog.tasks) {
					rule = k.catalog.because(id, tasks[next].Resource.ID())
				}
			}
		}
		c := m.callbacks[cycle[0]]
		m.problems = append(m.problems, entityProblem(c.Task, &c.EntityTask, ".requires", site.DependencyCycle,
			"tasks wait for each other: %s; leave one of these requirements out%s", strings.Join(names, " requires "), orRule(rule)))
	}
}
