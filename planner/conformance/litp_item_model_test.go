package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/item"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// itemOf is an item as the vectors write it.
type itemOf struct {
	Path, Type, Inherit string
	Props               map[string]string
}

// modelKeys are the parts of `given` that loadItems reads.
var modelKeys = []string{"model", "items", "types", "all_applied", "states", "remove", "undeterminable", "ha", "left_locked"}

// loadItems makes the model that a vector gives: the types and models it names and what it adds; then all Applied, single states, what is
// not known and what is removed, in this order.
func loadItems(t testing.TB, f *file, given yaml.Node) *item.Tree {
	t.Helper()
	parts := mapping(t, given)
	registry, problems := item.Register(itemTypes(t, f, parts["types"]))
	if len(problems.Errors()) > 0 {
		t.Fatalf("types: %v", problems)
	}
	tree, problems := item.New(registry, "root")
	if problems != nil {
		t.Fatal(problems)
	}
	models := mapping(t, f.root["models"])
	for _, name := range textOrTexts(t, parts["model"]) {
		model, ok := models[name]
		if !ok {
			t.Fatalf("there is no model %q", name)
		}
		addItems(t, f, tree, strictly[[]itemOf](t, model))
	}
	if node, ok := parts["items"]; ok {
		addItems(t, f, tree, strictly[[]itemOf](t, node))
	}
	if isSet(t, parts["ha"]) {
		mustHold(t, tree.Update(expand(t, f, "@c1"), item.Set(map[string]string{"ha": "x"})))
	}
	if node, ok := parts["left_locked"]; ok {
		mustHold(t, tree.Update(expand(t, f, node.Value), item.Set(map[string]string{"locked": "true"})))
	}
	if isSet(t, parts["all_applied"]) {
		tree.PlanSucceeded()
	}
	if node, ok := parts["states"]; ok {
		for _, s := range strictly[[]struct{ Path, State string }](t, node) {
			mustHold(t, tree.SetState(expand(t, f, s.Path), item.State(s.State)))
		}
	}
	for _, path := range textOrTexts(t, parts["undeterminable"]) {
		mustHold(t, tree.MarkUndeterminable(expand(t, f, path)))
	}
	for _, path := range textOrTexts(t, parts["remove"]) {
		mustHold(t, tree.Remove(expand(t, f, path)))
	}
	return tree
}

// addItems adds items in the order given. Nodes have their id as host name unless the vector says otherwise.
func addItems(t testing.TB, f *file, tree *item.Tree, items []itemOf) {
	t.Helper()
	for _, i := range items {
		path := expand(t, f, i.Path)
		props := maps.Clone(i.Props)
		role := tree.Types().RoleOf(i.Type)
		if _, set := props["host"]; !set && (role == item.RoleNode || role == item.RoleManagement) {
			if props == nil {
				props = map[string]string{}
			}
			props["host"] = path.ID()
		}
		switch {
		case i.Inherit != "":
			mustHold(t, tree.Inherit(path, expand(t, f, i.Inherit), props))
		case tree.Get(path) != nil: // a required child, which came with its parent
			mustHold(t, tree.Update(path, item.Set(props)))
		default:
			mustHold(t, tree.Create(path, i.Type, props))
		}
	}
}

func mustHold(t testing.TB, problems site.Problems) {
	t.Helper()
	if errors := problems.Errors(); len(errors) > 0 {
		t.Fatal(errors)
	}
}

// expand writes the path that an alias such as "@n1/os" stands for.
func expand(t testing.TB, f *file, text string) item.Path {
	t.Helper()
	if !strings.HasPrefix(text, "@") {
		return item.Path(text)
	}
	name, rest, below := strings.Cut(text[1:], "/")
	aliases := decode[map[string]string](t, f.root["aliases"])
	path, known := aliases[name]
	if !known {
		t.Fatalf("%s: there is no alias %q", text, name)
	}
	if below {
		path += "/" + rest
	}
	return item.Path(path)
}

