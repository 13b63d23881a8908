package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/plugin"
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
	pairs := make([][2]int, 0, len(before))
	for pair := range before {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
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
		if !slotOf(c.Task.Group).Repeats {
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
				if other := d.callbacks[i]; slotOf(other.Task.Group).Repeats {
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
