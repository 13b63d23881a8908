package conformance

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// abstractTypes are the types of the vectors. The properties of kv take what the vector gives them: lists, maps or single values of any kind.
func abstractTypes(values ...yaml.Node) map[string]resource.Schema {
	kv := []resource.Parameter{{Name: "ensure"}, {Name: "value"}, {Name: "note"}}
	for i, p := range kv {
		kv[i].Scalars = true
		for _, node := range values {
			kv[i].Kind = max(kv[i].Kind, kindOf(node, p.Name))
		}
	}
	out := map[string]resource.Schema{"kv": {Type: "kv", Parameters: kv}}
	ours := schema.Types()
	for _, name := range []string{"file", "package", "service", "user", "group"} {
		schema := resource.Schema{Type: name}
		for _, p := range ours[name].Parameters {
			usual := resource.Parameter{Name: p.Name, Scalars: true} // the vectors are not about which values a type takes
			for _, node := range values {
				usual.Kind = max(usual.Kind, kindOf(node, p.Name))
			}
			schema.Parameters = append(schema.Parameters, usual)
		}
		out[name] = schema
	}
	return out
}

// numbers returns a value with its whole numbers as documents have them, int64.
func numbers(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	}
	return v
}

// kindOf is the kind of the first value below a node that a key has and that is a list or a map.
func kindOf(node yaml.Node, key string) resource.Kind {
	kinds := map[yaml.Kind]resource.Kind{yaml.SequenceNode: resource.StringList, yaml.MappingNode: resource.StringMap}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == key {
			if k := kinds[child.Kind]; k != resource.String {
				return k
			}
		}
		if k := kindOf(*child, key); k != resource.String {
			return k
		}
	}
	return resource.String
}

// layer reads an override from a document with the keys given, of those that the value has.
func layer(t testing.TB, name string, keys map[string]yaml.Node) (site.Override, error) {
	t.Helper()
	l, err := readLayer(t, name, keys)
	if err != nil {
		return site.Override{}, err
	}
	return l.Override, nil
}

func readLayer(t testing.TB, name string, keys map[string]yaml.Node) (*document.Layer, error) {
	t.Helper()
	content := map[string]*yaml.Node{}
	for key, node := range keys {
		content[key] = &node
	}
	data, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return document.ParseLayer(document.Source{Name: name, Data: data})
}

// resourceOf is a resource of a catalog as the vectors write it.
type resourceOf struct {
	Type, Title string
	Params      map[string]any
}

// configurationOf makes a configuration of a catalog.
func configurationOf(catalog []resourceOf) resource.Configuration {
	out := resource.Configuration{}
	for _, r := range catalog {
		if out[r.Type] == nil {
			out[r.Type] = map[string]resource.Parameters{}
		}
		numbers(r.Params)
		out[r.Type][r.Title] = r.Params
	}
	return out
}

// normal returns a configuration in the one form that stands for all ways to write it.
func normal(c resource.Configuration, schemas map[string]resource.Schema) map[resource.ID]resource.Parameters {
	out := map[resource.ID]resource.Parameters{}
	for typ, titles := range c {
		for title, p := range titles {
			if p == nil {
				p = resource.Parameters{}
			}
			r := schemas[typ].Normalize(resource.Resource{Type: typ, Title: title, Parameters: p})
			out[r.ID()] = r.Parameters
		}
	}
	return out
}

// replayOverride lays one override over a catalog.
func replayOverride(t testing.TB, _ *file, v *vector) {
	v.inputs(t, "catalog", "override")
	expect := expectations(t, v.keys["expect"], "catalog", "created", "error", "catalog_after")
	parts := decode[map[string]yaml.Node](t, v.keys["override"])
	keys := map[string]yaml.Node{}
	for part, node := range parts {
		key, ok := map[string]string{"configuration": "configuration", "options": "configuration_options", "params": "options"}[part]
		if !ok {
			t.Fatalf("the override has the part %q, which no code looks at", part)
		}
		keys[key] = node
	}
	base := configurationOf(strictly[[]resourceOf](t, v.keys["catalog"]))
	service := site.Service{Name: "catalog", Configuration: base}
	schemas := abstractTypes(v.keys["catalog"], v.keys["override"])
	l, err := readLayer(t, "override", keys)
	if err == nil {
		err = document.Incomplete(l)
	}
	if err == nil {
		tasks, errs := planner.Lay(schemas, service, []site.Override{l.Override})
		if len(errs) == 0 {
			got := resource.Configuration{}
			created := [][]string{}
			for _, task := range tasks {
				r := task.Resource
				if got[r.Type] == nil {
					got[r.Type] = map[string]resource.Parameters{}
				}
				got[r.Type][r.Title] = r.Parameters
				if task.Service == "" {
					created = append(created, []string{r.Type, r.Title})
				}
			}
			if _, wantsError := expect["error"]; !wantsError {
				same(t, "catalog", normal(got, schemas), normal(configurationOf(strictly[[]resourceOf](t, expect["catalog"])), schemas))
				want := append([][]string{}, decode[[][]string](t, expect["created"])...)
				slices.SortFunc(created, slices.Compare[[]string])
				slices.SortFunc(want, slices.Compare[[]string]) // they come in the order of the data, which does not matter
				same(t, "created", created, want)
			}
		} else {
			err = errs
		}
	}
	expectError(t, err, decode[string](t, expect["error"]))
	if after, ok := expect["catalog_after"]; ok {
		same(t, "catalog after the error", normal(base, schemas), normal(configurationOf(strictly[[]resourceOf](t, after)), schemas))
	}
}

