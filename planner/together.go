package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/plugin"
)

// Where several groups are worked on at once, groups that do not depend on each other may still have tasks that do:
//
//   - a callback of a service as a whole that stands in the block of one group: tasks of its service in other groups require it, or read what it
//     returns; or it requires tasks on nodes of other groups, those of its own service or of another one (litp.md 51, 57);
//   - a graph task on nodes of one group that comes after one on nodes of another (fuel.md A7).
//
// One group at a time keeps all this by its order. So such groups go one after the other, in that order, however many may be worked on at once.

// hold finds the groups that each group comes after for the sake of tasks, see [Group.After].
func (m *model) hold(works []plugin.Work) {
	before := make(map[[2]int]bool) // the first comes before the second
	order := func(a, b int) {
		if a != b {
			before[[2]int{min(a, b), max(a, b)}] = true
		}
	}
	m.holdCallbacks(order)
	m.holdActions(works, order)
	pairs := make([][2]int, 0, len(before))
	for pair := range before {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, pair := range pairs {
		g := &m.groups[pair[1]]
		g.After = append(g.After, m.groups[pair[0]].Name)
	}
}

// holdCallbacks orders the group of a callback of a service as a whole and all groups that hold a node of its service, or of one that it requires. A
// node of several groups may have its turn in any of them.
func (m *model) holdCallbacks(order func(a, b int)) {
	var holders map[string][]int // service -> groups
	for _, c := range m.callbacks {
		if !slotOf(c.Task.Group).Repeats {
			continue
		}
		if holders == nil {
			holders = m.holders()
		}
		services := []string{c.Task.Service}
		for _, need := range c.Needs {
			if need.Service != "" {
				services = append(services, need.Service)
			}
		}
		for _, service := range services {
			for _, g := range holders[service] {
				order(c.group, g)
			}
			for _, i := range m.byService[service] {
				if other := m.callbacks[i]; slotOf(other.Task.Group).Repeats {
					order(c.group, other.group)
				}
			}
		}
	}
}

// holders returns the groups that hold a node of each service, ascending.
func (m *model) holders() map[string][]int {
	kinds := make(map[string]*kind, len(m.wanted))
	for _, k := range m.kinds {
		for _, node := range k.nodes {
			kinds[node] = k
		}
	}
	out := make(map[string][]int)
	for i, g := range m.groups {
		seen := make(map[*kind]bool)
		for _, node := range g.Members {
			k := kinds[node]
			if k == nil || seen[k] {
				continue
			}
			seen[k] = true
			for _, s := range k.services {
				name := m.services.Name(s)
				if list := out[name]; len(list) == 0 || list[len(list)-1] != i {
					out[name] = append(list, i)
				}
			}
		}
	}
	return out
}

// holdActions orders the groups of nodes that run one graph task and those of nodes that run one that comes before it.
func (m *model) holdActions(works []plugin.Work, order func(a, b int)) {
	places := placesOf(works)
	seen := make(map[[2]int]bool)
	for i, later := range works {
		for _, at := range later.After {
			pair := [2]int{places[i], places[at]}
			if seen[pair] || later.Span == plugin.AfterDeploy || works[at].Span == plugin.AfterDeploy {
				continue
			}
			seen[pair] = true
			waiting := m.groupsOf(later.Nodes, works[at].Nodes)
			for _, first := range m.groupsOf(works[at].Nodes, nil) {
				for _, g := range waiting {
					order(first, g)
				}
			}
		}
	}
}

// groupsOf returns the groups that own nodes which are not among others, ascending.
func (m *model) groupsOf(nodes, others []string) []int {
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
