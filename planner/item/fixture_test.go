package item

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// testTypes is a small model with every kind of element.
func testTypes() Definitions {
	return Definitions{
		Properties: []PropertyType{
			{ID: "any"},
			{ID: "word", Pattern: `[a-z]+`, Validators: []Validator{{Kind: "length", Max: new(int64(5))}, {Kind: "none_of", Values: []string{"bad"}}}},
			{ID: "port", Validators: []Validator{{Kind: "integer", Min: new(int64(1)), Max: new(int64(9))}}},
		},
		Types: []Type{
			{ID: "root", Elements: []Element{
				{Name: "mgmt", Kind: Child, Type: "mgmt", Permanent: true},
				{Name: "things", Kind: Collection, Type: "thing"},
				{Name: "sites", Kind: Collection, Type: "site"},
				{Name: "snapshots", Kind: Collection, Type: "snapshot"},
			}},
			{ID: "mgmt", Role: RoleManagement, Elements: []Element{{Name: "host", Kind: Property, Type: "any", Unique: "host", FoldCase: true}}},
			{ID: "snapshot", Role: RoleSnapshot, Elements: []Element{{Name: "time", Kind: Property, Type: "any"}}},
			{ID: "site", Role: RoleSite, Elements: []Element{{Name: "clusters", Kind: Collection, Type: "cluster", Max: 3}}},
			{ID: "cluster", Role: RoleCluster, Elements: []Element{
				{Name: "after", Kind: Property, Type: "any", IDsOf: "clusters"},
				{Name: "nodes", Kind: Collection, Type: "node"},
				{Name: "services", Kind: Collection, Type: "service", Require: []string{"nodes"}},
			}},
			{ID: "ha-cluster", Extends: "cluster"},
			{ID: "service", Elements: []Element{{Name: "on", Kind: Property, Type: "any", IDsOf: "nodes"}}},
			{ID: "node", Role: RoleNode, Elements: []Element{
				{Name: "host", Kind: Property, Type: "any", Unique: "host", FoldCase: true},
				{Name: "locked", Kind: Property, Type: "any", Managed: true, Default: new("false")},
				{Name: "system", Kind: Child, Type: "system", Required: true},
				{Name: "os", Kind: Reference, Type: "thing", Require: []string{"system"}},
				{Name: "frozen", Kind: Reference, Type: "thing", ReadOnly: true},
				{Name: "order", Kind: View, Value: []string{"a"}},
				{Name: "links", Kind: RefCollection, Type: "thing", Require: []string{"os"}},
				{Name: "fixed", Kind: RefCollection, Type: "thing", ReadOnly: true},
			}},
			{ID: "system", Elements: []Element{{Name: "name", Kind: Property, Type: "any", Default: new("sys"), Required: true}}},
			{ID: "thing", Elements: []Element{
				{Name: "name", Kind: Property, Type: "word"},
				{Name: "size", Kind: Property, Type: "port", Default: new("1")},
				{Name: "once", Kind: Property, Type: "any", UserReadOnly: true},
				{Name: "auto", Kind: Property, Type: "any", PluginUpdatable: true, UserReadOnly: true},
				{Name: "note", Kind: Property, Type: "any", Data: true},
				{Name: "parts", Kind: Collection, Type: "part", Max: 2},
				{Name: "core", Kind: Child, Type: "system"},
			}},
			{ID: "big", Extends: "thing", Deprecated: "use thing", Validators: []ItemValidator{{Kind: "together", Properties: []string{"low", "high"}}}, Elements: []Element{
				{Name: "must", Kind: Property, Type: "any", Required: true},
				{Name: "low", Kind: Property, Type: "port"},
				{Name: "high", Kind: Property, Type: "port"},
			}},
			{ID: "part", Elements: []Element{
				{Name: "name", Kind: Property, Type: "any"},
				{Name: "bits", Kind: Collection, Type: "bit"},
			}},
			{ID: "bit", Elements: []Element{{Name: "name", Kind: Property, Type: "any"}}},
		},
	}
}

