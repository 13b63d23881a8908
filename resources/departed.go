package resources

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/resources/sealed"
)

// withNodes returns the value of a deployment's nodes with some objects of an older value added, found by node name.
func withNodes(nodes, older sealed.Value, names []string) (sealed.Value, error) {
	now, err := nodes.Open()
	if err != nil {
		return nodes, err
	}
	before, err := older.Open()
	if err != nil {
		return nodes, err
	}
	members, problem := membersOf("nodes", "node", before)
	if problem != nil {
		return nodes, *problem
	}
	added := map[string]tftypes.Value{}
	for _, m := range members {
		if name := nameOf(m.value); slices.Contains(names, name) {
			added[name] = m.value
		}
	}
	if len(added) < len(names) {
		return nodes, fmt.Errorf("the state does not tell how to reach all of %q; their own ledgers tell what is applied there", names)
	}
	return sealed.Seal(extended(now, added))
}

// extended returns a list or map of objects with more of them: a list as a tuple, a map as an object, because the added ones may have
// attributes of another type.
func extended(v tftypes.Value, added map[string]tftypes.Value) tftypes.Value {
	if elements, ok := elementsOf(v); ok {
		elements = slices.Clone(elements)
		for _, name := range slices.Sorted(maps.Keys(added)) {
			elements = append(elements, added[name])
		}
		elementTypes := make([]tftypes.Type, len(elements))
		for i, e := range elements {
			elementTypes[i] = e.Type()
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: elementTypes}, elements)
	}
	all := map[string]tftypes.Value{}
	if entries, ok := entriesOf(v); ok {
		maps.Copy(all, entries)
	}
	maps.Copy(all, added)
	return objectOf(all)
}
