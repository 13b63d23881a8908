package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Make returns the plan that brings a site from what is applied, and what has drifted, to its desired state. With an
// error among the problems the plan is nil; warnings come with a plan. Make is pure and does not change its arguments.
// The plan shares parameter values with s.
func Make(s site.Site, applied Applied, drift Drift) (*Plan, site.Problems) {
	return (*Cache)(nil).Make(s, applied, drift)
}

// Desired returns the configuration tasks of every node that is in a group, in the order of execution. These tasks can
// drift: a task that is not remembered (persist = false), or that waits for the value of a callback, is left out. A
// task has all its requirements and no action. A node without tasks has an empty list. With an error among the problems
// the map is nil. The lists belong to the caller; what their tasks point to is shared.
func Desired(s site.Site) (map[string][]task.Task, site.Problems) {
	return (*Cache)(nil).Desired(s)
}

// AppliedAfter returns what is applied on every node that is in a group after a complete run: configuration resources,
// actions of plugins, remote tasks and callbacks. With an error among the problems it is nil.
func AppliedAfter(s site.Site) (Applied, site.Problems) {
	m := newModel(schema.Types(), s, nil, nil)
	if len(m.problems.Errors()) > 0 {
		return nil, m.problems
	}
	out := make(Applied, len(m.wanted))
	for node, c := range m.wanted {
		actions := m.actionsOf(node).actions
		out[node] = make(map[resource.ID]string, len(c.tasks)+len(actions))
		for _, t := range c.tasks {
			if t.Kind != task.Callback {
				out[node][t.Resource.ID()] = t.Digest
			}
		}
		for _, i := range actions {
			t := m.actions[i].task
			out[node][t.Resource.ID()] = t.Digest
		}
	}
	if called := m.wantedCallbacks(); len(called) > 0 {
		out[Controller] = called
	}
	return out, m.problems
}

func (m *model) make(applied Applied, drift Drift) (*Plan, site.Problems) {
	if len(m.problems.Errors()) > 0 {
		return nil, m.problems
	}
	for _, node := range slices.Sorted(maps.Keys(m.wanted)) {
		if n := len(m.wanted[node].tasks); n > schema.MostResources {
			return nil, append(m.problems, site.Problem{Object: "node", Name: node, Code: site.BadStructure,
				Message: fmt.Sprintf(
					"has %d resources, and a site may have at most %d on a node; give many like files as one archive, or spread them over sites", n, schema.MostResources)})
		}
	}
	p, err := m.plan(applied, drift)
	if err != nil {
		return nil, append(m.problems, site.Problem{Object: "deployment", Name: m.site.Name, Code: site.BadStructure,
			Message: err.Error()})
	}
	return p, m.problems
}

// desired returns what [Desired] documents.
func (m *model) desired() (map[string][]task.Task, site.Problems) {
	if len(m.problems.Errors()) > 0 {
		return nil, m.problems
	}
	out := make(map[string][]task.Task, len(m.wanted))
	for node, c := range m.wanted {
		tasks := make([]task.Task, 0, len(c.tasks))
		for _, t := range c.tasks {
			if c.details != nil && (!c.drifts(t) || len(t.Pending) > 0) {
				continue
			}
			t.Node = node
			tasks = append(tasks, t)
		}
		out[node] = tasks
	}
	return out, m.problems
}

// spareNew returns the groups, each with its nodes that need no lock because nothing is applied on them yet.
func (m *model) spareNew(applied Applied) []Group {
	groups := slices.Clone(m.groups)
	for i, settings := range m.settings {
		if r := settings.Rolling; r == nil || !r.SpareNew || !groups[i].Locked {
			continue
		}
		for _, node := range groups[i].Owned {
			if len(applied[node]) == 0 {
				groups[i].Unlocked = append(groups[i].Unlocked, node)
			}
		}
	}
	return groups
}

// plan compares every node with what is applied and orders the changes into phases.
func (m *model) plan(applied Applied, drift Drift) (*Plan, error) {
	p := &Plan{Site: m.site.Name, Groups: m.spareNew(applied), Forgotten: m.forgotten(applied[Controller]), model: m}
	for node, resources := range applied {
		if !m.isNode[node] && node != Controller && len(resources) > 0 && m.includes == nil {
			p.Departed = append(p.Departed, node)
		}
	}
	slices.Sort(p.Departed)

	w := newPhaseBuilder(m)
	nodes := append(slices.Collect(maps.Keys(m.isNode)), p.Departed...)
	slices.Sort(nodes)
	for _, node := range nodes {
		owner, ok := m.owner[node]
		if !ok {
			if len(applied[node]) > 0 && m.includes == nil {
				w.add("", task.Task{Node: node, Group: task.Cleanup, Action: task.Forget})
			}
			continue
		}
		w.addNode(node, owner, m.compare(node, applied, drift[node]))
	}
	w.markDue(applied[Controller])
	var err error
	if p.Phases, err = w.phases(); err != nil {
		return nil, err
	}
	p.Digest = digest(p, m.settings)
	return p, nil
}
