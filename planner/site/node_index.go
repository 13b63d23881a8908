package site

import "slices"

// NodeIndex finds the nodes that selectors select without looking at every node. The nodes must not change while it is
// used.
type NodeIndex struct {
	nodes  []Node
	names  []string // of the nodes, in their order
	known  map[string][]int
	tags   map[string][]int
	racks  map[string][]int
	labels map[label][]int
}

// NewNodeIndex returns an index of nodes. Its time and memory are in proportion to the nodes with their tags and
// labels.
func NewNodeIndex(nodes []Node) *NodeIndex {
	inv := &NodeIndex{
		nodes: nodes, names: NodeNames(nodes), known: make(map[string][]int, len(nodes)),
		tags: make(map[string][]int), racks: make(map[string][]int), labels: make(map[label][]int),
	}
	for i, n := range nodes {
		inv.known[n.Name] = append(inv.known[n.Name], i)
		inv.racks[n.Rack] = append(inv.racks[n.Rack], i)
		for _, tag := range n.Tags {
			inv.tags[tag] = append(inv.tags[tag], i)
		}
		for key, value := range n.Labels {
			l := label{key, value}
			inv.labels[l] = append(inv.labels[l], i)
		}
	}
	return inv
}

// Members is [Selectors.Members] for the nodes of the index.
func (inv *NodeIndex) Members(s Selectors) []string {
	if len(s) == 0 {
		return s.Members(inv.nodes)
	}
	members := []string{}
	for _, selector := range s {
		m := selector.compile()
		candidates, bounded := inv.candidates(m)
		if !bounded {
			return s.Members(inv.nodes) // a selector without criteria: every node
		}
		for _, i := range candidates {
			if m.matches(inv.nodes[i]) {
				members = append(members, inv.names[i])
			}
		}
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// candidates returns the nodes that meet one criterion of a matcher, the one that the fewest meet; a node may be there
// several times. Without criteria it is false.
func (inv *NodeIndex) candidates(m matcher) ([]int, bool) {
	var best []int
	bounded := false
	take := func(some []int) {
		if !bounded || len(some) < len(best) {
			best, bounded = some, true
		}
	}
	for _, criterion := range []struct {
		wanted map[string]bool
		have   map[string][]int
	}{{m.names, inv.known}, {m.racks, inv.racks}, {m.tags, inv.tags}} {
		if criterion.wanted != nil {
			take(gather(criterion.wanted, criterion.have))
		}
	}
	if m.labels != nil {
		take(gather(m.labels, inv.labels))
	}
	return best, bounded
}

func gather[K comparable](wanted map[K]bool, have map[K][]int) []int {
	var out []int
	for k := range wanted {
		out = append(out, have[k]...)
	}
	return out
}
