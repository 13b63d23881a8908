package services_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestRelations(t *testing.T) {
	f := newFixture(t)
	f.want(f.link("a-link", "web"), f.web("web", nil)) // created in the order of their references
	f.run()
	f.is("a-link", "up v3 #1")
	f.want(f.link("a-link", "web"))
	_, errs := services.Plan(f.state, f.site, time.Time{})
	if want := `service "a-link": attributes.end: refers to the service "web", which is to be deleted`; len(
		errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
		t.Errorf("got %v, want %s", errs, want)
	}
	f.want() // both at once
	f.run()
	f.is("web", "none")
	f.is("a-link", "none")
}

func TestErrors(t *testing.T) {
	f := newFixture(t)
	b := func(change func(*site.Service)) site.Service { return f.web("b", nil, change) }
	for _, tt := range []struct {
		name string
		want []site.Service
		text string
	}{
		{"missing relation", []site.Service{f.link("l", "nowhere")}, `service "l": attributes.end: `},
		{"relation to another entity", []site.Service{f.link("k", "l"), f.link("l", "k")},
			`service "k": attributes.end: `},
		{"identity twice", []site.Service{f.web("a", nil), b(func(s *site.Service) { s.Attributes["name"] = "a" })},
			`service "b": attributes.name: `},
		{"read-only", []site.Service{f.web("a", map[string]any{"port": int64(1)})},
			`service "a": attributes.port: is set by slipway`},
		{"wrong type", []site.Service{f.web("a", map[string]any{"size": "x"})}, `service "a": attributes.size: `},
		{"unknown attribute", []site.Service{f.web("a", map[string]any{"sise": int64(1)})},
			`service "a": attributes.sise: `},
		{"pool exhausted", []site.Service{f.web("a", nil), f.web("b", nil), f.web("c", nil), f.web("d", nil)},
			`service "d": attributes.port: `},
		{"unknown gate", []site.Service{b(func(s *site.Service) { s.Gates = map[string]bool{"auto_rolback": true} })},
			`service "b": gates["auto_rolback"]: `},
		{"unknown state", []site.Service{b(func(s *site.Service) { s.TargetState = "maintenance" })},
			`service "b": target_state: the lifecycle "slipway_default" has no state "maintenance"`},
		{"lifecycle that nobody brings", []site.Service{b(func(s *site.Service) {
			e := *s.Entity
			e.Lifecycle = "own"
			s.Entity = &e
		})}, `service "b": entity: names the lifecycle "own", which slipway does not bring; give it as service_lifecycle`},
		{"unsound lifecycle", []site.Service{b(func(s *site.Service) {
			s.Lifecycle = &lifecycle.Lifecycle{Name: "bad",
				Initial: "x"}
		})}, `service "b": lifecycle: the lifecycle "bad" is not sound`},
	} {
		f.state = services.Inventory{}
		f.want(tt.want...)
		_, errs := services.Plan(f.state, f.site, time.Time{})
		if len(errs) == 0 || !strings.HasPrefix(errs[0].Error(), tt.text) {
			t.Errorf("%s: got %v, want %s", tt.name, errs, tt.text)
		}
	}
}

func TestAllocationIsStable(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("b", nil), f.web("c", nil))
	f.run()
	f.want(f.web("a", nil), f.web("b", size(2)), f.web("c", nil))
	transition := f.run()
	for name, want := range map[string]int64{"a": 8002, "b": 8000, "c": 8001} {
		if got := transition.Allocated(name)["port"]; got != want {
			t.Errorf("%s has port %v, want %d", name, got, want)
		}
	}
	f.want(f.web("a", nil), f.web("c", nil))
	f.run()
	f.want(f.web("a", nil), f.web("c", nil), f.web("d", nil))
	if got := f.run().Allocated("d")["port"]; got != int64(8000) {
		t.Errorf("d has port %v, want the one that is free again", got)
	}
}

func TestRename(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil))
	f.run()
	renamed := f.web("b", nil)
	renamed.Attributes["name"] = "a"
	f.want(renamed)
	_, errs := services.Plan(f.state, f.site, time.Time{})
	if want := `the service "a" is removed by the same plan: apply its removal first, or keep its name`; len(
		errs) != 1 || !strings.Contains(errs[0].Message, want) {
		t.Errorf("got %v", errs)
	}
}

// hubs is an entity with ports, each of which gets a number from a pool.
func hubs(t *testing.T, lifecycleName string) *catalog.Entity {
	t.Helper()
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: []byte(`
entities:
  hub:
    lifecycle: ` + lifecycleName + `
    embedded:
      ports:
        modifier: rw+
        key: [host]
        attributes:
          host: string
          number: {type: int, modifier: r, allocate: {integer: {from: 1, to: 9}}}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	return &c.Catalog.Entities[0]
}

func TestAllocatedInside(t *testing.T) {
	s := site.Site{Name: "lon1", Services: []site.Service{{Name: "h", Entity: hubs(t, catalog.DefaultLifecycle),
		Attributes: map[string]any{
			"ports": []any{map[string]any{"host": "b"}, map[string]any{"host": "a.x"}},
		}}}}
	transition, errs := services.Plan(services.Inventory{}, s, time.Time{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if d := cmp.Diff(map[string]any{"ports[host=b].number": int64(1), `ports[host=a\.x].number`: int64(2)},
		transition.Allocated("h")); d != "" {
		t.Error(d)
	}
}