// itemTypes reads the types of the file and those that a vector adds to them.
func itemTypes(t testing.TB, f *file, more yaml.Node) item.Definitions {
	t.Helper()
	d := item.Definitions{Properties: []item.PropertyType{{ID: "any"}}}
	byID := make(map[string]item.Type)
	for _, node := range []yaml.Node{f.root["types"], more} {
		for id, body := range mapping(t, node) {
			byID[id] = itemType(t, id, body)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		d.Types = append(d.Types, byID[id])
	}
	return d
}

// typeRoles says what the planner knows of types by their ids, where slipway's own documents have a role.
var typeRoles = map[string]item.Role{
	"mgmt": item.RoleManagement, "node": item.RoleNode, "cluster-base": item.RoleCluster, "site": item.RoleSite, "snapshot": item.RoleSnapshot,
}

// typeElements are the keys of a type that hold elements with items.
var typeElements = []struct {
	key  string
	kind item.Kind
}{
	{"children", item.Child}, {"references", item.Reference}, {"collections", item.Collection}, {"ref_collections", item.RefCollection},
}

func itemType(t testing.TB, id string, body yaml.Node) item.Type {
	t.Helper()
	parts := mapping(t, body)
	known := []string{"extends", "props", "node_order_view"}
	out := item.Type{ID: id, Role: typeRoles[id]}
	if extends, ok := parts["extends"]; ok {
		out.Extends = extends.Value
	}
	if props, ok := parts["props"]; ok {
		for _, p := range decode[[]yaml.Node](t, props) {
			out.Elements = append(out.Elements, itemProperty(t, id, p))
		}
	}
	for _, group := range typeElements {
		known = append(known, group.key)
		elements := mapping(t, parts[group.key])
		for _, name := range slices.Sorted(maps.Keys(elements)) {
			e := itemElement(t, name, group.kind, elements[name])
			e.Permanent = id == "root" && e.Kind == item.Child
			out.Elements = append(out.Elements, e)
		}
	}
	if view, ok := parts["node_order_view"]; ok {
		out.Elements = append(out.Elements, item.Element{Name: "node_order_view", Kind: item.View, Value: decode[any](t, view)})
	}
	for key := range parts {
		if !slices.Contains(known, key) {
			t.Errorf("type %q: has the part %q, which no code looks at", id, key)
		}
	}
	return out
}

// idLists are the properties that list ids, by the collection they are about.
var idLists = map[string]string{"depends_on": "clusters", "dependency_list": "services", "node_list": "nodes"}

func itemProperty(t testing.TB, typeID string, node yaml.Node) item.Element {
	t.Helper()
	e := item.Element{Name: node.Value, Kind: item.Property, Type: "any"}
	if node.Kind == yaml.MappingNode {
		for name, body := range mapping(t, node) {
			e.Name = name
			for key, value := range mapping(t, body) {
				switch key {
				case "plugin_updatable":
					e.PluginUpdatable = isSet(t, value)
				case "user_updatable":
					e.UserReadOnly = !isSet(t, value)
				case "configuration":
					e.Data = !isSet(t, value)
				case "required":
					e.Required = isSet(t, value)
				case "default":
					e.Default = new(value.Value)
				default:
					t.Errorf("property %q: has the part %q, which no code looks at", name, key)
				}
			}
		}
	}
	e.IDsOf = idLists[e.Name]
	if e.Name == "host" {
		e.Unique, e.FoldCase = "host", true
	}
	if typeID == "network" && e.Name == "name" {
		e.Unique = "network"
	}
	return e
}

func itemElement(t testing.TB, name string, kind item.Kind, node yaml.Node) item.Element {
	t.Helper()
	e := item.Element{Name: name, Kind: kind, Type: node.Value}
	if node.Kind != yaml.MappingNode {
		return e
	}
	for key, value := range mapping(t, node) {
		switch key {
		case "type":
			e.Type = value.Value
		case "require":
			e.Require = textOrTexts(t, value)
		case "required":
			e.Required = isSet(t, value)
		case "read_only":
			e.ReadOnly = isSet(t, value)
		case "min":
			e.Min = decode[int](t, value)
		case "max":
			e.Max = decode[int](t, value)
		default:
			t.Errorf("element %q: has the part %q, which no code looks at", name, key)
		}
	}
	return e
}

// mapping is a node as a mapping, through an alias of YAML; a node that is absent is an empty one.
func mapping(t testing.TB, node yaml.Node) map[string]yaml.Node {
	t.Helper()
	if node.Kind == 0 {
		return nil
	}
	out := make(map[string]yaml.Node)
	if err := node.Decode(&out); err != nil {
		t.Fatalf("line %d: %v", node.Line, err)
	}
	for key, value := range out {
		if value.Kind == yaml.AliasNode {
			out[key] = *value.Alias
		}
	}
	return out
}

// textOrTexts is a list of texts, one text with commas, or nothing.
func textOrTexts(t testing.TB, node yaml.Node) []string {
	t.Helper()
	switch node.Kind {
	case 0:
		return nil
	case yaml.ScalarNode:
		var out []string
		for text := range strings.SplitSeq(node.Value, ",") {
			out = append(out, strings.TrimSpace(text))
		}
		return out
	}
	return decode[[]string](t, node)
}

func isSet(t testing.TB, node yaml.Node) bool {
	t.Helper()
	return node.Kind != 0 && decode[bool](t, node)
}
