package planner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func laySchemas() map[string]resource.Schema {
	return map[string]resource.Schema{"kv": {Type: "kv",
		Parameters: []resource.Parameter{{Name: "value"}, {Name: "note"}}}}
}

type layTitles = map[string]resource.Parameters

func TestLay(t *testing.T) {
	service := site.Service{Name: "base", Selectors: site.Selectors{{NodeNames: []string{"elsewhere"}}},
		Configuration: resource.Configuration{"kv": layTitles{"a": {"value": "1", "require": "kv[z]"}, "z": {}}}}
	// The later layer is the stronger one, whatever the names are.
	tasks, errs := planner.Lay(laySchemas(), service, []site.Override{
		{Name: "z", Configuration: resource.Configuration{"kv": layTitles{"a": {"value": "2", "note": "z"}}}},
		{Name: "a", Nodes: []string{"any node"}, Configuration: resource.Configuration{"kv": layTitles{"a": {"value": "3"}, "new": {"before": "kv[z]"}}}},
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, task := range tasks {
		got = append(got, string(task.Resource.ID())+" "+task.Service+" "+task.Resource.Parameters.String("value")+" "+
			strings.Join(task.Override, ","))
	}
	if d := cmp.Diff([]string{"kv[new]   a", "kv[z] base  ", "kv[a] base 3 z,a"}, got); d != "" {
		t.Error(d)
	}
}

func TestLayErrors(t *testing.T) {
	base := resource.Configuration{"kv": layTitles{"a": {"value": "1"}, "b": {"require": "kv[a]"}}}
	override := func(p resource.Parameters) []site.Override {
		return []site.Override{{Name: "o", Configuration: resource.Configuration{"kv": layTitles{"a": p}}}}
	}
	tests := map[string]struct {
		base      resource.Configuration
		overrides []site.Override
		want      string
	}{
		"in the base": {resource.Configuration{"kv": layTitles{"a": {"bogus": "1"}}}, nil,
			`service "base": configuration.kv["a"].bogus: `},
		"in an override": {base, override(resource.Parameters{"bogus": "1"}),
			`override "o": configuration.kv["a"].bogus: `},
		"null": {base, override(resource.Parameters{"value": nil}),
			`override "o": configuration.kv["a"].value: is null`},
		"unresolved reference": {base, override(resource.Parameters{"notify": "kv[zzz]"}),
			`override "o": configuration.kv["a"].notify: there is no kv[zzz]`},
		"cycle": {base, override(resource.Parameters{"require": "kv[b]"}),
			`override "o": configuration.kv["a"].require: resources wait for each other: kv[a] requires kv[b] requires kv[a]`},
		"one name twice": {base, []site.Override{{Name: "o"}, {Name: "o"}},
			`override "o": name: there is more than one`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tasks, errs := planner.Lay(laySchemas(), site.Service{Name: "base", Configuration: tt.base},
				tt.overrides)
			if tasks != nil || len(errs) != 1 || !strings.HasPrefix(errs.Error(), tt.want) {
				t.Errorf("got %v, %v", tasks, errs)
			}
		})
	}
}
