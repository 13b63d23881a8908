package planner

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// membership is a site with the order of its groups and the group of each node.
type membership struct {
	site     site.Site   // with the default strategy where it has no groups
	nodes    []site.Node // each name once, sorted
	isNode   map[string]bool
	groups   []Group             // in processing order
	settings []site.Group        // the same groups as the user wrote them
	owner    map[string]int      // node -> the first group that selects it
	groupsOn map[string][]string // node -> all its groups, in processing order
}

// newMembership orders the groups of a site and assigns each node to the first one that selects it. It accepts an
// invalid site, so that further errors in it are found; [site.Site.Validate] reports what is wrong with the groups.
func newMembership(s site.Site) *membership {
	if s.Groups == nil {
		s.Groups = strategy.Default()
	}
	m := &membership{
		site: s, nodes: make([]site.Node, 0, len(s.Nodes)), isNode: make(map[string]bool, len(s.Nodes)),
		owner: make(map[string]int, len(s.Nodes)), groupsOn: make(map[string][]string, len(s.Nodes)),
	}
	for _, n := range s.Nodes {
		if !m.isNode[n.Name] {
			m.isNode[n.Name] = true
			m.nodes = append(m.nodes, n)
		}
	}
	slices.SortFunc(m.nodes, func(a, b site.Node) int { return strings.Compare(a.Name, b.Name) })

	byName := make(map[string]site.Group, len(s.Groups))
	for _, g := range s.Groups {
		byName[g.Name] = g
	}
	index := site.NewNodeIndex(m.nodes)
	for i, name := range orderOf(s.Groups) {
		settings := byName[name]
		g := Group{Name: name, Members: index.Members(settings.Selectors), Critical: settings.Critical}
		if r := settings.Rolling; r != nil {
			g.MaxParallel = r.MaxParallel
			g.Locked = r.Lock != "" || r.Unlock != ""
			g.Order = r.Order(g.Members)
		}
		for _, node := range g.Members {
			m.groupsOn[node] = append(m.groupsOn[node], name)
			if _, owned := m.owner[node]; !owned {
				m.owner[node] = i
				g.Owned = append(g.Owned, node)
			}
		}
		m.groups = append(m.groups, g)
		m.settings = append(m.settings, settings)
	}
	return m
}

// orderOf returns the processing order of groups. Groups without one, which depend on each other, keep their own order.
func orderOf(groups []site.Group) []string {
	order, err := strategy.Order(groups)
	if err == nil {
		return order
	}
	order = nil
	for _, g := range groups {
		if !slices.Contains(order, g.Name) {
			order = append(order, g.Name)
		}
	}
	return order
}

// names returns the names of the groups, in processing order.
func (m *membership) names() []string {
	names := make([]string, len(m.groups))
	for i, g := range m.groups {
		names[i] = g.Name
	}
	return names
}
