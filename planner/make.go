package planner

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Make plans the work that brings a site from what is applied and drifted to what it desires. With an error among the problems
// the plan is nil; warnings come with the plan. Make is pure and deterministic, and its arguments are not changed; the plan
// shares parameter values with s.
func Make(s site.Site, applied Applied, drift Drift) (*Plan, site.Problems) {
	return makeWith(converge.Schemas(), s, applied, drift)
}

// Desired returns the configuration tasks of every node that is in a group, in the order of execution, with all requirements; a
// task has no action. A node without tasks has an entry all the same. With an error among the problems the map is nil. The tasks
// of one node are the caller's, what they point to is shared.
func Desired(s site.Site) (map[string][]task.Task, site.Problems) {
	return desiredWith(converge.Schemas(), s)
}

func makeWith(schemas map[string]resource.Schema, s site.Site, applied Applied, drift Drift) (*Plan, site.Problems) {
	m := newModel(schemas, s, applied)
	if len(m.problems.Errors()) > 0 {
		return nil, m.problems
	}
	p, err := m.plan(applied, drift)
	if err != nil {
		return nil, append(m.problems, site.Problem{Object: "deployment", Name: s.Name, Code: site.BadStructure, Message: err.Error()})
	}
	return p, m.problems
}

func desiredWith(schemas map[string]resource.Schema, s site.Site) (map[string][]task.Task, site.Problems) {
	m := newModel(schemas, s, nil)
	if len(m.problems.Errors()) > 0 {
		return nil, m.problems
	}
	out := make(map[string][]task.Task, len(m.wanted))
	for node, c := range m.wanted {
		tasks := make([]task.Task, len(c.tasks))
		for i, t := range c.tasks {
			t.Node = node
			tasks[i] = t
		}
		out[node] = tasks
	}
	return out, m.problems
}

// plan compares every node and puts the work in order.
func (m *model) plan(applied Applied, drift Drift) (*Plan, error) {
	p := &Plan{Site: m.site.Name, Groups: m.groups}
	for node, resources := range applied {
		if !m.isNode[node] && len(resources) > 0 {
			p.Departed = append(p.Departed, node)
		}
	}
	slices.Sort(p.Departed)

	work := make(map[sequence.Key][]task.Task)
	add := func(group string, t ...task.Task) {
		k := sequence.Key{TaskGroup: t[0].Group, Group: group}
		work[k] = append(work[k], t...)
	}
	nodes := append(slices.Collect(maps.Keys(m.isNode)), p.Departed...)
	slices.Sort(nodes)
	for _, node := range nodes {
		owner, ok := m.owner[node]
		if !ok {
			if len(applied[node]) > 0 {
				add("", task.Task{Node: node, Group: task.Cleanup, Action: task.Forget})
			}
			continue
		}
		tasks := m.compare(node, applied[node], drift[node])
		if len(tasks) == 0 {
			continue
		}
		add(m.groups[owner].Name, task.Task{Node: node, Group: task.Prepare, Action: task.PrepareNode})
		add(m.groups[owner].Name, tasks...)
	}
	order := make([]string, len(m.groups))
	for i, g := range m.groups {
		order[i] = g.Name
	}
	phases, err := sequence.Phases(order, work)
	if err != nil {
		return nil, err
	}
	for _, phase := range phases {
		p.Phases = append(p.Phases, Phase(phase))
	}
	p.Digest = digest(p, m.settings)
	return p, nil
}
