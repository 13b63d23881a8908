package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// file is one file of vectors.
type file struct {
	name    string // without directory and extension
	root    map[string]yaml.Node
	vectors []*vector
}

// vector is one of its examples.
type vector struct {
	id   string
	kind string
	keys map[string]yaml.Node // all of it
}

func TestVectors(t *testing.T) {
	dir := os.Getenv("SLIPWAY_VECTORS")
	if dir == "" {
		dir = "testdata"
	}
	listed, err := differences()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range vectorFiles(t, dir) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			f := loadFile(t, path)
			for _, v := range f.vectors {
				t.Run(v.id, func(t *testing.T) { check(t, f, v, listed) })
			}
		})
	}
}

func vectorFiles(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no vector files *.yaml in %s", dir)
	}
	return paths
}

func loadFile(t *testing.T, path string) *file {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := func(kind string) bool { return kinds[kind] != nil }
	f, err := load(strings.TrimSuffix(filepath.Base(path), ".yaml"), data, whole)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// load finds the vectors of a file: the items with an id in the lists on its first level, and the mappings there whose kind is one
// that is a vector as a whole.
func load(name string, data []byte, whole func(kind string) bool) (*file, error) {
	f := &file{name: name}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := document.Decode(&f.root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	seen := make(map[string]bool)
	top := document.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		section, list := top.Content[i].Value, top.Content[i+1]
		if v := (&vector{id: section, kind: name + ":" + section}); list.Kind == yaml.MappingNode && whole(v.kind) {
			if err := list.Decode(&v.keys); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, section, err)
			}
			seen[v.id] = true
			f.vectors = append(f.vectors, v)
			continue
		}
		if list.Kind != yaml.SequenceNode {
			continue
		}
		for _, item := range list.Content {
			v := &vector{kind: name + ":" + section}
			if item.Kind != yaml.MappingNode || item.Decode(&v.keys) != nil {
				continue
			}
			id, ok := v.keys["id"]
			if !ok {
				continue
			}
			if v.id = id.Value; seen[v.id] {
				return nil, fmt.Errorf("%s: two vectors have the id %q", name, v.id)
			}
			seen[v.id] = true
			if kind, ok := v.keys["kind"]; ok {
				v.kind = kind.Value
			}
			f.vectors = append(f.vectors, v)
		}
	}
	if len(f.vectors) == 0 {
		return nil, fmt.Errorf("%s: no vectors in it (lists of mappings with an id)", name)
	}
	return f, nil
}

// has reports whether the vector has a key.
func (v *vector) has(key string) bool { _, ok := v.keys[key]; return ok }

// into decodes a part of the vector. A part that is not there is left alone.
func (v *vector) into(t testing.TB, key string, out any) {
	t.Helper()
	node, ok := v.keys[key]
	if !ok {
		return
	}
	if err := node.Decode(out); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
}

// inputs fails the test when the vector has parts beside inputs that nothing would look at: it would seem to pass. Parts that explain, or
// tell what the original code or another reading gives, are free.
func (v *vector) inputs(t testing.TB, known ...string) {
	t.Helper()
	free := []string{"id", "kind", "title", "src", "note", "why", "expect"}
	for key := range v.keys {
		explains := slices.ContainsFunc([]string{"reference", "alternative", "seed", "expect_"}, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		if !explains && !slices.Contains(free, key) && !slices.Contains(known, key) {
			t.Errorf("the vector has the part %q, which no code looks at", key)
		}
	}
}

// expectations decodes a mapping of what is expected, and fails the test when there are some that nothing would check.
func expectations(t testing.TB, node yaml.Node, known ...string) map[string]yaml.Node {
	t.Helper()
	out := make(map[string]yaml.Node)
	if node.Kind != yaml.MappingNode {
		return out
	}
	if err := node.Decode(&out); err != nil {
		t.Fatalf("expect: %v", err)
	}
	for key := range out {
		if !slices.Contains(known, key) {
			t.Errorf("the vector expects %q, which no code checks", key)
		}
	}
	return out
}

// decode reads a node into a value of type T.
func decode[T any](t testing.TB, node yaml.Node) T {
	t.Helper()
	var out T
	if err := node.Decode(&out); err != nil {
		t.Fatalf("line %d: %v", node.Line, err)
	}
	return out
}

// strictly is decode for values that may have no other keys than T has fields.
func strictly[T any](t testing.TB, node yaml.Node) T {
	t.Helper()
	var out T
	if node.Kind == 0 {
		return out
	}
	data, err := yaml.Marshal(decode[any](t, node)) // without aliases
	if err != nil {
		t.Fatalf("line %d: %v", node.Line, err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&out); err != nil {
		t.Errorf("line %d: no code looks at this: %v", node.Line, err)
	}
	return out
}

func TestLoad(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // "id kind" of each vector, or part of the error
	}{
		{"kind of its own", "vectors: [{id: A, kind: run}]", "A run"},
		{"kind of its list", "ordering: [{id: A}]\nother: {x: 1}\nplain: [1, [2]]", "A f:ordering"},
		{"two lists", "a: [{id: A}]\nb: [{id: B, kind: k}]", "A f:a B k"},
		{"the same id twice", "a: [{id: A}]\nb: [{id: A}]", "two vectors"},
		{"a mapping as a whole", "w: {valid: []}\na: [{id: A}]", "w f:w A f:a"},
		{"nothing in it", "lifecycles: {a: 1}", "no vectors"},
		{"not a mapping", "[1]", "cannot unmarshal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := load("f", []byte(tt.text), func(kind string) bool { return kind == "f:w" })
			var got []string
			if err != nil {
				got = append(got, err.Error())
			} else {
				for _, v := range f.vectors {
					got = append(got, v.id, v.kind)
				}
			}
			if text := strings.Join(got, " "); err == nil && text != tt.want || !strings.Contains(text, tt.want) {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}
