package resources

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// withoutSecrets returns a node object without the secrets of its connection, in whichever form it has them.
func withoutSecrets(node tftypes.Value) (tftypes.Value, error) {
	secret := map[string]bool{nodeCredentials: true}
	for _, f := range ConnectionFields() {
		secret[f.Name] = secret[f.Name] || f.Sensitive
	}
	return tftypes.Transform(node, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		steps := at.Steps()
		if len(steps) < 2 || steps[0] != tftypes.AttributeName(nodeConnection) {
			return v, nil
		}
		if name, ok := steps[len(steps)-1].(tftypes.AttributeName); ok && secret[string(name)] {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
}

// withNodes returns the value of a deployment's nodes with some objects of an older value added, without their secrets:
// name -> the node's name in the older value.
func withNodes(nodes, older values.Opaque, names map[string]string) (values.Opaque, error) {
	now, err := nodes.Decode()
	if err != nil {
		return nodes, err
	}
	before, err := older.Decode()
	if err != nil {
		return nodes, err
	}
	added := map[string]tftypes.Value{}
	for name, old := range names {
		for _, m := range membersOf(before) {
			if nameOf(m) != old {
				continue
			}
			bare, err := withoutSecrets(m)
			if err != nil {
				return nodes, err
			}
			entries, _ := values.Entries(bare)
			entries["name"] = tftypes.NewValue(tftypes.String, name)
			added[name] = values.Object(entries)
		}
	}
	if len(added) < len(names) {
		return nodes, fmt.Errorf("the state does not say how to reach all of %q; their own ledgers have what is applied there", slices.Sorted(maps.Keys(names)))
	}
	return values.Encode(extended(now, added))
}

// membersOf returns the objects of a list or map.
func membersOf(v tftypes.Value) []tftypes.Value {
	if elements, ok := values.Elements(v); ok {
		return elements
	}
	entries, _ := values.Entries(v)
	return slices.Collect(maps.Values(entries))
}

func nameOf(object tftypes.Value) string {
	entries, _ := values.Entries(object)
	name, _ := values.Plain(entries["name"]).(string)
	return name
}

// extended returns a list or map of objects with more of them: a list as a tuple, a map as an object, because the added
// ones may have attributes of another type.
func extended(v tftypes.Value, added map[string]tftypes.Value) tftypes.Value {
	if elements, ok := values.Elements(v); ok {
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
	if entries, ok := values.Entries(v); ok {
		maps.Copy(all, entries)
	}
	maps.Copy(all, added)
	return values.Object(all)
}
