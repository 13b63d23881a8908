package planner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// servicesNamed returns a site with a service of the entity for each name, each with a file of its own.
func servicesNamed(t testing.TB, servers map[string]string) site.Site {
	t.Helper()
	entities := entitiesOf(t, `
entities:
  peer:
    attributes:
      server: {type: string, modifier: rw+}
    tasks:
    - name: file
      config: {type: file, title: "/etc/peers/${service.name}", parameters: {content: "${self.server} ${node.name}\n"}}
`)
	s := lon1()
	for name, server := range servers {
		s.Services = append(s.Services, site.Service{Name: name, Entity: entities["peer"],
			Attributes: map[string]any{"server": server}})
	}
	return s
}

func TestCache(t *testing.T) {
	servers := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}
	var memory planner.Cache
	steps := []struct {
		name   string
		change func()
		want   int // services refined so far
	}{
		{"all are new", func() {}, 3},
		{"nothing changed, though everything was read again", func() {}, 3},
		{"one changed", func() { servers["b"] = "10.0.0.9" }, 4},
		{"one came", func() { servers["d"] = "10.0.0.4" }, 5},
		{"one went", func() { delete(servers, "a") }, 5},
		{"and came back", func() { servers["a"] = "10.0.0.1" }, 6},
		{"one is wrong", func() { servers["c"] = "${" }, 7},
		{"and right again", func() { servers["c"] = "10.0.0.3" }, 8},
	}
	for _, step := range steps {
		step.change()
		s := servicesNamed(t, servers)
		got, errs := memory.Make(s, nil, nil)
		want, wantErrors := planner.Make(s, nil, nil)
		if d := cmp.Diff(wantErrors, errs); d != "" {
			t.Errorf("%s: -without memory +with\n%s", step.name, d)
		}
		if got != nil && (got.Digest != want.Digest || !cmp.Equal(want.Phases, got.Phases)) {
			t.Errorf("%s: another plan than without memory", step.name)
		}
		if memory.Refined() != step.want {
			t.Errorf("%s: %d services refined so far, want %d", step.name, memory.Refined(), step.want)
		}
	}
}

// TestCacheOfSites plans two sites with one memory in turn: it gives neither what is the other's.
func TestCacheOfSites(t *testing.T) {
	var memory planner.Cache
	for _, name := range []string{"lon1", "par1", "lon1"} {
		s := withEntities(t)
		s.Name = name
		got, _ := memory.Make(s, nil, nil)
		want, _ := planner.Make(s, nil, nil)
		if got.Digest != want.Digest {
			t.Errorf("%s: another plan than without memory", name)
		}
	}
}
