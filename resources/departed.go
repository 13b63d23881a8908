package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// withNodes returns the value of a deployment's nodes with some objects of an older value added, found by node name.
func withNodes(ctx context.Context, nodes, older types.Dynamic, names []string) (types.Dynamic, error) {
	now, err := nodes.ToTerraformValue(ctx)
	if err != nil {
		return nodes, err
	}
	before, err := older.ToTerraformValue(ctx)
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
	value, err := types.DynamicType.ValueFromTerraform(ctx, extended(now, added))
	if err != nil {
		return nodes, err
	}
	dynamic, ok := value.(basetypes.DynamicValue)
	if !ok {
		return nodes, fmt.Errorf("nodes became a %T", value)
	}
	return dynamic, nil
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
	attributeTypes := make(map[string]tftypes.Type, len(all))
	for name, e := range all {
		attributeTypes[name] = e.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: attributeTypes}, all)
}
