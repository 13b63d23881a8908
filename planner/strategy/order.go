package strategy

import "github.com/slipway/terraform-provider-slipway/planner/site"

// Order returns the names of the groups in processing order, first in, first out. Groups without dependencies come
// first, in the order given. Each group then releases those of its dependents that wait for no other group, in the
// order given (airship.md 6). Duplicate names, unknown dependencies and cycles are a [invalid.Errors] error.
func Order(groups []site.Group) ([]string, error) {
	if errs := site.ValidateDependencies(groups); len(errs) > 0 {
		return nil, errs
	}
	missing := make(map[string]int, len(groups))         // parents not yet emitted
	dependents := make(map[string][]string, len(groups)) // in the order given
	queue := make([]string, 0, len(groups))
	for _, g := range groups {
		// A dependency given twice is counted twice and released twice.
		missing[g.Name] = len(g.DependsOn)
		for _, parent := range g.DependsOn {
			dependents[parent] = append(dependents[parent], g.Name)
		}
		if len(g.DependsOn) == 0 {
			queue = append(queue, g.Name)
		}
	}
	for next := 0; next < len(queue); next++ {
		for _, dependent := range dependents[queue[next]] {
			if missing[dependent]--; missing[dependent] == 0 {
				queue = append(queue, dependent)
			}
		}
	}
	return queue, nil
}

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
