package override

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Layers returns the overrides that concern a node, the weakest first. groups are all groups that the node is a member of,
// in the order of the run. An override that concerns the node more than once counts where it is strongest.
func (s *Set) Layers(node site.Node, groups []string) []int {
	var layers []int
	add := func(concerns func(o override) bool) {
		for i, o := range s.overrides {
			if concerns(o) {
				layers = slices.DeleteFunc(layers, func(l int) bool { return l == i })
				layers = append(layers, i)
			}
		}
	}
	if len(s.overrides) == 0 {
		return nil
	}
	add(func(o override) bool { return len(o.Groups)+len(o.Roles)+len(o.Nodes) == 0 })
	for _, group := range groups {
		add(func(o override) bool { return slices.Contains(o.Groups, group) })
	}
	roles := slices.Clone(node.Roles)
	slices.SortFunc(roles, strings.Compare)
	for _, role := range slices.Compact(roles) {
		add(func(o override) bool {
			return slices.ContainsFunc(o.roles, func(p site.RolePattern) bool { return p.Matches(role) })
		})
	}
	add(func(o override) bool { return slices.Contains(o.Nodes, node.Name) })
	return layers
}
