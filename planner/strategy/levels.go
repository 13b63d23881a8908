package strategy

import "github.com/slipway/terraform-provider-slipway/planner/site"

// Levels returns the names of the groups by how deep they lie in the dependencies: first the groups that depend on
// none, then those that depend on the first ones only, and so on. A group is one level below the lowest of those it
// depends on; within a level the order is that of [Order]. The errors are those of [Order]. Levels do not say what a
// run works on at once: that is for [Machine.Ready].
func Levels(groups []site.Group) ([][]string, error) {
	order, err := Order(groups)
	if err != nil {
		return nil, err
	}
	parents := make(map[string][]string, len(groups))
	for _, g := range groups {
		parents[g.Name] = g.DependsOn
	}
	levels := [][]string{}
	depth := make(map[string]int, len(groups))
	for _, name := range order {
		at := 0
		for _, parent := range parents[name] {
			at = max(at, depth[parent]+1)
		}
		depth[name] = at
		if at == len(levels) {
			levels = append(levels, nil)
		}
		levels[at] = append(levels[at], name)
	}
	return levels, nil
}