func newTree(t testing.TB) *Tree {
	t.Helper()
	registry, problems := Register(testTypes())
	if problems != nil {
		t.Fatal(problems)
	}
	tree, problems := New(registry, "root")
	if problems != nil {
		t.Fatal(problems)
	}
	script(t, tree,
		"create /mgmt mgmt host=ms", "create /sites/s site", "create /sites/s/clusters/c ha-cluster",
		"create /sites/s/clusters/c/nodes/n node host=n", "create /sites/s/clusters/c/nodes/m node host=m")
	return tree
}

// script runs lines such as "create /things/a thing name=x", "update /things/a name=y note-", "expect /things/a Applied": paths may begin
// with "@", which is the first node. A line that ends with "!Code" must be refused with that code, and with that one first.
func script(t testing.TB, tree *Tree, lines ...string) {
	t.Helper()
	for _, line := range lines {
		words := strings.Fields(strings.ReplaceAll(line, "@", "/sites/s/clusters/c/nodes/n"))
		want := ""
		if last := words[len(words)-1]; strings.HasPrefix(last, "!") {
			want, words = last[1:], words[:len(words)-1]
		}
		before := tree.Digest()
		problems := run(t, tree, words).Errors()
		got := ""
		if len(problems) > 0 {
			got = string(problems[0].Code)
		}
		if got != want {
			t.Fatalf("%s: got %q %v, want %q", line, got, problems, want)
		}
		if got != "" && tree.Digest() != before {
			t.Fatalf("%s: refused, and changed the tree", line)
		}
		if broken := invariants(tree); broken != "" {
			t.Fatalf("%s: %s", line, broken)
		}
	}
}

func run(t testing.TB, tree *Tree, words []string) site.Problems {
	t.Helper()
	path := Root
	if len(words) > 1 {
		path = Path(words[1])
	}
	switch words[0] {
	case "create":
		return tree.Create(path, words[2], propertiesOf(words[3:]))
	case "inherit":
		return tree.Inherit(path, Path(words[2]), propertiesOf(words[3:]))
	case "update":
		return tree.Update(path, changesOf(words[2:]))
	case "plugin":
		return tree.UpdateByPlugin(path, changesOf(words[2:]))
	case "remove":
		return tree.Remove(path)
	case "lost":
		return tree.MarkUndeterminable(path)
	case "done":
		for _, p := range words[1:] {
			tree.TasksSucceeded(Path(p))
		}
	case "resume":
		tree.Resumed(path)
	case "delete":
		tree.DeleteRemoved()
	case "success":
		tree.PlanSucceeded()
	case "again":
		tree.InstallAgain()
	case "state":
		return tree.SetState(path, State(words[2]))
	case "expect":
		expect(t, tree, path, words[2:])
	default:
		t.Fatalf("unknown step %q", words[0])
	}
	return nil
}

// expect checks an item: "gone", a state, "known" or "unknown", name=value, applied:name=value, own:name-.
func expect(t testing.TB, tree *Tree, path Path, words []string) {
	t.Helper()
	it := tree.Get(path)
	if it == nil {
		if !slices.Equal(words, []string{"gone"}) {
			t.Fatalf("%s is gone, want %v", path, words)
		}
		return
	}
	for _, word := range words {
		properties := it.Properties()
		text, applied := strings.CutPrefix(word, "applied:")
		if applied {
			properties = it.Applied()
		}
		name, value, isValue := strings.Cut(text, "=")
		absent, isAbsent := strings.CutSuffix(text, "-")
		ok := word == string(it.State())
		switch {
		case isValue:
			got, set := properties[name]
			ok = set && got == value
		case isAbsent:
			_, set := properties[absent]
			ok = !set
		case word == "known" || word == "unknown":
			ok = it.Determinable() == (word == "known")
		}
		if !ok {
			t.Fatalf("%s: want %s; is %s (before: %q), known %t, %v, applied %v", path, word, it.State(), it.Previous(), it.Determinable(), it.Properties(), it.Applied())
		}
	}
}

func propertiesOf(words []string) map[string]string {
	out := make(map[string]string)
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		out[name] = value
	}
	return out
}

func changesOf(words []string) Changes {
	out := make(Changes)
	for _, word := range words {
		if name, drop := strings.CutSuffix(word, "-"); drop {
			out[name] = nil
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		out[name] = &value
	}
	return out
}
