package override

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Layers returns the overrides that concern a node, the weakest first. groups are all groups of the node, in the order
// of the run. Roles have no order among themselves (fuel.md B4). An override that concerns the node several times
// counts once, at its strongest.
func (s *Set) Layers(node site.Node, groups []string) []int {
	if len(s.overrides) == 0 {
		return nil
	}
	layers := slices.Clone(s.scopes.everywhere)
	for _, group := range groups {
		layers = append(layers, s.scopes.groups[group]...)
	}
	for _, i := range s.scopes.roles {
		if slices.ContainsFunc(node.Roles, s.overrides[i].matches) {
			layers = append(layers, i)
		}
	}
	return lastOfEach(append(layers, s.scopes.nodes[node.Name]...))
}

// scopes holds the overrides by what they concern, each list ascending.
type scopes struct {
	everywhere    []int
	roles         []int // all that name roles: patterns are asked one by one
	groups, nodes map[string][]int
}

func (s *scopes) add(i int, o override) {
	if len(o.Groups)+len(o.Roles)+len(o.Nodes) == 0 {
		s.everywhere = append(s.everywhere, i)
	}
	if len(o.roles) > 0 {
		s.roles = append(s.roles, i)
	}
	for _, by := range []struct {
		lists map[string][]int
		names []string
	}{{s.groups, o.Groups}, {s.nodes, o.Nodes}} {
		for _, name := range by.names {
			if list := by.lists[name]; len(list) == 0 || list[len(list)-1] != i {
				by.lists[name] = append(list, i)
			}
		}
	}
}

// matches reports whether the override concerns a role.
func (o override) matches(role string) bool {
	return slices.ContainsFunc(o.roles, func(p site.RolePattern) bool { return p.Matches(role) })
}

// lastOfEach keeps the last occurrence of each number.
func lastOfEach(numbers []int) []int {
	if len(numbers) < 2 {
		return numbers
	}
	seen := make(map[int]bool, len(numbers))
	at := len(numbers)
	for _, n := range slices.Backward(numbers) {
		if !seen[n] {
			seen[n] = true
			at--
			numbers[at] = n
		}
	}
	return numbers[at:]
}
