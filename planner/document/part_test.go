package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// A service that is written by hand may leave configuration out; it stays as it is when it is known.
func TestKnownPartKeepsAServiceWithoutConfiguration(t *testing.T) {
	d := Deployment{Services: []any{map[string]any{"name": "ntp", "entity": map[string]any{"definition": "{}"}}}}
	part, l, err := KnownPart(d, false)
	if err != nil || l.Services != (site.Share{Lacks: 0, Of: 1}) || !l.Brings.None() {
		t.Errorf("%v, %+v", err, l)
	}
	if diff := cmp.Diff(d, part); diff != "" {
		t.Error(diff)
	}
}

// What is not known is left out, and noted with all that may depend on it.
func TestKnownPart(t *testing.T) {
	unknown := resource.Unknown{}
	object := func(name string, more ...any) map[string]any {
		out := map[string]any{"name": name}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	selectors := []any{map[string]any{"node_tags": []any{"a"}}}
	d := Deployment{
		Nodes: map[string]any{"n1": object("n1"), "n2": object("n2", "address", unknown, "tags", []any{"a"}),
			"n3": object("n3", "tags", unknown)},
		Services: []any{
			object("whole", "selectors", []any{}, "configuration", map[string]any{"file": map[string]any{"/a": map[string]any{"mode": unknown}}}),
			object("some", "selectors", selectors, "configuration",
				map[string]any{"file": map[string]any{"/b": unknown, "/c": map[string]any{}}, "package": unknown}),
			object("none", "selectors", selectors, "entity", unknown),
		},
	}
	part, l, err := KnownPart(d, false)
	if err != nil {
		t.Fatal(err)
	}
	some := object("some", "selectors", selectors, "configuration", map[string]any{"file": map[string]any{"/c": map[string]any{}}})
	want := Deployment{Nodes: []any{object("n1"), object("n3", "tags", nil)}, Services: []any{d.Services.([]any)[0], some}}
	if diff := cmp.Diff(want, part); diff != "" {
		t.Errorf("part (-want +got):\n%s", diff)
	}
	selected := site.Selectors{{NodeTags: []string{"a"}}}
	partial := site.Service{Name: "any", Selectors: selected, Configuration: resource.Configuration{}}
	undecided := map[string]site.UndecidedNode{
		"n2": {Node: site.Node{Name: "n2", Tags: []string{"a"}}, Moves: true, Owners: []string{"default"}},
		"n3": {Node: site.Node{Name: "n3"}, Lacks: []string{"tags"}, Owners: []string{"default"}},
	}
	lacks := site.Lacking{
		Places: []string{`node "n2", address`, `node "n3", tags`, `service "whole", configuration.file["/a"].mode`,
			`service "some", configuration.file["/b"]`, `service "some", configuration.package`, `service "none", entity`},
		Nodes: site.Share{Lacks: 2, Of: 3}, Services: site.Share{Lacks: 1, Of: 3}, Resources: site.Share{Lacks: 2, Of: 3},
		Absent: []site.Node{{Name: "n2", Tags: []string{"a"}}}, Names: []string{"n2"}, Undecided: undecided, Members: map[string]bool{}, Open: map[string]bool{"default": true}, Wavering: map[string]bool{},
		Loose: map[string]bool{"n3": true}, Overriding: map[string][]resource.Configuration{},
		Partial: []site.Service{partial, partial}, Entities: true, Wanted: map[string]bool{"none": true},
		Brings: site.Brings{Any: true, Types: map[string]bool{"package": true}, IDs: map[resource.ID]bool{"file[/b]": true}},
	}
	if diff := cmp.Diff(lacks, l); diff != "" {
		t.Errorf("lacking (-want +got):\n%s", diff)
	}
	for name, d := range map[string]Deployment{
		"groups[0].name":                         {Groups: []any{object("g", "name", unknown)}},
		"nodes":                                  {Nodes: unknown},
		`override "o", configuration.file["/a"]`: {Overrides: []any{object("o", "configuration", map[string]any{"file": map[string]any{"/a": unknown}})}},
	} {
		if _, l, err := KnownPart(d, false); err != nil || l.Attribute != name {
			t.Errorf("got %q, %v, want %q", l.Attribute, err, name)
		}
	}
}
