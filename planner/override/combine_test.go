package override

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestCombine(t *testing.T) {
	yes, no := true, false
	defaults := func(p params) map[string]map[string]any { return map[string]map[string]any{"kv": p} }
	tests := map[string]struct {
		layers []site.Override
		want   site.Override
	}{
		"none": {nil, site.Override{Configuration: conf{}}},
		"per parameter; name and scope of the strongest": {
			[]site.Override{
				{Name: "site", Configuration: conf{"kv": titles{"a": {"value": "1", "note": "n", "list": []any{"x"}},
					"b": {}}}},
				{Name: "node", Nodes: []string{"n1"},
					Configuration: conf{"kv": titles{"a": {"value": "2", "list": []any{"y", "x"}}},
						"package": titles{"p": {}}}},
			},
			site.Override{Name: "node", Nodes: []string{"n1"},
				Configuration: conf{"kv": titles{"a": {"value": "2", "note": "n", "list": []any{"x", "y"}}, "b": {}},
					"package": titles{"p": {}}}},
		},
		"a title whole": {
			[]site.Override{
				{Configuration: conf{"kv": titles{"a": {"value": "1", "note": "n"}, "b": {"value": "b"}}}},
				{Merge: "title", Configuration: conf{"kv": titles{"a": {"value": "2"}}}},
			},
			site.Override{Merge: "title", Configuration: conf{"kv": titles{"a": {"value": "2"}, "b": {"value": "b"}}}},
		},
		"options": {
			[]site.Override{
				{Options: site.OverrideOptions{Create: &yes, TypesFilter: []string{"kv", "file"},
					TitlesFilter: []string{"a"}, Defaults: defaults(params{"note": "n", "value": "1"})}},
				{Options: site.OverrideOptions{Create: &no, TypesFilter: []string{"package", "kv"},
					TitlesFilter: []string{}, TypesCreateException: []string{"kv"},
					Defaults: defaults(params{"value": "2"})}},
				{Options: site.OverrideOptions{TitlesCreateException: []string{"b"}}},
			},
			site.Override{Configuration: conf{}, Options: site.OverrideOptions{Create: &no,
				TypesFilter: []string{"kv", "file", "package"}, TitlesFilter: []string{"a"},
				TypesCreateException: []string{"kv"}, TitlesCreateException: []string{"b"},
				Defaults: defaults(params{"note": "n", "value": "2"})}},
		},
		"options whole": {
			[]site.Override{
				{Options: site.OverrideOptions{TypesFilter: []string{"kv"}, TitlesFilter: []string{"a"},
					Defaults: defaults(params{"note": "n"})}},
				{Merge: "title", Options: site.OverrideOptions{TypesFilter: []string{"file"},
					Defaults: defaults(params{"value": "2"})}},
			},
			site.Override{Merge: "title", Configuration: conf{},
				Options: site.OverrideOptions{TypesFilter: []string{"file"}, TitlesFilter: []string{"a"},
					Defaults: defaults(params{"value": "2"})}},
		},
		"an empty list whole": {
			[]site.Override{
				{Options: site.OverrideOptions{TypesFilter: []string{"kv"}, TitlesFilter: []string{"a"}}},
				{Merge: "title", Options: site.OverrideOptions{TypesFilter: []string{}}},
			},
			site.Override{Merge: "title", Configuration: conf{},
				Options: site.OverrideOptions{TitlesFilter: []string{"a"}}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Combine(tt.layers)); d != "" {
				t.Error(d)
			}
		})
	}
	first := site.Override{Configuration: conf{"kv": titles{"a": {"value": "1"}}},
		Options: site.OverrideOptions{Defaults: defaults(params{"note": "n"})}}
	Combine([]site.Override{first, {Configuration: conf{"kv": titles{"a": {"value": "2"}}},
		Options: site.OverrideOptions{Defaults: defaults(params{"note": "m"})}}})
	if first.Configuration["kv"]["a"]["value"] != "1" || first.Options.Defaults["kv"]["note"] != "n" {
		t.Error("Combine changed a layer")
	}
}

func TestSettings(t *testing.T) {
	yes, no := true, false
	data := site.OverrideOptions{Create: &yes, TypesFilter: []string{"a"}, TitlesFilter: []string{"b"},
		TypesCreateException: []string{"c"}, TitlesCreateException: []string{"d"},
		Defaults: map[string]map[string]any{"kv": {"note": "n"}}}
	if d := cmp.Diff(data, Settings(data, site.OverrideOptions{TypesFilter: []string{},
		Defaults: map[string]map[string]any{}})); d != "" {
		t.Errorf("empty settings hide options: %s", d)
	}
	direct := site.OverrideOptions{Create: &no, TypesFilter: []string{"1"}, TitlesFilter: []string{"2"},
		TypesCreateException: []string{"3"}, TitlesCreateException: []string{"4"},
		Defaults: map[string]map[string]any{"file": {"mode": "0644"}}}
	if d := cmp.Diff(direct, Settings(data, direct)); d != "" {
		t.Error(d)
	}
}
