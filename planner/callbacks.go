package planner

import (
	"maps"
	"slices"
	"strings"

	entity "github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// onNode returns a task of a list for one node.
func onNode(t task.Task, node string) task.Task {
	t.Node = node
	if t.Kind == task.Callback {
		t.Name += "@" + node
	}
	return t
}

// collectCallbacks collects the callbacks of whole services. A callback whose task group repeats runs once: in pre_node
// of the first group with a node of the service, or in its task group of the last one. A service without nodes has no
// callbacks.
func (b *desiredBuilder) collectCallbacks() {
	first, last := make(map[int]int), make(map[int]int) // service -> group
	for _, k := range b.nodeSets {
		for _, s := range k.services {
			if f, ok := first[s]; !ok || k.first < f {
				first[s] = k.first
			}
			last[s] = max(last[s], k.last)
		}
	}
	entities := make(map[string]*entity.Entity, len(b.site.Services))
	for _, s := range b.site.Services {
		entities[s.Name] = s.Entity
	}
	b.byService = make(map[string][]int)
	for s := range b.services.Len() {
		begin, placed := first[s]
		if !placed {
			continue
		}
		for _, t := range b.services.Central(s) {
			c := callback{t, last[s], returnsSecret(entities[b.services.Name(s)], t)}
			if t.Task.Group == task.PreNode {
				c.group = begin
			}
			b.byService[b.services.Name(s)] = append(b.byService[b.services.Name(s)], len(b.callbacks))
			b.callbacks = append(b.callbacks, c)
		}
	}
}

// checkCallbacks reports callbacks whose tag is not allowed, and requirements that the order of groups contradicts.
func (b *desiredBuilder) checkCallbacks() {
	report := func(c callback, at string, code invalid.Code, format string, args ...any) {
		b.errs = append(b.errs, entityError(c.Task, &c.EntityTask, at, code, format, args...))
	}
	for _, c := range b.callbacks {
		slot := sequence.SlotOf(c.Task.Group)
		switch g := b.settings[c.group]; {
		case c.Task.Group == task.Prepare:
			report(c, ".tag", invalid.BadValue,
				"no task of a service can run in the task group %s, in which nodes are made ready; use %s", task.Prepare,
				task.PreNode)
		case slot.Locked && g.Rolling != nil:
			report(c, ".tag", invalid.BadValue,
				"the callback %s belongs to no node, so it cannot run in the task group %s of the rolling group %q, where every node is locked, worked on and unlocked "+
					"by itself; use %s or %s, or write per_node: true", c.Task.Name, c.Task.Group, g.Name, task.PreNode,
				task.Cluster)
		}
		own := b.position(c.Task.Group, c.group)
		for _, need := range c.Needs {
			if need.Service != "" {
				b.errs = append(b.errs, b.unknownService(c.Task, &c.EntityTask, need.Service)...)
			}
			for _, i := range b.requiredCallbacks(c, need) {
				if other := b.callbacks[i]; b.position(other.Task.Group, other.group) > own {
					report(c, ".requires", invalid.BadStructure,
						"the callback %s, in %s, requires the callback %s, in %s, which comes later; %s",
						c.Task.Name, b.describePosition(c.Task.Group, c.group), other.Task.Name,
						b.describePosition(other.Task.Group, other.group), changeTags)
				}
			}
			b.checkNodesBefore(c, own, need, report)
		}
	}
}

// checkNodesBefore reports the first task on a node that a callback requires and that runs after it.
func (b *desiredBuilder) checkNodesBefore(c callback, own int, need refine.Need,
	report func(callback, string, invalid.Code, string, ...any)) {
	for _, k := range b.nodeSets {
		for _, i := range k.list.requiredTasks(c, need) {
			t := k.list.tasks[i]
			if b.position(t.Group, k.last) <= own {
				continue
			}
			node := k.nodes[slices.IndexFunc(k.nodes, func(n string) bool { return b.owner[n] == k.last })]
			report(c, ".requires", invalid.BadStructure,
				"the callback %s, in %s, requires %s on node %s, in %s, which comes later; %s",
				c.Task.Name, b.describePosition(c.Task.Group, c.group), t.Resource.ID(), node,
				b.describePosition(t.Group, k.last), changeTags)
			return
		}
	}
}

// requiredCallbacks returns the callbacks of whole services that a requirement of another callback names.
func (d *desired) requiredCallbacks(c callback, need refine.Need) []int {
	var out []int
	switch {
	case need.Service != "":
		out = slices.Clone(d.byService[need.Service])
	case need.Resource != "":
		for _, i := range d.byService[c.Task.Service] {
			if d.callbacks[i].Task.Resource.ID() == need.Resource {
				out = append(out, i)
			}
		}
	}
	return slices.DeleteFunc(out, func(i int) bool { return d.callbacks[i].Task.Name == c.Task.Name })
}

// requiredTasks returns the tasks of a list that a requirement of a callback of a whole service names.
func (l *taskList) requiredTasks(by callback, need refine.Need) []int {
	service := need.Service
	if need.Task != "" && need.Resource == "" {
		service = by.Task.Service
	}
	if service == "" {
		return nil
	}
	var out []int
	for i, t := range l.tasks {
		if t.OwnedBy(service) && (need.Service != "" || l.isFrom(t.Resource.ID(), service, need.Task)) {
			out = append(out, i)
		}
	}
	return out
}

// isFrom reports whether a task of a list is made from a template of a service's entity.
func (l *taskList) isFrom(id resource.ID, service, template string) bool {
	is := func(d *refine.EntityTask) bool { return d.Task.Service == service && d.Template == template }
	d := l.details[id]
	return d != nil && is(d) || slices.ContainsFunc(l.again[id], is)
}

// wantedCallbacks returns the digest of every callback of the site by [CallbackID].
func (d *desired) wantedCallbacks() map[resource.ID]string {
	out := make(map[resource.ID]string)
	for _, c := range d.callbacks {
		out[CallbackID(c.Task)] = c.Task.Digest
	}
	for _, k := range d.nodeSets {
		for _, t := range k.list.tasks {
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

// lacksValue reports whether a value that a callback returns is not known. Secrets do not count: they are never kept.
func (d *desired) lacksValue(c callback) bool {
	if c.secret {
		return false
	}
	values := d.site.Values[c.Task.Service]
	for attribute := range c.Returns {
		if _, known := values[attribute]; !known {
			return true
		}
	}
	return false
}

// Called returns what is applied on the [Controller] after a run of the plan. before is what was applied there before;
// began holds the callbacks that the run started, by name, with their digests, empty for one that failed. A callback
// that the run did not reach, and that was called before, counts as not finished, so that the next plan calls it. The
// arguments are not changed.
func (p *Plan) Called(before map[resource.ID]string, began map[string]string) map[resource.ID]string {
	out := maps.Clone(before)
	if out == nil {
		out = make(map[resource.ID]string)
	}
	for _, id := range p.Forgotten {
		delete(out, id)
	}
	for _, id := range p.Postponed {
		if _, known := out[id]; known {
			out[id] = ""
		}
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
func (d *desired) forgotten(called map[resource.ID]string) []resource.ID {
	if len(called) == 0 {
		return nil
	}
	wanted := d.wantedCallbacks()
	var out []resource.ID
	for id := range called {
		if _, ok := wanted[id]; !ok {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// checkCycles reports cycles through callbacks of whole services and tasks of nodes (litp.md 109). [sequence.OrderNode]
// reports cycles of one node alone.
func (b *desiredBuilder) checkCycles() {
	if len(b.callbacks) == 0 || len(b.errs.Errors()) > 0 {
		return
	}
	first := make(map[*nodeSet]int, len(b.nodeSets)) // vertex of its first task
	var tasks []task.Task
	for _, c := range b.callbacks {
		tasks = append(tasks, c.Task)
	}
	for _, k := range b.nodeSets {
		first[k] = len(tasks)
		tasks = append(tasks, k.list.tasks...)
	}
	s := sequence.NewScope(make([]sequence.Place, len(tasks)))
	for i, c := range b.callbacks {
		for _, need := range c.Needs {
			for _, other := range b.requiredCallbacks(c, need) {
				s.Require(i, other)
			}
			for _, k := range b.nodeSets {
				for _, at := range k.list.requiredTasks(c, need) {
					s.Require(i, first[k]+at)
				}
			}
		}
	}
	for _, k := range b.nodeSets {
		for at, t := range k.list.tasks {
			for _, id := range t.Requires {
				s.Require(first[k]+at, first[k]+k.list.index[id])
			}
			if d, ok := k.list.details[t.Resource.ID()]; ok {
				for _, i := range b.namedCallbacks(t, d) {
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
			for _, k := range b.nodeSets {
				if next := cycle[(at+1)%len(cycle)]; rule == "" && first[k] <= min(v, next) && max(v, next) < first[k]+
					len(k.list.tasks) {
					rule = k.list.ruleBetween(id, tasks[next].Resource.ID())
				}
			}
		}
		c := b.callbacks[cycle[0]]
		b.errs = append(b.errs, entityError(c.Task, &c.EntityTask, ".requires", invalid.DependencyCycle,
			"tasks wait for each other: %s; leave one of these requirements out%s", strings.Join(names, " requires "),
			orRule(rule)))
	}
}
