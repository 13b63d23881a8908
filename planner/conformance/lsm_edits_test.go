package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// edited does to attributes what somebody does who edits a configuration: slipway itself has no edits, only configurations as a whole.
func edited(t testing.TB, s catalog.Structure, tree map[string]any, node yaml.Node) {
	t.Helper()
	k := known(t, "edit", node, "edit_id", "operation", "target", "value")
	target, operation := text(t, k["target"]), text(t, k["operation"])
	parts := strings.Split(target, ".")
	for i, part := range parts {
		name, filter, filtered := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		list, _ := tree[name].([]any)
		at := slices.IndexFunc(list, func(element any) bool {
			child, _ := element.(map[string]any)
			key, value, _ := strings.Cut(filter, "=")
			return filtered && fmt.Sprint(child[key]) == value
		})
		switch last := i == len(parts)-1; {
		case filtered && at < 0:
			t.Fatalf("%s: nothing to edit", target)
		case last && operation == "remove" && filtered:
			tree[name] = slices.Delete(list, at, at+1)
		case last && operation == "remove":
			delete(tree, name)
		case last && operation == "merge" && list != nil:
			tree[name] = mergedLists(s, name, list, decode[[]any](t, k["value"]))
		case last && operation == "merge":
			child, _ := tree[name].(map[string]any)
			maps.Copy(child, attributesOf(t, k["value"]))
		case last && filtered:
			list[at] = plainValue(t, k["value"])
		case last:
			tree[name] = plainValue(t, k["value"])
		case filtered:
			tree, _ = list[at].(map[string]any)
		default:
			next, ok := tree[name].(map[string]any)
			if !ok {
				t.Fatalf("%s: nothing to edit", target)
			}
			tree = next
		}
		if i := slices.IndexFunc(s.Embedded, func(e catalog.Embedded) bool { return e.Name == name }); i >= 0 {
			s = s.Embedded[i].Structure
		}
	}
}

// mergedLists adds children to a list; those with the key of a child that is there change it.
func mergedLists(s catalog.Structure, name string, list, added []any) []any {
	var keys []string
	for _, e := range s.Embedded {
		if e.Name == name {
			keys = e.Key
		}
	}
	for _, element := range added {
		child, _ := plainOf(element).(map[string]any)
		at := slices.IndexFunc(list, func(element any) bool {
			old, _ := element.(map[string]any)
			return len(keys) > 0 && !slices.ContainsFunc(keys, func(key string) bool { return fmt.Sprint(old[key]) != fmt.Sprint(child[key]) })
		})
		if at < 0 {
			list = append(list, child)
			continue
		}
		old, _ := list[at].(map[string]any)
		maps.Copy(old, child)
	}
	return list
}

// copied copies objects and lists to any depth.
func copied(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = copied(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copied(e)
		}
		return out
	}
	return value
}
