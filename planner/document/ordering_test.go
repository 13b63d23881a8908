package document

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

const siteAndRules = `site: lon1
nodes: [{name: a}]
services:
- {name: motd, selectors: [], configuration: {file: {/etc/motd: {content: x}}}}
catalog:
  ordering:
    waits:
    - {tasks: {types: [file]}, for: {types: [packag]}}
`

func TestOrderingOfASite(t *testing.T) {
	s, err := ParseSite([]Source{{"site.yaml", []byte(siteAndRules)},
		{"rules.yaml", []byte("ordering: {unordered: [fle]}\n")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o := s.Site.Ordering; o == nil || len(o.Waits) != 1 || len(o.Unordered) != 1 {
		t.Fatalf("the site has the ordering %v", o)
	}
	for attribute, want := range map[string]string{
		"ordering.waits[0].for.types[0]": "site.yaml:8:46: ordering.waits[0].for.types[0]: m",
		"ordering.waits[0]":              "site.yaml:8:7: ordering.waits[0]: m",
		"ordering.unordered[0]":          "rules.yaml:1:24: ordering.unordered[0]: m",
		"ordering":                       "site.yaml:7:5: ordering: m",
		"groups":                         "site.yaml:1:1: deployment: groups: m",
	} {
		if got := s.Locate(invalid.Error{Object: "deployment", Name: "lon1", Attribute: attribute,
			Message: "m"}).Error(); got != want {
			t.Errorf("%s is at %s, want %s", attribute, got, want)
		}
	}
	for name, text := range map[string]string{"no catalog": "site: lon1\nnodes: []\n",
		"a catalog without rules": "site: lon1\ncatalog: {entities: {a: {}}, ordering: {}}\n"} {
		if s, err := ParseSite([]Source{{"site.yaml", []byte(text)}}, Options{}); err != nil || s.Site.Ordering != nil {
			t.Errorf("%s: got %v, %v", name, s, err)
		}
	}
}

// A deployment that Terraform shows has the rules as JSON.
func TestOrderingOfADeployment(t *testing.T) {
	show := func(ordering string) []Source {
		return []Source{{"show.json",
			[]byte(
				`{"format_version":"1.0","values":{"root_module":{"resources":[{"address":"d","mode":"managed","type":"slipway_deployment","values":{"site":"lon1",` +
					`"nodes":[{"name":"a"}],"ordering":` + ordering + `}}]}}}`)}}
	}
	s, err := ParseSite(show(`"{\"waits\":[{\"tasks\":{\"types\":[\"file\"]},\"for\":{\"types\":[\"package\"]}}]}"`),
		Options{})
	if err != nil || s.Site.Ordering == nil || len(s.Site.Ordering.Waits) != 1 {
		t.Errorf("got %v, %v", s, err)
	}
	if s, err := ParseSite(show("null"), Options{}); err != nil || s.Site.Ordering != nil {
		t.Errorf("got %v, %v", s, err)
	}
	for text, want := range map[string]string{
		`"{}}"`:                "d.ordering: is not the ordering of a catalog (there is more after its end); give the value ordering of a catalog, as it is",
		`"null"`:               "d.ordering: is not the ordering of a catalog (it is null)",
		`"{\"wait\":[]}"`:      `d.ordering: is not the ordering of a catalog (json: unknown field "wait")`,
		`"{\"classes\":[{}]}"`: "d.ordering: classes[0].name: a name is needed",
		`["x"]`:                "d.ordering: is a list",
	} {
		if _, err := ParseSite(show(text), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	planned := `{"format_version":"1.2","planned_values":{"root_module":{"resources":[{"address":"d","mode":"managed","type":"slipway_deployment","values":{"site":"lon1","nodes":[]}}]}},` +
		`"resource_changes":[{"address":"d","change":{"actions":["create"],"after_unknown":{"ordering":true}}}]}`
	if _, err := ParseSite([]Source{{"show.json", []byte(planned)}}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "d.ordering: is not known before apply") {
		t.Errorf("got %v", err)
	}
}

// Documents with very many rules are refused in good time.
func TestManyRules(t *testing.T) {
	start := time.Now()
	many := "ordering:\n  waits: [" + strings.Repeat("{tasks: {types: [a]}, for: {types: [a]}}, ", 100_000) + "]\n"
	if _, err := parseCatalog(many, many); err == nil || !strings.Contains(err.Error(), "ordering") {
		t.Errorf("got %.300v", err)
	}
	if spent := time.Since(start); spent > time.Minute {
		t.Errorf("it took %s", spent)
	}
}
