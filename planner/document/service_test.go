package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const timeEntities = `entities:
  base:
    abstract: true
    attributes: {mode: {type: string, default: "0644"}}
  ntp:
    extends: base
    attributes: {pool: string, key: 'string?'}
    tasks:
    - name: configuration
      config: {type: file, title: /etc/ntp.conf, parameters: {content: "pool ${self.pool}\n", mode: "${self.mode}"}}
`

const timeServices = `site: lon1
nodes: [{name: web1, address: 192.0.2.1}]
services:
- name: time
  selectors: []
  entity: ntp
  attributes:
    pool: a
    key: ~
- {name: more-time, selectors: [], entity: ntp, attributes: {pool: b, key: c}}
- {name: motd, selectors: [], configuration: {}}
`

// indented is a document as it stands under a key of another one.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

func TestServicesOfEntities(t *testing.T) {
	inline := timeServices + "catalog:\n" + indented(timeEntities)
	for name, sources := range map[string][]Source{
		"inline":            {{"s.yaml", []byte(inline)}},
		"beside, in a file": {{"s.yaml", []byte(timeServices)}, {"c.yaml", []byte(timeEntities)}},
		"before, in a file": {{"c.yaml", []byte(timeEntities)}, {"s.yaml", []byte(timeServices)}},
		"in a stream":       {{"s.yaml", []byte(timeServices + "---\n" + timeEntities)}},
		"in parts":          {{"s.yaml", []byte(inline)}, {"c.yaml", []byte("entities: {dns: {extends: ntp}}")}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseSite(sources, Options{})
			if err != nil {
				t.Fatal(err)
			}
			ntp, ok := s.Catalog.Entity("ntp")
			if !ok {
				t.Fatal("no entity ntp")
			}
			want := []site.Service{
				{Name: "time", Selectors: site.Selectors{}, Entity: ntp,
					Attributes: map[string]any{"pool": "a", "key": nil}},
				{Name: "more-time", Selectors: site.Selectors{}, Entity: ntp,
					Attributes: map[string]any{"pool": "b", "key": "c"}},
				{Name: "motd", Selectors: site.Selectors{}},
			}
			if d := cmp.Diff(want, s.Site.Services, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			if s.Site.Services[0].Entity != s.Site.Services[1].Entity || s.Site.Services[2].Configuration == nil {
				t.Errorf("%+v", s.Site.Services)
			}
		})
	}
}

func TestServicesOfEntitiesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"services: [{name: a, selectors: [], entity: ntpp}]\n---\n" +
			timeEntities: `s.yaml:1:45: services[0].entity: there is no entity "ntpp"; did you mean "ntp"?`,
		"services: [{name: a, selectors: [], entity: database}]\n---\n" +
			timeEntities: `s.yaml:1:45: services[0].entity: there is no entity "database"; use one of ntp`,
		"services: [{name: a, selectors: [], entity: ntp}]":                            `s.yaml:1:45: services[0].entity: there is no entity "ntp"; no document holds a catalog: name its files, too, or define it under the key "catalog"`,
		"services: [{name: a, selectors: [], entity: {definition: x}}]":                "s.yaml:1:45: services[0].entity: is a mapping, not text",
		"services: [{name: a, selectors: []}]":                                         `s.yaml:1:12: services[0]: has neither the key "entity" nor "configuration"; give one of them`,
		"services: [{name: a, selectors: [], entity: ntp, configuration: {}}]":         "s.yaml:1:65: services[0].configuration: stands beside entity; a service is of an entity or has configuration: leave one out, or make two services",
		"services: [{name: a, selectors: [], attributes: {}, configuration: {}}]":      "s.yaml:1:49: services[0].attributes: stands without entity; attributes are those of an entity: name it, or leave them out",
		"services: [{name: a, selectors: [], entity: ntp, attributes: [a]}]":           "s.yaml:1:62: services[0].attributes: is a list, not a mapping",
		"services: [{name: a, selectors: [], configuratoin: {}}]":                      `s.yaml:1:37: services[0]: unknown key "configuratoin"; did you mean "configuration"?`,
		"services: [{name: a, selectors: [], configuration: {file: {/a: {mode: ~}}}}]": `s.yaml:1:71: services[0].configuration.file["/a"].mode: is nothing (null); give a value, or leave it out`,
		"catalog: []":            "s.yaml:1:10: catalog: is a list, not a mapping",
		"catalog: {entitys: {}}": `s.yaml:1:11: catalog: unknown key "entitys"; did you mean "entities"?`,
		"site: a\nentities: {}":  `s.yaml:2:1: unknown key "entities"; known are site, nodes, groups, services, overrides, plugins, failure_budget, freeze, limit, approval, approved_batches, secrets_version, catalog`,
		"catalog: {entities: {a: {extends: b}}}\n---\nentities: {a: {}}":                                                           `s.yaml:3:12: entity "a": there is another entity of this name`,
		"catalog:\n  entities:\n    a:\n      tasks:\n      - {name: x, config: {type: file, title: '${self.b}', parameters: {}}}": `s.yaml:5:55: entity "a": tasks[0].config.title:`,
	} {
		_, err := ParseSite([]Source{{"s.yaml", []byte(text)}}, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// Errors of a service stand in the site, those of its entity's tasks in the catalog.
func TestErrorsOfEntityServicesHavePlaces(t *testing.T) {
	s, err := ParseSite([]Source{{"s.yaml", []byte(timeServices)}, {"c.yaml", []byte(timeEntities)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for attribute, want := range map[string]string{
		"attributes.pool": `s.yaml:8:11: service "time": attributes.pool: m`,
		"attributes.none": `s.yaml:7:3: service "time": attributes.none: m`,
		"entity":          `s.yaml:6:11: service "time": entity: m`,
		"selectors":       `s.yaml:5:3: service "time": selectors: m`,
		"entity.tasks[0].config.parameters.content": `c.yaml:10:72: entity "ntp": tasks[0].config.parameters.content: m (service "time")`,
	} {
		if got := s.Locate(invalid.Error{Object: "service", Name: "time", Attribute: attribute,
			Message: "m"}).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestShowWithEntities(t *testing.T) {
	c, err := ParseCatalog([]Source{{"c.yaml", []byte(timeEntities)}})
	if err != nil {
		t.Fatal(err)
	}
	ntp, _ := c.Catalog.Entity("ntp")
	definition, err := ntp.Definition()
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	show := func(services string) string {
		return fmt.Sprintf(`{"format_version": "1.0", "values": {"root_module": {"resources": [{"address": "slipway_deployment.a", "mode": "managed", "type": "slipway_deployment", "values":
 {"site": "lon1", "nodes": [], "services": [%s]}}]}}}`, services)
	}
	service := func(definition string) string {
		return `{"name": "time", "selectors": [], "configuration": null, "entity": {"name": "ntp", "definition": ` +
			definition + `}, "attributes": {"pool": "a", "key": null}}`
	}
	s, err := parseShow(show(service(string(quoted))+","+service(string(quoted))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := site.Service{Name: "time", Selectors: site.Selectors{}, Entity: ntp,
		Attributes: map[string]any{"pool": "a", "key": nil}}
	if d := cmp.Diff([]site.Service{want, want}, s.Site.Services, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if s.Site.Services[0].Entity != s.Site.Services[1].Entity {
		t.Error("the entity was read twice")
	}
	for text, want := range map[string]string{
		service(`"{}"`):                          "entity.definition: name: a name is needed",
		`{"name": "a", "entity": {}}`:            `entity: the key "definition" is missing`,
		`{"name": "a", "entity": "ntp"}`:         "entity: is text, not a mapping",
		`{"name": "a", "selectors": [], "x": 1}`: `unknown key "x"`,
	} {
		if _, err := parseShow(show(text), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func FuzzEntityServices(f *testing.F) {
	f.Add([]byte(timeServices + "---\n" + timeEntities))
	f.Add(
		[]byte(
			"catalog: &c {entities: {a: {attributes: {x: dict}}}}\nservices: [{name: s, selectors: [], entity: a, attributes: {x: *c}}]"))
	f.Add([]byte("services: [{name: s, selectors: [], entity: a, attributes: &a {x: [*a, ~]}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSite([]Source{{"s.yaml", data}}, Options{})
		if err != nil {
			return
		}
		for _, service := range s.Site.Services {
			if (service.Entity == nil) == (service.Configuration == nil) {
				t.Fatalf("%+v", service)
			}
			if service.Entity == nil {
				continue
			}
			if found, ok := s.Catalog.Entity(service.Entity.Name); !ok || found != service.Entity {
				t.Fatalf("%q is not of the catalog", service.Entity.Name)
			}
			_, errs := service.Entity.Check(service.Attributes)
			for _, m := range append(errs, service.Entity.ReadOnly(service.Attributes)...) {
				p := s.Locate(invalid.Error{Object: "service", Name: service.Name, Attribute: "attributes." + m.Attribute,
					Code: m.Code, Message: m.Message})
				if p.File != "s.yaml" || p.Line == 0 {
					t.Fatalf("no place: %+v", p)
				}
			}
		}
	})
}
