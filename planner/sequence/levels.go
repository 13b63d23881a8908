package sequence

import (
	"maps"
	"slices"
)

// Levels sorts names by what they require: a level requires only earlier ones, and is alphabetical. Names that are only required are
// added; a name that requires itself is no cycle. With a cycle there are no levels but the names of one, each requiring the next (litp.md
// 67, 75, 97).
func Levels(requires map[string][]string) (levels [][]string, cycle []string) {
	all := make(map[string]bool, len(requires))
	for name, required := range requires {
		all[name] = true
		for _, r := range required {
			all[r] = true
		}
	}
	names := slices.Sorted(maps.Keys(all))
	index := make(map[string]int32, len(names))
	for i, name := range names {
		index[name] = int32(i)
	}
	var edges []edge
	for i, name := range names {
		for _, r := range requires[name] {
			if r != name {
				edges = append(edges, edge{int32(i), index[r]})
			}
		}
	}
	graph := newAdjacency(len(names), edges)
	order := graph.order(nil)
	if len(order) < len(names) {
		for _, v := range graph.cycles()[0] {
			cycle = append(cycle, names[v])
		}
		return nil, cycle
	}
	level := make([]int, len(names))
	for _, v := range order {
		for _, r := range graph.from(v) {
			level[v] = max(level[v], level[r]+1)
		}
	}
	for v, l := range level {
		for len(levels) <= l {
			levels = append(levels, nil)
		}
		levels[l] = append(levels[l], names[v])
	}
	return levels, nil
}