// replayLayers merges layers of data per parameter. The vectors give the strongest first.
func replayLayers(t testing.TB, _ *file, v *vector) {
	v.inputs(t, "layers")
	var layers []site.Override
	var err error
	for _, l := range decode[[]map[string]yaml.Node](t, v.keys["layers"]) {
		var o site.Override
		if o, err = layer(t, "layer", l); err != nil {
			break
		}
		layers = append([]site.Override{o}, layers...)
	}
	if expect := decode[map[string]yaml.Node](t, v.keys["expect"]); len(expect) == 1 {
		if kind, ok := expect["error"]; ok {
			expectError(t, err, kind.Value)
			return
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, "configuration", plain(t, override.Combine(layers).Configuration), plain(t, decode[any](t, v.keys["expect"])))
}

// replayServerLayers takes the records that concern a node and merges them, each replacing titles whole.
func replayServerLayers(t testing.TB, _ *file, v *vector) {
	v.inputs(t, "node", "configs")
	node := strictly[struct {
		ID      string
		Roles   []string
		Pending []string `yaml:"pending_roles"` // they count as roles (fuel.md B4)
	}](t, v.keys["node"])
	node.Roles = append(node.Roles, node.Pending...)
	var overrides []site.Override
	for i, c := range strictly[[]struct {
		Scope, Node, Role string
		Data              map[string]yaml.Node
	}](t, v.keys["configs"]) {
		keys := map[string]yaml.Node{}
		data := map[string]yaml.Node{}
		for key, value := range c.Data {
			if key == "configuration_options" {
				keys[key] = value
			} else {
				data[key] = value
			}
		}
		var configuration yaml.Node
		if err := configuration.Encode(pointers(data)); err != nil {
			t.Fatal(err)
		}
		keys["configuration"] = configuration
		o, err := layer(t, fmt.Sprintf("%04d", i), keys)
		if err != nil {
			t.Fatal(err)
		}
		o.Merge = "title"
		switch c.Scope {
		case "cluster":
		case "role":
			o.Roles = []string{c.Role}
		case "node":
			o.Nodes = []string{c.Node}
		default:
			t.Fatalf("there is no scope %q", c.Scope)
		}
		overrides = append(overrides, o)
	}
	set, _ := override.New(overrides, nil) // which types there are does not matter to the merge
	got := override.Combine(set.Overrides(set.Layers(site.Node{Name: node.ID, Roles: node.Roles}, nil)))
	expect := expectations(t, v.keys["expect"], "configuration", "configuration_options")
	same(t, "configuration", plain(t, got.Configuration), plain(t, decode[any](t, expect["configuration"])))
	wanted, err := layer(t, "expected", map[string]yaml.Node{"configuration_options": expect["configuration_options"]})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "options", withoutEmpty(got.Options), withoutEmpty(wanted.Options))
}

// withoutEmpty returns options with lists and defaults that are empty as if they were not given, which means the same.
func withoutEmpty(o site.OverrideOptions) site.OverrideOptions {
	for _, list := range []*[]string{&o.TypesFilter, &o.TitlesFilter, &o.TypesCreateException, &o.TitlesCreateException} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(o.Defaults) == 0 {
		o.Defaults = nil
	}
	return o
}

func pointers(nodes map[string]yaml.Node) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	for _, key := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[key]
		out[key] = &node
	}
	return out
}

// plain returns a value as YAML has it, so that the kinds of maps and numbers do not matter.
func plain(t testing.TB, v any) any {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := yaml.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
