package site

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Order returns the members of a group, sorted by name, in the order of [Rolling.NodeOrder]; nil when it is empty.
func (r Rolling) Order(members []string) []string {
	var order []string
	for _, name := range r.NodeOrder {
		if name == OtherNodes {
			order = append(order, r.others(members)...)
		} else {
			order = append(order, name)
		}
	}
	return order
}

// others returns the members that NodeOrder does not name.
func (r Rolling) others(members []string) []string {
	return slices.DeleteFunc(slices.Clone(members), func(name string) bool { return slices.Contains(r.NodeOrder, name) })
}

// validateNodeOrder reports names of rolling.node_order that are there twice, or are no node of the group, and nodes
// that it does not name: each must be there once (litp.md 82).
func (g Group) validateNodeOrder(members []string, before int) invalid.Errors {
	if g.Rolling == nil || len(g.Rolling.NodeOrder) == 0 {
		return nil
	}
	var errs invalid.Errors
	order := g.Rolling.NodeOrder
	for i, name := range order {
		at := fmt.Sprintf("rolling.node_order[%d]", i)
		if slices.Contains(order[:i], name) {
			errs = append(errs, g.wrong(at, invalid.Duplicate, "%q is there twice; name each node once", name))
		} else if name != OtherNodes && !slices.Contains(members, name) {
			errs = append(errs, g.wrong(at, invalid.UnknownNode, "the group has no node %q%s", name,
				didYouMean(name, members, before+len(errs))))
		}
	}
	if missing := g.Rolling.others(members); len(missing) > 0 && !slices.Contains(order, OtherNodes) {
		errs = append(errs, g.wrong("rolling.node_order", invalid.MissingField,
			"it does not name %s; add each node of the group, or %q for all others by name",
			listNames(missing), OtherNodes))
	}
	return errs
}

// listNames returns the first names and how many more there are.
func listNames(names []string) string {
	shown := names[:min(len(names), valuesShown)]
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
