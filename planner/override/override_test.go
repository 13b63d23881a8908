package override

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

var overrideSchemas = map[string]resource.Schema{
	"kv": {Type: "kv", Parameters: []resource.Parameter{
		{Name: "ensure"}, {Name: "value"}, {Name: "note"}, {Name: "list", Kind: resource.StringList},
		{Name: "map", Kind: resource.StringMap},
	}, Check: func(r resource.Resource) []invalid.Error {
		if r.Parameters.String("value") == r.Parameters.String("note") && r.Parameters.Has("value") {
			return []invalid.Error{{Attribute: "note", Message: "must differ from value"}}
		}
		return nil
	}},
	"package": {Type: "package", Parameters: []resource.Parameter{{Name: "ensure"}, {Name: "name"}}},
	"need":    {Type: "need", Parameters: []resource.Parameter{{Name: "must", Required: true}}},
}

type (
	conf   = resource.Configuration
	titles = map[string]resource.Parameters
	params = resource.Parameters
)

// apply lays overrides that all concern one node over the resources of a service.
func apply(t *testing.T, overrides []site.Override, base conf) (map[string]params, []task.Task, invalid.Errors) {
	t.Helper()
	set, errs := New(overrides, overrideSchemas)
	tasks := tasksOf(t, base)
	node := site.Node{Name: "n1", Roles: []string{"web", "compute"}}
	after, faults := set.Apply(set.Layers(node, []string{"g1", "g2"}), tasks)
	if d := cmp.Diff(tasksOf(t, base), tasks); d != "" {
		t.Errorf("Apply changed its argument: %s", d)
	}
	got := make(map[string]params)
	for _, a := range after {
		got[string(a.Resource.ID())] = a.Resource.Parameters
	}
	return got, after, append(errs, faults...)
}

func tasksOf(t *testing.T, base conf) []task.Task {
	t.Helper()
	var tasks []task.Task
	for typ, byTitle := range base {
		for title, p := range byTitle {
			schema := overrideSchemas[typ]
			r := schema.Normalize(resource.Resource{Type: typ, Title: title, Parameters: p})
			tasks = append(tasks, task.Task{Group: task.Node, Service: "s", Resource: r, Digest: resource.Digest(r)})
		}
	}
	slices.SortFunc(tasks, func(a, b task.Task) int {
		return strings.Compare(string(a.Resource.ID()),
			string(b.Resource.ID()))
	})
	return tasks
}

