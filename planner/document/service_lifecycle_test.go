package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const brief = `lifecycles:
  brief:
    initial: up
    states: {up: {export: true, self: active, others: active}, gone: {deleted: true}}
    transfers: [{from: up, to: gone, trigger: on_delete}]
`

const briefEntities = `entities:
  plain: {}
  base: {abstract: true, lifecycle: brief}
  short: {extends: base}
`

func TestLifecyclesOfServices(t *testing.T) {
	const services = `site: s
nodes: []
services:
- {name: a, selectors: [], entity: plain, lifecycle: simple, gates: {x: true, y: false}, rollback_on_failure: true, target_state: up}
- {name: b, selectors: [], entity: plain}
- {name: c, selectors: [], entity: short}
- {name: d, selectors: [], entity: plain, lifecycle: brief}
- {name: e, selectors: [], entity: short, lifecycle: slipway_default}
`
	for name, sources := range map[string][]Source{
		"in files":        {{"s.yaml", []byte(services)}, {"c.yaml", []byte(briefEntities)}, {"l.yaml", []byte(brief)}},
		"in another way":  {{"l.yaml", []byte(brief)}, {"c.yaml", []byte(briefEntities)}, {"s.yaml", []byte(services)}},
		"in one document": {{"s.yaml", []byte(services + "catalog:\n" + indented(briefEntities) + indented(brief))}},
		"in a stream":     {{"s.yaml", []byte(services + "---\n" + briefEntities + "---\n" + brief)}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseSite(sources, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, service := range s.Site.Services {
				l := "none"
				if service.Lifecycle != nil {
					l = fmt.Sprintf("%s with %d states", service.Lifecycle.Name, len(service.Lifecycle.States))
				}
				got = append(got, service.Name+": "+l)
			}
			want := []string{"a: simple with 17 states", "b: none", "c: brief with 2 states", "d: brief with 2 states",
				"e: slipway_default with 13 states"}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			a := s.Site.Services[0]
			if d := cmp.Diff(map[string]bool{"x": true, "y": false}, a.Gates); d != "" || !a.RollbackOnFailure ||
				a.TargetState != "up" {
				t.Errorf("%+v %s", a, d)
			}
			if len(s.Lifecycles) != 1 || s.Lifecycles[0].Name != "brief" {
				t.Errorf("lifecycles %v", s.Lifecycles)
			}
		})
	}
}

