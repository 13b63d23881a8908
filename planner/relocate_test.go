package planner_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
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
		warned        string // the node warned of
	}{
		"nothing changed":           {at("a=1", "b=2"), at("b=2", "a=1"), on("a=A", "b=B"), on("a=A", "b=B"), []string{"a"}, ""},
		"a node came":               {at("a=1"), at("a=1", "b=2"), on("a=A"), on("a=A"), []string{"a"}, ""},
		"a node left":               {at("a=1", "b=2"), at("b=2"), on("a=A", "b=B"), on("a=A", "b=B"), []string{"a"}, ""},
		"another name":              {at("a=1", "b=2"), at("c=1", "b=2"), on("a=A", "b=B"), on("c=A", "b=B"), []string{"c"}, ""},
		"names swapped":             {at("a=1", "b=2"), at("a=2", "b=1"), on("a=A", "b=B"), on("b=A", "a=B"), []string{"b"}, ""},
		"another place":             {at("a=1", "b=2"), at("a=3", "b=2"), on("a=A", "b=B"), on("a=", "b=B"), nil, "a"},
		"another place, untouched":  {at("a=1"), at("a=3"), on("b=B"), on("b=B"), nil, ""},
		"place of one that left":    {at("a=1", "b=2"), at("b=1"), on("a=A", "b=B"), on("b=A"), []string{"b"}, "b"},
		"nobody knows the way":      {nil, at("b=2"), on("a=A", "b=B"), on("a=A", "b=B"), []string{"a"}, ""},
		"on a machine of two names": {at("a=1", "b=1"), at("b=1"), on("a=A", "b=B"), on("b=B"), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			applied, drifted, problems := planner.Relocate(tt.before, tt.now, tt.applied, drift)
			if d := cmp.Diff(tt.want, applied); d != "" {
				t.Errorf("applied (-want +got):\n%s", d)
			}
			if got := slices.Collect(maps.Keys(drifted)); !slices.Equal(got, tt.drifted) {
				t.Errorf("drift is on %v, want it on %v", got, tt.drifted)
			}
			warned := ""
			for _, p := range problems {
				if !p.Warning || p.Object != "node" || p.Code != site.NodeMoved {
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
