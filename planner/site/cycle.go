package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// cycles returns one cycle of every knot in a graph of names (each set of names that can all reach each other): the
// shortest one through the knot's first name in alphabetical order, beginning and ending with that name. So the result does not
// depend on the order in which the groups are written. Edges to unknown names are ignored.
func cycles(edges map[string][]string) [][]string {
	targets := make(map[string][]string, len(edges))
	for from, to := range edges {
		known := slices.DeleteFunc(slices.Clone(to), func(name string) bool { _, ok := edges[name]; return !ok })
		slices.Sort(known)
		targets[from] = slices.Compact(known)
	}
	var out [][]string
	for _, knot := range knots(targets) {
		if len(knot) > 1 || slices.Contains(targets[knot[0]], knot[0]) {
			out = append(out, shortestCycle(knot, targets))
		}
	}
	return out
}

// knots returns the strongly connected components, each sorted, sorted by their first names. It keeps its own stack, so that a long
// chain of dependencies costs memory and not the goroutine's stack (Tarjan's algorithm).
func knots(targets map[string][]string) [][]string {
	type visit struct {
		name string
		next int // index into targets[name]
	}
	var (
		out    [][]string
		stack  []string
		index  = make(map[string]int, len(targets)) // order of discovery, from 1
		low    = make(map[string]int, len(targets))
		onPath = make(map[string]bool, len(targets))
	)
	enter := func(name string) visit {
		index[name] = len(index) + 1
		low[name] = index[name]
		stack = append(stack, name)
		onPath[name] = true
		return visit{name: name}
	}
	for _, root := range slices.Sorted(maps.Keys(targets)) {
		if index[root] != 0 {
			continue
		}
		visits := []visit{enter(root)}
		for len(visits) > 0 {
			v := &visits[len(visits)-1]
			if v.next < len(targets[v.name]) {
				to := targets[v.name][v.next]
				v.next++
				if index[to] == 0 {
					visits = append(visits, enter(to))
				} else if onPath[to] {
					low[v.name] = min(low[v.name], index[to])
				}
				continue
			}
			name := v.name
			visits = visits[:len(visits)-1]
			if len(visits) > 0 {
				parent := visits[len(visits)-1].name
				low[parent] = min(low[parent], low[name])
			}
			if low[name] != index[name] {
				continue
			}
			var knot []string
			for onPath[name] {
				member := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				onPath[member] = false
				knot = append(knot, member)
			}
			slices.Sort(knot)
			out = append(out, knot)
		}
	}
	slices.SortFunc(out, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// shortestCycle returns the shortest way from the first name of a knot back to itself; of several, the one whose
// names come first in alphabetical order at the earliest step.
func shortestCycle(knot []string, targets map[string][]string) []string {
	start, inside := knot[0], set(knot)
	from := make(map[string]string)
	queue := []string{start}
	for next := 0; next < len(queue); next++ {
		name := queue[next]
		for _, to := range targets[name] {
			if to == start {
				cycle := []string{start}
				for at := name; at != start; at = from[at] {
					cycle = append(cycle, at)
				}
				cycle = append(cycle, start)
				slices.Reverse(cycle)
				return cycle
			}
			if _, seen := from[to]; !seen && inside[to] {
				from[to] = name
				queue = append(queue, to)
			}
		}
	}
	return nil // not a knot
}

func describe(cycle []string) string {
	quoted := make([]string, len(cycle))
	for i, name := range cycle {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	if len(cycle) == 2 {
		return fmt.Sprintf("group %s depends on itself; remove the dependency", quoted[0])
	}
	return fmt.Sprintf("the groups depend on each other in a cycle: %s; remove one of these dependencies",
		strings.Join(quoted, " depends on "))
}
