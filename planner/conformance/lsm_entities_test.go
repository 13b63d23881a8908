package conformance

import (
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// known fails the test when a mapping has keys that no code looks at, and returns it.
func known(t testing.TB, what string, node yaml.Node, keys ...string) map[string]yaml.Node {
	t.Helper()
	out := decode[map[string]yaml.Node](t, node)
	for key := range out {
		if !slices.Contains(keys, key) {
			t.Errorf("line %d: %s has the part %q, which no code looks at", node.Line, what, key)
		}
	}
	return out
}

// plainValue reads a value in the form of attributes: whole numbers are int64.
func plainValue(t testing.TB, node yaml.Node) any {
	t.Helper()
	var value any
	if err := node.Decode(&value); err != nil {
		t.Fatalf("line %d: %v", node.Line, err)
	}
	return plainOf(value)
}

func plainOf(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = plainOf(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainOf(v[k])
		}
	}
	return value
}

// attributesOf reads a set of attributes; null is none.
func attributesOf(t testing.TB, node yaml.Node) map[string]any {
	t.Helper()
	out, _ := plainValue(t, node).(map[string]any)
	return out
}

// text, number and flag read a part that may be missing.
func text(t testing.TB, node yaml.Node) string {
	t.Helper()
	if node.IsZero() {
		return ""
	}
	return decode[string](t, node)
}

func number(t testing.TB, node yaml.Node) int {
	t.Helper()
	if node.IsZero() {
		return 0
	}
	return decode[int](t, node)
}

func flag(t testing.TB, node yaml.Node) bool {
	t.Helper()
	return !node.IsZero() && decode[bool](t, node)
}

// pairs returns the keys and values of a mapping, in its order.
func pairs(node yaml.Node) (keys []string, values []yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		keys, values = append(keys, node.Content[i].Value), append(values, *node.Content[i+1])
	}
	return keys, values
}

// lifecycleOf reads a lifecycle as vectors write them.
func lifecycleOf(t testing.TB, name string, node yaml.Node) lifecycle.Lifecycle {
	t.Helper()
	keys := known(t, "lifecycle", node, "initial", "alternative_initial", "states", "transfers", "provenance", "cite", "note")
	out := lifecycle.Lifecycle{Name: name, Initial: text(t, keys["initial"])}
	if n, ok := keys["alternative_initial"]; ok {
		out.AlternativeInitial = decode[[]string](t, n)
	}
	names, states := pairs(keys["states"])
	for i, n := range states {
		k := known(t, "state", n, "export", "self", "others", "purge", "deleted", "label", "model_state")
		s := lifecycle.State{Name: names[i], Label: lifecycle.Info,
			Export: flag(t, k["export"]), Purge: flag(t, k["purge"]), Deleted: flag(t, k["deleted"]),
			ValidateSelf: lifecycle.Set(text(t, k["self"])), ValidateOthers: lifecycle.Set(text(t, k["others"])),
			ModelState: lifecycle.ModelState(text(t, k["model_state"]))}
		if label, ok := k["label"]; ok {
			s.Label = lifecycle.Label(text(t, label))
		}
		out.States = append(out.States, s)
	}
	for _, n := range decode[[]yaml.Node](t, keys["transfers"]) {
		k := known(t, "transfer", n, "from", "to", "error", "trigger", "validate", "op", "error_op", "config", "same", "error_same")
		out.Transfers = append(out.Transfers, lifecycle.Transfer{
			Source: text(t, k["from"]), Target: text(t, k["to"]), Error: text(t, k["error"]), Trigger: lifecycle.Trigger(text(t, k["trigger"])),
			Validate: flag(t, k["validate"]), Config: text(t, k["config"]),
			Operation: lifecycle.Operation(text(t, k["op"])), ErrorOperation: lifecycle.Operation(text(t, k["error_op"])),
			Preserves: flag(t, k["same"]), ErrorPreserves: flag(t, k["error_same"]),
		})
	}
	return out
}

// lifecycleNamed returns a lifecycle of the vector, or a shipped one.
func lifecycleNamed(t testing.TB, v *vector, name string) lifecycle.Lifecycle {
	t.Helper()
	if node, ok := mapping(t, v.keys["lifecycles"])[name]; ok {
		return lifecycleOf(t, name, node)
	}
	l, ok := document.ShippedLifecycle(name)
	if !ok {
		t.Fatalf("there is no lifecycle %q", name)
	}
	return l
}