func TestApply(t *testing.T) {
	no := false
	tests := map[string]struct {
		base      conf
		overrides []site.Override
		want      map[string]params
	}{
		"a parameter is updated, the others stay (OV-01)": {
			conf{"kv": titles{"a": {"ensure": "present", "value": "1"}}},
			[]site.Override{{Configuration: conf{"kv": titles{"a": {"value": "2"}}}}},
			map[string]params{"kv[a]": {"ensure": "present", "value": "2"}},
		},
		"what is missing is created by default (OV-03)": {
			nil, []site.Override{{Configuration: conf{"kv": titles{"a": {"value": "2"}}}}},
			map[string]params{"kv[a]": {"value": "2"}},
		},
		"without create what is missing is skipped (OV-05)": {
			conf{"kv": titles{"a": {"value": "1"}}},
			[]site.Override{{Configuration: conf{"kv": titles{"a": {"value": "2"}, "b": {"value": "3"}}},
				Options: site.OverrideOptions{Create: &no}}},
			map[string]params{"kv[a]": {"value": "2"}},
		},
		"types_filter (OV-07)": {
			conf{"kv": titles{"a": {"value": "1"}}, "package": titles{"p": {"ensure": "present"}}},
			[]site.Override{{Configuration: conf{"kv": titles{"a": {"value": "2"}},
				"package": titles{"p": {"ensure": "absent"}}},
				Options: site.OverrideOptions{TypesFilter: []string{"package"}}}},
			map[string]params{"kv[a]": {"value": "1"}, "package[p]": {"ensure": "absent"}},
		},
		"titles_filter": {
			nil, []site.Override{{Configuration: conf{"kv": titles{"a": {}, "b": {}}},
				Options: site.OverrideOptions{TitlesFilter: []string{"b"}}}},
			map[string]params{"kv[b]": {}},
		},
		"an unknown type that is filtered out is not processed": {
			nil, []site.Override{{Configuration: conf{"what": titles{"a": {}}, "kv": titles{"b": {}}},
				Options: site.OverrideOptions{TypesFilter: []string{"kv"}}}},
			map[string]params{"kv[b]": {}},
		},
		"a listed title is not created (OV-13)": {
			nil, []site.Override{{Configuration: conf{"kv": titles{"a": {}, "b": {}}},
				Options: site.OverrideOptions{TitlesCreateException: []string{"a"}}}},
			map[string]params{"kv[b]": {}},
		},
		"a listed type is not created": {
			nil, []site.Override{{Configuration: conf{"kv": titles{"a": {}}, "package": titles{"b": {}}},
				Options: site.OverrideOptions{TypesCreateException: []string{"kv"}}}},
			map[string]params{"package[b]": {}},
		},
		"without create, type or title is enough (OV-17)": {
			nil, []site.Override{{Configuration: conf{"kv": titles{"a": {}, "b": {}},
				"package": titles{"b": {}, "c": {}}},
				Options: site.OverrideOptions{Create: &no, TypesCreateException: []string{"kv"},
					TitlesCreateException: []string{"c"}}}},
			map[string]params{"kv[a]": {}, "kv[b]": {}, "package[c]": {}},
		},
		"exceptions never stop an update (OV-18)": {
			conf{"kv": titles{"a": {"value": "1"}}},
			[]site.Override{{Configuration: conf{"kv": titles{"a": {"value": "2"}}},
				Options: site.OverrideOptions{TypesCreateException: []string{"kv"},
					TitlesCreateException: []string{"a"}}}},
			map[string]params{"kv[a]": {"value": "2"}},
		},
		"defaults fill what the data leaves open and beat the catalog (OV-19, OV-20, OV-21, OV-23)": {
			conf{"kv": titles{"a": {"ensure": "absent", "value": "1"}, "z": {"value": "z"}}},
			[]site.Override{{Configuration: conf{"kv": titles{"a": {}, "b": {"ensure": "absent"}}},
				Options: site.OverrideOptions{Defaults: map[string]map[string]any{"kv": {"ensure": "present",
					"note": "d"}}}}},
			map[string]params{"kv[a]": {"ensure": "present", "value": "1", "note": "d"},
				"kv[b]": {"ensure": "absent", "note": "d"}, "kv[z]": {"value": "z"}},
		},
		"a list of the data replaces the default's": {
			nil, []site.Override{{Configuration: conf{"kv": titles{"a": {"list": []any{"x"}}}},
				Options: site.OverrideOptions{Defaults: map[string]map[string]any{"kv": {"list": []any{"y"}}}}}},
			map[string]params{"kv[a]": {"list": []any{"x"}}},
		},
		"relations are added to (OV-28)": {
			conf{"kv": titles{"a": {"require": "Kv[z]"}, "z": {}}},
			[]site.Override{{Configuration: conf{"kv": titles{"a": {"require": "Package[s]"}}}}},
			map[string]params{"kv[a]": {"require": []any{"kv[z]", "package[s]"}}, "kv[z]": {}},
		},
		"a list of the service is replaced": {
			conf{"kv": titles{"a": {"list": []any{"x", "y"}}}},
			[]site.Override{{Configuration: conf{"kv": titles{"a": {"list": "z"}}}}},
			map[string]params{"kv[a]": {"list": []any{"z"}}},
		},
		"name cannot change the identity (OV-44)": {
			nil, []site.Override{{Configuration: conf{"kv": titles{"a": {"name": "other", "value": "1"}}}}},
			map[string]params{"kv[a]": {"value": "1"}},
		},
		"name stays where the type declares it": {
			nil, []site.Override{{Configuration: conf{"package": titles{"a": {"name": "other"}}}}},
			map[string]params{"package[a]": {"name": "other"}},
		},
		"node over role over group over site, per parameter (LY-01)": {
			nil, []site.Override{
				{Name: "a", Nodes: []string{"n1"}, Configuration: conf{"kv": titles{"a": {"value": "node"}}}},
				{Name: "b", Roles: []string{"web"},
					Configuration: conf{"kv": titles{"a": {"value": "role", "note": "role"}}}},
				{Name: "c", Groups: []string{"g1"},
					Configuration: conf{"kv": titles{"a": {"value": "group", "note": "group", "list": "group"}}}},
				{Name: "d", Configuration: conf{"kv": titles{"a": {"value": "site", "ensure": "site",
					"list": "site"}}}},
			},
			map[string]params{"kv[a]": {"value": "node", "note": "role", "ensure": "site",
				"list": []any{"site", "group"}}},
		},
		"others do not concern the node (SL-04)": {
			nil, []site.Override{
				{Name: "a", Nodes: []string{"n2"}, Configuration: conf{"kv": titles{"a": {"value": "node"}}}},
				{Name: "b", Roles: []string{"db"}, Configuration: conf{"kv": titles{"a": {"value": "role"}}}},
				{Name: "c", Groups: []string{"g3"}, Configuration: conf{"kv": titles{"a": {"value": "group"}}}},
				{Name: "d", Configuration: conf{"kv": titles{"a": {"value": "site"}}}},
			},
			map[string]params{"kv[a]": {"value": "site"}},
		},
		"groups in their order, then by name, whatever the role": {
			nil, []site.Override{
				{Name: "a", Groups: []string{"g2"}, Configuration: conf{"kv": titles{"a": {"value": "g2"}}}},
				{Name: "b", Groups: []string{"g1"}, Configuration: conf{"kv": titles{"a": {"value": "g1"}}}},
				{Name: "c", Roles: []string{"web"}, Configuration: conf{"kv": titles{"b": {"value": "web"}}}},
				{Name: "d", Roles: []string{"/comp/"}, Configuration: conf{"kv": titles{"b": {"value": "compute"}}}},
				{Name: "f", Configuration: conf{"kv": titles{"c": {"value": "f"}}}},
				{Name: "e", Configuration: conf{"kv": titles{"c": {"value": "e"}}}},
			},
			map[string]params{"kv[a]": {"value": "g2"}, "kv[b]": {"value": "compute"}, "kv[c]": {"value": "f"}},
		},
		"a title is replaced whole (SL-02)": {
			conf{"kv": titles{"a": {"ensure": "present"}}},
			[]site.Override{
				{Name: "a", Configuration: conf{"kv": titles{"a": {"value": "1", "note": "n"}, "b": {"value": "1"}}}},
				{Name: "b", Nodes: []string{"n1"}, Merge: "title",
					Configuration: conf{"kv": titles{"a": {"value": "2"}}}},
			},
			map[string]params{"kv[a]": {"ensure": "present", "value": "2"}, "kv[b]": {"value": "1"}},
		},
		"a stronger layer without create tunes what a weaker one creates": {
			nil, []site.Override{
				{Name: "a", Configuration: conf{"kv": titles{"a": {"value": "1"}}}},
				{Name: "b", Nodes: []string{"n1"}, Configuration: conf{"kv": titles{"a": {"note": "2"}}},
					Options: site.OverrideOptions{Create: &no}},
			},
			map[string]params{"kv[a]": {"value": "1", "note": "2"}},
		},
		"a null of a stronger layer erases nothing (LY-05)": {
			nil, []site.Override{
				{Name: "a", Configuration: conf{"kv": titles{"a": {"value": "1"}}}},
				{Name: "b", Nodes: []string{"n1"}, Configuration: conf{"kv": titles{"a": {"value": nil, "note": "n"}}}},
			},
			map[string]params{"kv[a]": {"value": "1", "note": "n"}},
		},
		"data of a weaker layer beats the defaults of a stronger one": {
			nil, []site.Override{
				{Name: "a", Configuration: conf{"kv": titles{"a": {"value": "1"}}}},
				{Name: "b", Nodes: []string{"n1"}, Configuration: conf{"kv": titles{"a": {}}},
					Options: site.OverrideOptions{Defaults: map[string]map[string]any{"kv": {"value": "d",
						"note": "d"}}}},
			},
			map[string]params{"kv[a]": {"value": "1", "note": "d"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range tt.overrides {
				if tt.overrides[i].Name == "" {
					tt.overrides[i].Name = "o"
				}
			}
			got, tasks, errs := apply(t, tt.overrides, tt.base)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			for _, task := range tasks {
				if task.Digest != resource.Digest(task.Resource) {
					t.Errorf("%s has the digest of another form", task.Resource.ID())
				}
			}
		})
	}
}

func TestLayers(t *testing.T) {
	set, errs := New([]site.Override{
		{Name: "1 group", Groups: []string{"g2"}}, {Name: "0 groups", Groups: []string{"g1", "g2", "g3"}},
		{Name: "2 role", Roles: []string{"/./", "web"}},
		{Name: "3 site"}, {Name: "4 node", Nodes: []string{"n2", "n1"}}, {Name: "5 other", Roles: []string{"db"}},
		{Name: "6 group", Groups: []string{"g1"}},
	}, overrideSchemas)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, l := range set.Layers(site.Node{Name: "n1", Roles: []string{"web", "compute"}}, []string{"g1", "g2"}) {
		got = append(got, set.Name(l))
	}
	// "0 groups" concerns the node through g1 and through g2, and counts where it is strongest.
	if d := cmp.Diff([]string{"3 site", "6 group", "0 groups", "1 group", "2 role", "4 node"}, got); d != "" {
		t.Error(d)
	}
}

// TestLayersOfRoles: all roles of a node are one scope, in which the later override counts, whatever role it names
// (fuel.md B4).
func TestLayersOfRoles(t *testing.T) {
	set, errs := New([]site.Override{
		{Name: "1", Roles: []string{"web"}}, {Name: "2", Roles: []string{"compute"}},
		{Name: "3", Roles: []string{"/w/"}}, {Name: "4", Roles: []string{"compute", "web"}},
	}, overrideSchemas)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if d := cmp.Diff([]int{0, 1, 2, 3}, set.Layers(site.Node{Name: "n", Roles: []string{"web", "compute"}},
		nil)); d != "" {
		t.Error(d)
	}
}

func TestOverrideNames(t *testing.T) {
	_, tasks, errs := apply(t, []site.Override{
		{Name: "site", Configuration: conf{"kv": titles{"a": {"value": "2"}, "c": {"value": "1"},
			"d": {"value": "same"}}}},
		{Name: "mine", Nodes: []string{"n1"}, Configuration: conf{"kv": titles{"a": {"note": "n"},
			"c": {"value": "2"}}}},
		{Name: "beaten", Groups: []string{"g1"}, Configuration: conf{"kv": titles{"a": {"note": "weaker"}}}},
	}, conf{"kv": titles{"a": {"value": "1"}, "b": {}, "d": {"value": "same"}}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := make(map[string][]string)
	for _, task := range tasks {
		got[string(task.Resource.ID())+task.Service] = task.Override
	}
	want := map[string][]string{"kv[a]s": {"site", "mine"}, "kv[b]s": nil, "kv[c]": {"site", "mine"}, "kv[d]s": nil}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOverrideErrors(t *testing.T) {
	base := conf{"kv": titles{"a": {"value": "1"}}}
	tests := map[string]struct {
		override  site.Override
		attribute string
		code      invalid.Code
	}{
		"unknown type (OV-33)": {site.Override{Configuration: conf{"kw": titles{"x": {}}}},
			"configuration.kw", invalid.UnknownType},
		"empty type": {site.Override{Configuration: conf{"": titles{"x": {}}}}, "configuration.",
			invalid.EmptyType},
		"empty title (OV-41)": {site.Override{Configuration: conf{"kv": titles{"": {}}}}, "configuration.kv",
			invalid.EmptyTitle},
		"unknown parameter (OV-35)": {site.Override{Configuration: conf{"kv": titles{"a": {"bogus": "2"}}}},
			`configuration.kv["a"].bogus`, invalid.UnknownParameter},
		"wrong kind": {site.Override{Configuration: conf{"kv": titles{"a": {"list": map[string]any{}}}}},
			`configuration.kv["a"].list`, invalid.BadParameter},
		"null (OV-36)": {site.Override{Configuration: conf{"kv": titles{"a": {"value": nil}}}},
			`configuration.kv["a"].value`, invalid.NullValue},
		"default of an unknown type":     {site.Override{Options: site.OverrideOptions{Defaults: map[string]map[string]any{"kw": {}}}}, "options.defaults.kw", invalid.UnknownType},
		"unknown parameter in a default": {site.Override{Options: site.OverrideOptions{Defaults: map[string]map[string]any{"kv": {"bogus": "1"}}}}, "options.defaults.kv.bogus", invalid.UnknownParameter},
		"requires itself": {site.Override{Configuration: conf{"kv": titles{"a": {"require": "kv[a]"}}}},
			`configuration.kv["a"].require`, invalid.DependencyCycle},
		"created without what it needs": {site.Override{Configuration: conf{"need": titles{"x": {}}}},
			`configuration.need["x"].must`, invalid.MissingParameter},
		"the result does not fit": {site.Override{Configuration: conf{"kv": titles{"a": {"note": "1"}}}},
			`configuration.kv["a"].note`, invalid.BadParameter},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.override.Name = "o"
			_, _, errs := apply(t, []site.Override{tt.override}, base)
			if len(errs) != 1 {
				t.Fatalf("got %v, want one problem", errs)
			}
			p := errs[0]
			if p.Object != "override" || p.Name != "o" || p.Attribute != tt.attribute || p.Code != tt.code {
				t.Errorf("got %s (%s), want %s (%s)", p, p.Code, tt.attribute, tt.code)
			}
		})
	}
}

// A value that does not fit is not shown where a service, or any override, says that the resource is sensitive.
func TestErrorsOfSensitiveResources(t *testing.T) {
	wrong := func(name string, p params) site.Override {
		return site.Override{Name: name, Configuration: conf{"kv": titles{"secret": p, "plain": {"map": "canary"}}}}
	}
	service := conf{"kv": titles{"secret": {"value": "x", "sensitive": true}, "plain": {"value": "x"}}}
	for name, tt := range map[string]struct {
		overrides []site.Override
		beside    []conf
	}{
		"of a service": {[]site.Override{wrong("o", params{"map": "canary"})}, []conf{service}},
		"of a service, undone": {[]site.Override{wrong("o", params{"map": "canary", "sensitive": false})},
			[]conf{service}},
		"of another override": {[]site.Override{wrong("o", params{"map": "canary"}),
			{Name: "p", Configuration: service}}, nil},
		"with a wrong mark too": {[]site.Override{wrong("o", params{"map": "canary", "sensitive": "x"})},
			[]conf{service}},
	} {
		_, errs := New(tt.overrides, overrideSchemas, tt.beside...)
		var shown, hidden int
		for _, p := range errs {
			if strings.Contains(p.Error(), "canary") {
				shown++
			}
			if strings.Contains(p.Error(), `kv["secret"].map`) || strings.Contains(p.Error(), "kv.secret.map") {
				hidden++
			}
		}
		if shown != 1 || hidden != 1 {
			t.Errorf("%s: %d problems show the value, want that of the plain resource; %d are of the sensitive one: %v",
				name, shown, hidden, errs)
		}
	}
	none := site.Override{Name: "o", Configuration: conf{"kv": titles{"secret": nil}},
		Options: site.OverrideOptions{Defaults: map[string]map[string]any{"kv": {"map": "canary"}}}}
	if _, errs := New([]site.Override{none}, overrideSchemas, service); len(errs) != 1 ||
		strings.Contains(errs[0].Error(), "canary") {
		t.Errorf("defaults: %v", errs)
	}
}

func TestMerge(t *testing.T) {
	tests := map[string]struct{ weaker, stronger, want params }{
		"maps merge at any depth (LY-12)": {
			params{"v": map[string]any{"x": map[string]any{"j": 2, "k": 0}, "y": 3}},
			params{"v": map[string]any{"x": map[string]any{"k": 1}}},
			params{"v": map[string]any{"x": map[string]any{"j": 2, "k": 1}, "y": 3}},
		},
		"lists are united, the weaker one first": {params{"v": []any{"a", "b"}}, params{"v": []any{"c", "a"}},
			params{"v": []any{"a", "b", "c"}}},
		"null erases nothing (LY-05)": {params{"v": "1"}, params{"v": nil, "n": "n"},
			params{"v": "1", "n": "n"}},
		"null is filled": {params{"v": nil}, params{"v": "1"}, params{"v": "1"}},
		"empty clears nothing": {params{"l": []any{"a"}, "m": map[string]any{"k": 1}, "s": "t"},
			params{"l": []any{}, "m": map[string]any{}, "s": []any{}},
			params{"l": []any{"a"}, "m": map[string]any{"k": 1}, "s": "t"}},
		"false is a value":      {params{"v": true}, params{"v": false}, params{"v": false}},
		"another kind replaces": {params{"v": []any{"a"}}, params{"v": "b"}, params{"v": "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, lay(tt.weaker, tt.stronger, false)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSource(t *testing.T) {
	overrides := []site.Override{
		{Name: "o", Configuration: conf{"kv": titles{"a": {"require": "kv[x]"}}}},
		{Name: "d", Configuration: conf{"kv": titles{"a": {}}},
			Options: site.OverrideOptions{Defaults: map[string]map[string]any{"kv": {"notify": "kv[y]"}}}},
	}
	_, tasks, _ := apply(t, overrides, conf{"kv": titles{"a": {"require": "kv[z]"}}})
	set, _ := New(overrides, overrideSchemas)
	for _, tt := range []struct{ relation, to, want string }{
		{"require", "kv[x]", `override o configuration.kv["a"].require`},
		{"require", "kv[z]", `service s configuration.kv["a"].require`},
		{"notify", "kv[y]", `override d options.defaults.kv.notify`},
	} {
		object, name, attribute := set.Source(tasks[0], tt.relation, resource.ID(tt.to))
		if got := object + " " + name + " " + attribute; got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// BenchmarkApply lays four layers over a thousand resources of a node: one changes each of them, the others a tenth.
func BenchmarkApply(b *testing.B) {
	var tasks []task.Task
	entries := func(every int, value string) conf {
		byTitle := make(titles)
		for i := 0; i < 1000; i += every {
			byTitle[fmt.Sprint("t", i)] = params{"value": value}
		}
		return conf{"kv": byTitle}
	}
	schema := overrideSchemas["kv"]
	for title, p := range entries(1, "service")["kv"] {
		r := schema.Normalize(resource.Resource{Type: "kv", Title: title, Parameters: p})
		tasks = append(tasks, task.Task{Group: task.Node, Service: "s", Resource: r, Digest: resource.Digest(r)})
	}
	set, errs := New([]site.Override{
		{Name: "site", Configuration: entries(1, "site")},
		{Name: "group", Groups: []string{"g"}, Configuration: entries(10, "group")},
		{Name: "role", Roles: []string{"r"}, Configuration: entries(10, "role")},
		{Name: "node", Nodes: []string{"n"}, Configuration: entries(10, "node")},
	}, overrideSchemas)
	layers := set.Layers(site.Node{Name: "n", Roles: []string{"r"}}, []string{"g"})
	if len(errs) > 0 || len(layers) != 4 {
		b.Fatal(errs, layers)
	}
	b.ReportAllocs()
	for b.Loop() {
		if laid, errs := set.Apply(layers, tasks); len(errs) > 0 || len(laid) != len(tasks) {
			b.Fatal(errs)
		}
	}
}
