package refine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

var schemas = Schemas{Config: map[string]resource.Schema{
	"kv": {Type: "kv", Parameters: []resource.Parameter{
		{Name: "value", Scalars: true}, {Name: "list", Kind: resource.StringList},
		{Name: "secret", Sensitive: true, Values: []string{"x"}},
	}},
	"need": {Type: "need", Parameters: []resource.Parameter{{Name: "must", Required: true}}},
}}

// one is a site of one service.
func one(name string, c resource.Configuration) site.Site {
	return site.Site{Services: []site.Service{{Name: name, Configuration: c}}}
}

// on returns what a node gets.
func on(t *testing.T, s *Services, n site.Node) ([]task.Task, []Again) {
	t.Helper()
	load, errs := s.Tasks(s.On(n.Name), n)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return load.Tasks, load.Again
}

var nodes = []site.Node{{Name: "n2", Tags: []string{"b"}}, {Name: "n1", Tags: []string{"a"}}}

func TestTasks(t *testing.T) {
	services, errs := New(site.Site{Services: []site.Service{
		{Name: "two", Configuration: resource.Configuration{"kv": {"z": {"value": int64(1)},
			"a": {"list": "x", "require": "Kv[z]"}}}},
		{Name: "one", Selectors: site.Selectors{{NodeTags: []string{"a"}}},
			Configuration: resource.Configuration{"need": {"m": {"must": "y"}}}},
	}}, nodes, schemas, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := map[string][]string{}
	for _, n := range nodes {
		tasks, clashes := on(t, services, n)
		if len(clashes) > 0 {
			t.Fatal(clashes)
		}
		for _, made := range tasks {
			got[n.Name] = append(got[n.Name], made.Service+" "+string(made.Resource.ID()))
			if made.Digest != resource.Digest(made.Resource) {
				t.Errorf("%s has the digest of another resource", made.Resource.ID())
			}
		}
	}
	want := map[string][]string{"n1": {"one need[m]", "two kv[a]", "two kv[z]"}, "n2": {"two kv[a]", "two kv[z]"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	tasks, _ := on(t, services, nodes[0])
	want2 := resource.Parameters{"list": []any{"x"}, "require": []any{"kv[z]"}}
	if d := cmp.Diff(want2, tasks[0].Resource.Parameters); d != "" {
		t.Errorf("parameters are not normal: %s", d)
	}
}

func TestAgain(t *testing.T) {
	services, _ := New(site.Site{Services: []site.Service{
		{Name: "b", Configuration: resource.Configuration{"kv": {"x": {}}}},
		{Name: "a", Selectors: site.Selectors{{NodeTags: []string{"a"}}},
			Configuration: resource.Configuration{"kv": {"x": {}}}},
	}}, nodes, schemas, nil)
	if _, again := on(t, services, nodes[0]); len(again) != 0 {
		t.Errorf("n2 has %v, want none", again)
	}
	tasks, again := on(t, services, nodes[1])
	if len(tasks) != 2 || len(again) != 1 {
		t.Fatalf("got %d tasks, %d of them again", len(tasks), len(again))
	}
	if want := (Again{First: 0, At: 1, Path: `configuration.kv["x"]`}); again[0] != want || tasks[1].Service != "b" {
		t.Errorf("got %v of %s, want %v of b", again[0], tasks[1].Service, want)
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]struct {
		configuration resource.Configuration
		attribute     string
		code          invalid.Code
		text          string
	}{
		"unknown type": {resource.Configuration{"kw": {"a": {}}}, "configuration.kw", invalid.UnknownType,
			`did you mean "kv"`},
		"type in capitals": {resource.Configuration{"NEED": {"a": {}}}, "configuration.NEED", invalid.UnknownType,
			`write "need"`},
		"type like no other": {resource.Configuration{"else": {"a": {}}}, "configuration.else", invalid.UnknownType,
			"use one of kv, need"},
		"empty type":  {resource.Configuration{"": {"a": {}}}, "configuration.", invalid.EmptyType, "empty"},
		"empty title": {resource.Configuration{"kv": {"": {}}}, "configuration.kv", invalid.EmptyTitle, "empty"},
		"unknown parameter": {resource.Configuration{"kv": {"a": {"valu": "1"}}}, `configuration.kv["a"].valu`,
			invalid.UnknownParameter, `did you mean "value"`},
		"missing parameter": {resource.Configuration{"need": {"a": {}}}, `configuration.need["a"].must`,
			invalid.MissingParameter, "required"},
		"wrong kind": {resource.Configuration{"kv": {"a": {"list": map[string]any{}}}},
			`configuration.kv["a"].list`, invalid.BadParameter, "list of strings"},
		"null": {resource.Configuration{"kv": {"a": {"value": nil}}}, `configuration.kv["a"].value`,
			invalid.NullValue, "null"},
		"malformed relation": {resource.Configuration{"kv": {"a": {"require": []any{"kv"}}}},
			`configuration.kv["a"].require[0]`, invalid.BadParameter, "type[title]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			services, errs := New(one("s", tt.configuration), nodes, schemas, nil)
			if len(errs) != 1 {
				t.Fatalf("got %v, want one problem", errs)
			}
			p := errs[0]
			if p.Object != "service" || p.Name != "s" || p.Attribute != tt.attribute || p.Code != tt.code ||
				!strings.Contains(p.Message, tt.text) {
				t.Errorf("got %s (%s), want %s (%s) with %q", p, p.Code, tt.attribute, tt.code, tt.text)
			}
			for _, made := range services.services[0].tasks {
				if made.Digest != "" {
					t.Errorf("%s is digested although it does not fit", made.Resource.ID())
				}
			}
		})
	}
	t.Run("secrets stay secret", func(t *testing.T) {
		_, errs := New(one("s", resource.Configuration{"kv": {"a": {"secret": "hunter2"}}}), nodes, schemas, nil)
		if len(errs) != 1 || strings.Contains(errs.Error(), "hunter2") {
			t.Errorf("got %v", errs)
		}
	})
}
