package planner_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestRelocate(t *testing.T) {
	// at makes nodes of "name=address" texts.
	at := func(texts ...string) []site.Node {
		var nodes []site.Node
		for _, text := range texts {
			name, address, _ := strings.Cut(text, "=")
			nodes = append(nodes, site.Node{Name: name, Address: address})
		}
		return nodes
	}
	on := func(digests ...string) planner.Applied {
		applied := planner.Applied{}
		for _, text := range digests {
			node, digest, _ := strings.Cut(text, "=")
			applied[node] = map[resource.ID]string{"file[/x]": digest}
		}
		return applied
	}
	drift := planner.Drift{"a": {"file[/x]"}}
	for name, tt := range map[string]struct {
		before, now   []site.Node
		applied, want planner.Applied
		drifted       []string
		left          []planner.Left
		warned        string // the node warned of
	}{
		"back from where nobody answered": {at("a=2", "a.old=1"), at("a=1"), on("a=", "a.old=A"), on("a=A"), nil, nil, ""},
		"from where nobody answered":      {at("a=2"), at("a=1"), on("a="), on("a="), nil, nil, ""},
		"from one typo to another": {at("a=2", "a.old=1"), at("a=3"), on("a=", "a.old=A"), on("a=", "a.old=A"), nil, nil,
			""},
		"left from where nobody answered": {at("a=2", "a.old=1", "b=3"), at("b=3"), on("a=", "a.old=A", "b=B"),
			on("a.old=A", "b=B"), nil, nil, ""},
		"from where nobody answered to another's place": {at("a=2", "b=1"), at("a=1"), on("a=", "b=B"), on("a=B"), nil, nil,
			""},
		"nothing changed": {at("a=1", "b=2"), at("b=2", "a=1"), on("a=A", "b=B"), on("a=A", "b=B"),
			[]string{"a"}, nil, ""},
		"a node came": {at("a=1"), at("a=1", "b=2"), on("a=A"), on("a=A"), []string{"a"}, nil, ""},
		"a node left": {at("a=1", "b=2"), at("b=2"), on("a=A", "b=B"), on("a=A", "b=B"), []string{"a"},
			nil, ""},
		"another name": {at("a=1", "b=2"), at("c=1", "b=2"), on("a=A", "b=B"), on("c=A", "b=B"),
			[]string{"c"}, nil, ""},
		"names swapped": {at("a=1", "b=2"), at("a=2", "b=1"), on("a=A", "b=B"), on("b=A", "a=B"),
			[]string{"b"}, nil, ""},
		"another place": {at("a=1", "b=2"), at("a=3", "b=2"), on("a=A", "b=B"), on("a=", "b=B", "a.old=A"),
			[]string{"a.old"}, []planner.Left{{Node: "a", Name: "a.old", Unsure: true}}, "a"},
		"another place, untouched": {at("a=1"), at("a=3"), on("b=B"), on("b=B"), nil, nil, ""},
		"place of one that left": {at("a=1", "b=2"), at("b=1"), on("a=A", "b=B"), on("b=A", "b.old=B"), []string{"b"},
			[]planner.Left{{Node: "b", Name: "b.old"}}, "b"},
		"places one after the other": {at("a=1", "b=2", "c=3"), at("a=2", "b=3"), on("a=A", "b=B", "c=C"),
			on("a=B", "b=C", "a.old=A"), []string{"a.old"},
			[]planner.Left{{Node: "a", Name: "a.old"}}, "a"},
		"a machine that left is there still": {at("a=1", "b=2", "b.old=3"), at("b=1"), on("a=A", "b=B", "b.old=C"),
			on("b=A", "b.old=C", "b.old2=B"), []string{"b"},
			[]planner.Left{{Node: "b", Name: "b.old2"}}, "b"},
		"nobody knows the way":      {nil, at("b=2"), on("a=A", "b=B"), on("a=A", "b=B"), []string{"a"}, nil, ""},
		"on a machine of two names": {at("a=1", "b=1"), at("b=1"), on("a=A", "b=B"), on("b=B"), nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			applied, drifted, left, errs := planner.Relocate(tt.before, tt.now, tt.applied, drift, tt.applied.Known)
			if d := cmp.Diff(tt.want, applied); d != "" {
				t.Errorf("applied (-want +got):\n%s", d)
			}
			if got := slices.Collect(maps.Keys(drifted)); !slices.Equal(got, tt.drifted) {
				t.Errorf("drift is on %v, want it on %v", got, tt.drifted)
			}
			if d := cmp.Diff(tt.left, left); d != "" {
				t.Errorf("left (-want +got):\n%s", d)
			}
			warned := ""
			for _, p := range errs {
				if !p.Warning || p.Object != "node" || p.Code != invalid.NodeMoved ||
					!strings.Contains(p.Message, "the machine at the old address leaves the site") {
					t.Errorf("got %+v", p)
				}
				warned += p.Name
			}
			if warned != tt.warned {
				t.Errorf("warned of %q, want %q", warned, tt.warned)
			}
		})
	}
}