func TestLifecyclesOfServicesThatAreWrong(t *testing.T) {
	service := func(with string) string {
		return "services: [{name: a, selectors: [], " + with + "}]\n---\n" + briefEntities + "---\n" + brief
	}
	const without = "stands without entity; only services of entities have a lifecycle: leave it out"
	for text, want := range map[string]string{
		service(
			"entity: plain, lifecycle: simpel"): `s.yaml:1:63: services[0].lifecycle: there is no lifecycle "simpel"; did you mean "simple"?; slipway brings basic_optimized,`,
		service(
			"entity: plain, lifecycle: breif"): `s.yaml:1:63: services[0].lifecycle: there is no lifecycle "breif"; did you mean "brief"?`,
		service(
			"entity: plain, lifecycle: [brief]"): "s.yaml:1:63: services[0].lifecycle: is a list, not text",
		service(
			"entity: plain, lifecycle: ''"): "s.yaml:1:63: services[0].lifecycle: is empty; name a lifecycle, or leave it out",
		service(
			"entity: plain, service_lifecycle: brief"): `s.yaml:1:52: services[0]: unknown key "service_lifecycle"; known are name,`,
		service(
			"entity: plain, gates: [a]"): "s.yaml:1:59: services[0].gates: is a list, not a mapping",
		service(
			"entity: plain, gates: {a: 1}"): `s.yaml:1:63: services[0].gates["a"]: is a number, not true or false`,
		service(
			"entity: plain, rollback_on_failure: 1"): "s.yaml:1:73: services[0].rollback_on_failure: is a number, not true or false",
		service(
			"entity: plain, target_state: 1"): `s.yaml:1:66: services[0].target_state: is a number, not text; write it in quotes, "1", if that is meant`,
		service(
			"entity: plain, target_state: ''"): "s.yaml:1:66: services[0].target_state: is empty; give a name, or leave it out",
		service("configuration: {}, lifecycle: simple"): "s.yaml:1:67: services[0].lifecycle: " + without,
		service("configuration: {}, gates: {}"):         "s.yaml:1:63: services[0].gates: " + without,
		service(
			"configuration: {}, rollback_on_failure: false"): "s.yaml:1:77: services[0].rollback_on_failure: " +
			without,
		service("configuration: {}, target_state: up"): "s.yaml:1:70: services[0].target_state: " +
			without,
		service("configuration: {}") +
			"---\nlifecycles: {brief: {}}": "s.yaml:14:21: lifecycles.brief: the key \"initial\" is missing",
		service("configuration: {}") + "---\n" +
			brief: `s.yaml:15:3: lifecycle "brief": there is another lifecycle of this name`,
		"entities: {a: {lifecycle: breif}, b: {lifecycle: brief}}\n---\n" +
			brief: `s.yaml:1:27: entity "a": lifecycle: there is no lifecycle "breif"; did you mean "brief"?; slipway brings ` +
			"basic_optimized, cloudconnect, service, service_2020, service_with_delete_validate, simple, simple_with_deallocation, simple_with_delete_validate, simple_with_set_state, slipway_default; " +
			`define another one under the key "lifecycles", in a document beside this one; in Terraform an entity carries no more than the name, so services of it give such a lifecycle as service_lifecycle, too`,
		"entities: {a: {lifecycle: ''}}":                                                  "s.yaml:1:27: entities.a.lifecycle: is empty; give a name, or leave it out",
		"entities: {a: {lifecycle: x}, b: {extends: c}}":                                  `s.yaml:1:27: entity "a": lifecycle: there is no lifecycle "x"`,
		"lifecycles: {simple: {initial: a, states: {a: {deleted: true}}, transfers: []}}": `s.yaml:1:14: lifecycle "simple": slipway brings a lifecycle of this name; give yours another one`,
	} {
		_, err := ParseSite([]Source{{"s.yaml", []byte(text)}}, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
	// What is wrong with lifecycles does not hide what is wrong with entities.
	_, err := ParseSite([]Source{{"s.yaml", []byte("entities: {a: {lifecycle: x}, b: {extends: c}}")}}, Options{})
	if lines := strings.Split(fmt.Sprint(err), "\n"); len(lines) != 2 {
		t.Errorf("got %v, want 2 problems", err)
	}
}

func TestShowWithLifecycles(t *testing.T) {
	c, err := ParseCatalog([]Source{{"c.yaml", []byte(briefEntities + "---\n" + brief)}})
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := c.Catalog.Entity("plain")
	definition, err := plain.Definition()
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(s string) string {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	show := func(with ...string) string {
		services := make([]string, len(with))
		for i, w := range with {
			services[i] = fmt.Sprintf(
				`{"name": "s%d", "selectors": [], "entity": {"name": "plain", "definition": %s}, %s}`, i, quoted(
					definition), w)
		}
		return fmt.Sprintf(`{"format_version": "1.0", "values": {"root_module": {"resources": [{"address": "slipway_deployment.a", "mode": "managed", "type": "slipway_deployment", "values":
{"site": "lon1", "nodes": [], "services": [%s,
{"name": "c", "selectors": [], "configuration": {}, "rollback_on_failure": false, "service_lifecycle": "simple"}]}}]}}}`, strings.Join(services, ",\n"))
	}
	own := `"service_lifecycle": ` + quoted(brief)
	s, err := parseShow(show(
		`"service_lifecycle": null, "gates": null, "rollback_on_failure": null, "target_state": null`,
		`"service_lifecycle": "simple", "gates": {"a": "true", "b": false}, "rollback_on_failure": true, "target_state": "up"`, own, own), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Site.Services
	simple, _ := ShippedLifecycle("simple")
	for i, want := range []site.Service{
		{}, {Lifecycle: &simple, Gates: map[string]bool{"a": true, "b": false}, RollbackOnFailure: true,
			TargetState: "up"},
		{Lifecycle: &c.Lifecycles[0]}, {Lifecycle: &c.Lifecycles[0]}, {},
	} {
		is := site.Service{Lifecycle: got[i].Lifecycle, Gates: got[i].Gates,
			RollbackOnFailure: got[i].RollbackOnFailure, TargetState: got[i].TargetState}
		if d := cmp.Diff(want, is); d != "" {
			t.Errorf("service %d: %s", i, d)
		}
	}
	if got[2].Lifecycle != got[3].Lifecycle {
		t.Error("the lifecycle was read twice")
	}
	for with, want := range map[string]string{
		`"service_lifecycle": "simpel"`:           `plan.json:2:237: slipway_deployment.a.services[0].service_lifecycle: there is no lifecycle "simpel"; did you mean "simple"?`,
		`"service_lifecycle": "lifecycles: {}"`:   "the document has 0 lifecycles; give one that has the lifecycle of this service alone",
		`"service_lifecycle": "lifecycles: {a: "`: "service_lifecycle:",
		`"gates": {"a": "maybe"}`:                 `gates["a"]: is text, not true or false`,
		`"lifecycle": "simple"`:                   `unknown key "lifecycle"`,
	} {
		if _, err := parseShow(show(with), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, err, want)
		}
	}
	// Errors of a service are reported where they stand.
	p := s.Locate(invalid.Error{Object: "service", Name: "s2", Attribute: "lifecycle", Message: "m"})
	if p.Path() != `service "s2": service_lifecycle` || p.Line != 4 {
		t.Errorf("located at %+v", p)
	}
}
