package planner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// templated is a site of three nodes that have a file from a template, which overrides may change.
func templated(text any, overrides ...site.Override) site.Site {
	return site.Site{Name: "lon1",
		Nodes: []site.Node{
			{Name: "a", Rack: "r1", Roles: []string{"db"}, Labels: map[string]string{"tier": "gold"}},
			{Name: "b", Rack: "r1", Labels: map[string]string{"tier": "tin"}}, {Name: "c", Rack: "r2"},
		},
		Services: []site.Service{{Name: "s", Configuration: conf{"file": titles{
			"/etc/f": {"template": text, "mode": "0600"}, "/etc/g": {"content": "g", "require": "file[/etc/f]"}}}}},
		Overrides: overrides,
	}
}

// contents returns the content of a file on each node.
func contents(t *testing.T, s site.Site, id resource.ID) map[string]any {
	t.Helper()
	desired, errs := planner.Desired(s)
	if len(errs.Errors()) > 0 {
		t.Fatal(errs)
	}
	out := make(map[string]any)
	for node, tasks := range desired {
		for _, task := range tasks {
			if task.Resource.ID() == id {
				out[node] = task.Resource.Parameters["content"]
				if task.Resource.Parameters.Has("template") || task.Digest != resource.Digest(task.Resource) {
					t.Errorf("%s on %s has parameters %v and the digest %s", id, node, task.Resource.Parameters, task.Digest)
				}
			}
		}
	}
	return out
}

func TestTemplatesOfFiles(t *testing.T) {
	db := site.Override{Name: "db", Roles: []string{"db"},
		Configuration: conf{"file": titles{"/etc/f": {"template": "db of ${site.name} on ${node.name}"}}}}
	defaults := site.Override{Name: "defaults", Nodes: []string{"c"}, Configuration: conf{"file": titles{"/etc/h": {}}},
		Options: site.OverrideOptions{Defaults: map[string]map[string]any{"file": {"template": "${node.rack}"}}}}
	for name, tt := range map[string]struct {
		s    site.Site
		id   resource.ID
		want map[string]any
	}{
		"of a service": {templated("${node.rack}\n"), "file[/etc/f]", map[string]any{"a": "r1\n", "b": "r1\n", "c": "r2\n"}},
		"of an override": {templated("${node.rack}", db), "file[/etc/f]",
			map[string]any{"a": "db of lon1 on a", "b": "r1", "c": "r2"}},
		"of defaults": {templated("x", defaults), "file[/etc/h]", map[string]any{"c": "r2"}},
		"of a label": {templated(`${lookup(node.labels, "tier", "none")}`), "file[/etc/f]",
			map[string]any{"a": "gold", "b": "tin", "c": "none"}},
		"of nothing": {templated("as it is"), "file[/etc/f]", map[string]any{"a": "as it is", "b": "as it is", "c": "as it is"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, contents(t, tt.s, tt.id)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A file is the same one, whether its content is written or comes from a template: a plan changes nothing.
func TestATemplateIsItsContent(t *testing.T) {
	s := templated("${upper(\"x\")}\n")
	written := templated("")
	written.Services[0].Configuration["file"]["/etc/f"] = params{"content": "X\n", "mode": "0600"}
	p := mustMake(t, s, allApplied(t, written), nil)
	if !p.Empty() {
		t.Errorf("the plan has work: %v", work(p))
	}
}

// What is not known of one node leaves its content open, and that of no other.
func TestTemplateOfAnUnknownNode(t *testing.T) {
	s := templated("${node.rack}")
	s.Unknown = map[string][]string{"a": {"rack"}, "b": {"tags"}}
	want := map[string]any{"a": resource.Unknown{}, "b": "r1", "c": "r2"}
	if d := cmp.Diff(want, contents(t, s, "file[/etc/f]")); d != "" {
		t.Error(d)
	}
	if got := contents(t, templated(resource.Unknown{}), "file[/etc/f]"); got["a"] != (resource.Unknown{}) {
		t.Errorf("an unknown template gives %v", got)
	}
}

func TestErrorsOfTemplates(t *testing.T) {
	label := "a\n${node.labels.tire}"
	override := site.Override{Name: "o", Nodes: []string{"b"}, Configuration: conf{"file": titles{"/etc/f": {"template": label}}}}
	sensitive := templated("${node.labels.hunter2}")
	sensitive.Services[0].Configuration["file"]["/etc/f"]["sensitive"] = true
	stands := templated("${node.rack}")
	stands.Nodes[1].Rack = "⟦secret:root@1⟧"
	both := templated("x")
	both.Services[0].Configuration["file"]["/etc/f"]["content"] = "y"
	for name, tt := range map[string]struct {
		s      site.Site
		want   []string
		errors int // 0 is one
	}{
		"syntax": {templated("a\n${node.name +}"), []string{`service "s": configuration.file["/etc/f"].template: `, "line 2, column"}, 0},
		"a variable": {templated("${nod.name}"), []string{`service "s": configuration.file["/etc/f"].template: there is no ` +
			`variable "nod"; did you mean "node"? (line 1, column 3 of the template)`}, 0},
		"of an override": {templated("x", override), []string{`override "o": configuration.file["/etc/f"].template: the map has ` +
			`no key "tire" (lookup(map, "tire", "default") reads one that may be missing) (on node b); did you mean "tier"? ` +
			`(line 2, column 14 of the template)`}, 0},
		"on some nodes": {templated(label), []string{`(on nodes a, b); did you mean "tier"? (line 2, column 14 of the template)`,
			`nothing of this kind is defined: define "tire", or remove what refers to it (line 2, column 14 of the template) (on node c)`}, 2},
		"of a sensitive file": {sensitive, []string{`configuration.file["/etc/f"].template: cannot be evaluated; the error is ` +
			`not shown because the resource is sensitive (line 1, column 14 of the template) (on all 3 nodes)`}, 0},
		"a text that stands for a secret": {stands, []string{`reads a node that has a text which stands for a secret`, "(on node b)"}, 0},
		"beside content":                  {both, []string{`configuration.file["/etc/f"].template: excludes content; give one of them`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := planner.Make(tt.s, nil, nil)
			text := errs.Error()
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
			if strings.Contains(text, "hunter2") || len(errs) != max(1, tt.errors) {
				t.Errorf("%d errors:\n%s", len(errs), text)
			}
		})
	}
}
