package site

import (
	"maps"
	"slices"
	"strings"
)

// valuesShown bounds how many names, tags, labels or racks a message lists.
const valuesShown = 8

// emptyReason returns why selectors select no node: for each criterion that no node meets, the values that nodes have.
func (inv *NodeIndex) emptyReason(s Selectors) string {
	if len(inv.nodes) == 0 {
		return "there are no nodes"
	}
	labels := make(map[string][]int, len(inv.labels))
	for l, nodes := range inv.labels {
		labels[l.key+":"+l.value] = nodes
	}
	var reasons []string
	for _, selector := range s {
		wanted := make([]string, 0, len(selector.NodeLabels))
		for _, text := range selector.NodeLabels {
			if key, value, err := ParseLabel(text); err == nil {
				wanted = append(wanted, key+":"+value)
			}
		}
		before := len(reasons)
		for _, criterion := range []struct {
			wanted  []string
			have    map[string][]int
			missing string
		}{
			{selector.NodeNames, inv.known, "no node has such a name"},
			{selector.NodeTags, inv.tags, "no node has such tags"},
			{wanted, labels, "no node has such labels"},
			{selector.RackNames, inv.racks, "no node is in such racks"},
		} {
			if len(criterion.wanted) > 0 && len(gather(set(criterion.wanted), criterion.have)) == 0 {
				reasons = append(reasons, criterion.missing+listValues(criterion.have))
			}
		}
		if len(reasons) == before {
			reasons = append(reasons, "no node meets all criteria of one selector")
		}
	}
	slices.Sort(reasons)
	return strings.Join(slices.Compact(reasons), "; ")
}

// listValues lists the values that nodes have of a criterion.
func listValues(have map[string][]int) string {
	values := slices.Sorted(maps.Keys(have))
	values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
	if len(values) == 0 {
		return ", there are none"
	}
	return "; there are " + listNames(values)
}
