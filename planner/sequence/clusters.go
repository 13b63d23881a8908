package sequence

import (
	"maps"
	"slices"
	"strings"
)

// OrderClusters puts clusters in the order in which their phases stand in the plan (litp.md 75, 76): site by site; within a site those
// that take part in dependencies first, level by level, then the others; alphabetical in both. What may run at once is the phase
// tree's business. With problems, which are all of code [View], there is no order.
func OrderClusters(clusters []Cluster) ([]Cluster, Problems) {
	bySite := make(map[string][]Cluster)
	for _, c := range clusters {
		bySite[c.Site] = append(bySite[c.Site], c)
	}
	var out []Cluster
	var problems Problems
	for _, site := range slices.SortedFunc(maps.Keys(bySite), compareIDs) {
		ordered, more := orderSite(bySite[site])
		out = append(out, ordered...)
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}

func compareIDs(a, b string) int {
	if c := strings.Compare(pathID(a), pathID(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func orderSite(clusters []Cluster) ([]Cluster, Problems) {
	var problems Problems
	byID := make(map[string]Cluster, len(clusters))
	for _, c := range clusters {
		byID[pathID(c.Path)] = c
	}
	requires := make(map[string][]string)
	for _, c := range clusters {
		id := pathID(c.Path)
		seen := make(map[string]int, len(c.DependsOn))
		for _, d := range c.DependsOn {
			seen[d]++
			switch _, ok := byID[d]; {
			case d == id:
				problems.add(View, nil, "cluster %q depends on itself; remove the dependency", c.Path)
			case seen[d] == 2:
				problems.add(View, nil, "cluster %q depends on cluster %q more than once; once is enough", c.Path, d)
			case seen[d] > 2:
			case !ok:
				problems.add(View, nil, "cluster %q depends on cluster %q: there is no such cluster in %q", c.Path, d, c.Site)
			default:
				requires[id] = append(requires[id], d)
			}
		}
	}
	levels, cycle := Levels(requires)
	if cycle != nil {
		problems.add(View, nil, "clusters depend on each other in a cycle: %s; remove one of these dependencies",
			strings.Join(append(cycle, cycle[0]), " depends on "))
	}
	var out []Cluster
	placed := make(map[string]bool, len(clusters))
	for _, id := range slices.Concat(append(levels, slices.Sorted(maps.Keys(byID)))...) {
		if !placed[id] {
			placed[id] = true
			out = append(out, byID[id])
		}
	}
	return out, problems
}