// entitiesOf adds the entities of the file and those of the vector, which win, to an inventory.
func entitiesOf(t testing.TB, f *file, v *vector, inventory *lifecycle.Inventory) {
	t.Helper()
	all := mapping(t, f.root["entities"])
	for name, node := range mapping(t, v.keys["entities"]) {
		all[name] = node
	}
	var definitions catalog.Definitions
	gates := make(map[string]map[string]bool)
	for name, node := range all {
		k := known(t, "entity", node, "lifecycle", "identity", "owner", "config", "strict", "version", "attributes", "embedded", "relations")
		e := catalog.Entity{Name: name, Lifecycle: text(t, k["lifecycle"]), Identity: text(t, k["identity"]), Version: number(t, k["version"])}
		if strict, ok := k["strict"]; ok {
			e.Loose = !flag(t, strict)
		}
		if owner, ok := k["owner"]; ok {
			o := known(t, "owner", owner, "entity", "relation")
			e.Owner = &catalog.Owner{Entity: text(t, o["entity"]), Relation: text(t, o["relation"])}
		}
		if config, ok := k["config"]; ok {
			gates[name] = decode[map[string]bool](t, config)
		}
		e.Structure = structureOf(t, k)
		definitions.Entities = append(definitions.Entities, e)
	}
	resolved, problems := catalog.Resolve(definitions)
	for _, p := range problems {
		t.Error(p)
	}
	if len(problems) > 0 {
		t.FailNow()
	}
	for i := range resolved.Entities {
		e := &resolved.Entities[i]
		if err := inventory.AddEntity(e, lifecycleNamed(t, v, e.Lifecycle), gates[e.Name]); err != nil {
			t.Fatal(err)
		}
	}
}

func structureOf(t testing.TB, keys map[string]yaml.Node) catalog.Structure {
	t.Helper()
	var out catalog.Structure
	for _, node := range items(t, keys["attributes"]) {
		k := known(t, "attribute", node, "name", "type", "modifier", "default", "validation_type", "validation_parameters")
		a := catalog.Attribute{Name: text(t, k["name"]), Type: catalog.Type{Name: text(t, k["type"])}, Modifier: modifierOf(t, k["modifier"])}
		if value, ok := k["default"]; ok {
			a.Default, a.HasDefault = plainValue(t, value), true
		}
		if typ, ok := k["validation_type"]; ok {
			var parameters map[string]any
			if p, ok := k["validation_parameters"]; ok {
				parameters = attributesOf(t, p)
			}
			rules, err := catalog.Validation(text(t, typ), parameters)
			if err != nil {
				t.Fatalf("line %d: %v", node.Line, err)
			}
			a.Type.Rules = rules
		}
		out.Attributes = append(out.Attributes, a)
	}
	for _, node := range items(t, keys["embedded"]) {
		k := known(t, "embedded entity", node, "name", "modifier", "lower", "upper", "key", "attributes", "embedded", "relations")
		e := catalog.Embedded{Name: text(t, k["name"]), Modifier: modifierOf(t, k["modifier"]), Lower: number(t, k["lower"]), Upper: upperOf(t, k["upper"]), Structure: structureOf(t, k)}
		if key, ok := k["key"]; ok {
			e.Key = decode[[]string](t, key)
		}
		out.Embedded = append(out.Embedded, e)
	}
	for _, node := range items(t, keys["relations"]) {
		k := known(t, "relation", node, "name", "entity", "modifier", "lower", "upper")
		out.Relations = append(out.Relations, catalog.Relation{Name: text(t, k["name"]), Entity: text(t, k["entity"]),
			Modifier: modifierOf(t, k["modifier"]), Lower: number(t, k["lower"]), Upper: upperOf(t, k["upper"])})
	}
	return out
}

func items(t testing.TB, node yaml.Node) []yaml.Node {
	t.Helper()
	if node.IsZero() {
		return nil
	}
	return decode[[]yaml.Node](t, node)
}

func modifierOf(t testing.TB, node yaml.Node) catalog.Modifier {
	t.Helper()
	if node.IsZero() {
		return catalog.Fixed
	}
	return catalog.Modifier(text(t, node))
}

func upperOf(t testing.TB, node yaml.Node) *int {
	t.Helper()
	if node.IsZero() {
		return nil
	}
	return decode[*int](t, node)
}
