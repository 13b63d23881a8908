package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
)

// Groups that do not depend on each other may have tasks that do:
//
//   - a callback of a whole service runs in one group, and tasks of its service in other groups require it, or read
//     what it returns; or it requires tasks on nodes of other groups (litp.md 51, 57);
//   - a graph task on nodes of one group comes after a graph task on nodes of another (fuel.md A7).
//
// The order of groups keeps these requirements when one group runs at a time. When several groups may run at the same
// time, such groups still run one after the other, in that order.

// orderGroups returns [Group.After] of each group.
func (d *desired) orderGroups(works []plugin.NodeTask) [][]string {
	before := make(map[[2]int]bool) // the first comes before the second
	order := func(a, b int) {
		if a != b {
			before[[2]int{min(a, b), max(a, b)}] = true
		}
	}
	d.orderByCallbacks(order)
	d.orderByActions(works, order)
	pairs := slices.SortedFunc(maps.Keys(before), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	after := make([][]string, len(d.groups))
	for _, pair := range pairs {
		after[pair[1]] = append(after[pair[1]], d.groups[pair[0]].Name)
	}
	return after
}

// orderByCallbacks orders the group of a callback of a whole service and all groups with a node of its service, or of a
// service that it requires. A node of several groups may run in any of them.
func (d *desired) orderByCallbacks(order func(a, b int)) {
	var groups map[string][]int // service -> groups
	for _, c := range d.callbacks {
		if !sequence.SlotOf(c.Task.Group).Repeats {
			continue
		}
		if groups == nil {
			groups = d.groupsByService()
		}
		services := []string{c.Task.Service}
		for _, need := range c.Needs {
			if need.Service != "" {
				services = append(services, need.Service)
			}
		}
		for _, service := range services {
			for _, g := range groups[service] {
				order(c.group, g)
			}
			for _, i := range d.byService[service] {
				if other := d.callbacks[i]; sequence.SlotOf(other.Task.Group).Repeats {
					order(c.group, other.group)
				}
			}
		}
	}
}

// groupsByService returns the indexes of the groups with a node of each service, ascending.
func (d *desired) groupsByService() map[string][]int {
	kinds := make(map[string]*nodeSet, len(d.wanted))
	for _, k := range d.nodeSets {
		for _, node := range k.nodes {
			kinds[node] = k
		}
	}
	out := make(map[string][]int)
	for i, g := range d.groups {
		seen := make(map[*nodeSet]bool)
		for _, node := range g.Members {
			k := kinds[node]
			if k == nil || seen[k] {
				continue
			}
			seen[k] = true
			for _, s := range k.services {
				name := d.services.Name(s)
				if list := out[name]; len(list) == 0 || list[len(list)-1] != i {
					out[name] = append(list, i)
				}
			}
		}
	}
	return out
}

// orderByActions orders the groups whose nodes run a graph task and those whose nodes run one that comes before it.
func (d *desired) orderByActions(works []plugin.NodeTask, order func(a, b int)) {
	positions := positionsOf(works)
	seen := make(map[[2]int]bool)
	for i, later := range works {
		for _, at := range later.After {
			pair := [2]int{positions[i], positions[at]}
			if seen[pair] || later.Span == plugin.AfterDeploy || works[at].Span == plugin.AfterDeploy {
				continue
			}
			seen[pair] = true
			waiting := d.groupsOf(later.Nodes, works[at].Nodes)
			for _, first := range d.groupsOf(works[at].Nodes, nil) {
				for _, g := range waiting {
					order(first, g)
				}
			}
		}
	}
}

// groupsOf returns the indexes of the groups that own nodes, ascending. Nodes that are also in others do not count.
func (m *membership) groupsOf(nodes, others []string) []int {
	seen := make(map[int]bool)
	var out []int
	for _, node := range nodes {
		if _, both := slices.BinarySearch(others, node); !both && !seen[m.owner[node]] {
			seen[m.owner[node]] = true
			out = append(out, m.owner[node])
		}
	}
	slices.Sort(out)
	return out
}

// checkGraphOrder reports requirements between graph tasks that the order of groups contradicts. A node that runs both
// tasks keeps their order by itself. Any other node must wait for all nodes of the earlier task.
func (m *membership) checkGraphOrder(works []plugin.NodeTask) invalid.Errors {
	var errs invalid.Errors
	positions := positionsOf(works)
	seen := make(map[[2]int]conflict) // places of the later task and the earlier one
	for i, later := range works {
		for _, at := range later.After {
			earlier := works[at]
			pair := [2]int{positions[i], positions[at]}
			c, known := seen[pair]
			if !known {
				c = m.conflict(later, earlier)
				seen[pair] = c
			}
			if c.waits == "" {
				continue
			}
			errs = append(errs, invalid.Error{
				Object: "plugin", Name: later.Plugin.Name,
				Attribute: fmt.Sprintf("graph_tasks[%d].requires", later.Index), Code: invalid.BadStructure,
				Message: fmt.Sprintf("the task %q of node %s, in the group %q, must come after the task %q of node %s, in the group %q, but that group is rolled out later; "+
					"change the order of the groups, or let %q run after all groups: requires: [%s]",
					later.Task.ID, c.waits, m.groupOf(c.waits), earlier.Task.ID, c.late, m.groupOf(c.late),
					later.Task.ID, plugin.PostDeploymentStart),
			})
		}
	}
	return errs
}

// positionsOf numbers the positions of graph tasks: tasks with the same nodes and span have the same number.
func positionsOf(works []plugin.NodeTask) []int {
	numbers := make(map[string]int)
	out := make([]int, len(works))
	for i, w := range works {
		key := fmt.Sprintf("%d %s", w.Span, strings.Join(w.Nodes, " "))
		n, ok := numbers[key]
		if !ok {
			n = len(numbers)
			numbers[key] = n
		}
		out[i] = n
	}
	return out
}

// conflict is a node that runs before another one that it must wait for. The zero value is no conflict.
type conflict struct{ waits, late string }

func (m *membership) conflict(later, earlier plugin.NodeTask) conflict {
	late, last := earlier.Nodes[0], m.spanPosition(earlier.Span, earlier.Nodes[0])
	for _, n := range earlier.Nodes[1:] {
		if t := m.spanPosition(earlier.Span, n); t > last {
			late, last = n, t
		}
	}
	for _, n := range later.Nodes {
		if _, both := slices.BinarySearch(earlier.Nodes, n); !both && m.spanPosition(later.Span, n) < last {
			return conflict{n, late}
		}
	}
	return conflict{}
}

// spanPosition numbers the blocks of a run: for each group pre_node and cluster, then post_cluster.
func (m *membership) spanPosition(span plugin.Span, node string) int {
	switch span {
	case plugin.BeforeDeploy:
		return 2 * m.owner[node]
	case plugin.InDeploy:
		return 2*m.owner[node] + 1
	default:
		return 2 * len(m.groups)
	}
}

func (m *membership) groupOf(node string) string { return m.groups[m.owner[node]].Name }
