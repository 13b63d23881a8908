package conformance

import (
	"maps"
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

// lifecycleOf reads a lifecycle of a vector as the document of a user. The error is one of its form, or tells what is wrong with it.
func lifecycleOf(t testing.TB, name string, node yaml.Node) (lifecycle.Lifecycle, error) {
	t.Helper()
	keys := mapping(t, node)
	for _, explains := range []string{"provenance", "cite", "note"} {
		delete(keys, explains)
	}
	data, err := yaml.Marshal(map[string]any{"lifecycles": map[string]any{"vector": pointers(keys)}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := document.ParseLifecycles([]document.Source{{Name: name, Data: data}})
	if err != nil {
		return lifecycle.Lifecycle{}, err
	}
	found[0].Name = name
	return found[0], nil
}

// lifecycleNamed returns a lifecycle of the vector, or a shipped one.
func lifecycleNamed(t testing.TB, v *vector, name string) lifecycle.Lifecycle {
	t.Helper()
	if node, ok := mapping(t, v.keys["lifecycles"])[name]; ok {
		l, err := lifecycleOf(t, name, node)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l, ok := document.ShippedLifecycle(name)
	if !ok {
		t.Fatalf("there is no lifecycle %q", name)
	}
	return l
}

// vectorEntity is an entity of a vector, with the gates that all its services have.
type vectorEntity struct {
	lifecycle.Entity
	Config map[string]bool
}

// gates returns those of a service.
func (e vectorEntity) gates(own map[string]bool) map[string]bool {
	if e.Config == nil {
		return own
	}
	all := maps.Clone(e.Config)
	maps.Copy(all, own)
	return all
}

// entitiesOf returns the entities of the file and those of the vector, which win, with their lifecycles.
func entitiesOf(t testing.TB, f *file, v *vector) map[string]vectorEntity {
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
	resolved, errs := catalog.Resolve(definitions)
	for _, p := range errs {
		t.Error(p)
	}
	if len(errs) > 0 {
		t.FailNow()
	}
	out := make(map[string]vectorEntity)
	for i := range resolved.Entities {
		e := &resolved.Entities[i]
		machine, faults := lifecycle.New(lifecycleNamed(t, v, e.Lifecycle))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		out[e.Name] = vectorEntity{lifecycle.Entity{Entity: e, Machine: machine}, gates[e.Name]}
	}
	return out
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
