package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Bounds of what one sentence lists.
const (
	namesShown = 8
	cutAfter   = 60 // characters of one name or title
)

// list joins names with commas, at most 8 of them, and counts the rest.
func list(names []string) string {
	short := make([]string, 0, namesShown)
	for _, n := range names[:min(len(names), namesShown)] {
		short = append(short, cut(n))
	}
	s := strings.Join(short, ", ")
	if more := len(names) - len(short); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// cut shortens a name to 60 characters on one line.
func cut(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= cutAfter {
		return string(r)
	}
	return string(r[:cutAfter-1]) + "…"
}

// distinct returns names sorted, each once.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func onNodes(nodes []string) string {
	if len(nodes) == 1 {
		return "node " + cut(nodes[0])
	}
	return resource.Count(len(nodes), "node")
}
