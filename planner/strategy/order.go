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
