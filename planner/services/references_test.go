package services_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// TestReferrersThatLeave: who refers to a service that is deleted may go in the same plan, or turn to another one,
// whatever the names are.
func TestReferrersThatLeave(t *testing.T) {
	for _, name := range []string{catalog.DefaultLifecycle, "simple", "simple_with_delete_validate", "service",
		"service_with_delete_validate"} {
		for _, link := range []string{"a-link", "z-link"} {
			own := through(t, name)
			start := func() *fixture {
				f := newFixture(t)
				l := f.link(link, "web")
				own(&l)
				f.want(l, f.web("web", nil, own), f.web("web2", nil, own))
				f.run()
				return f
			}
			f := start()
			f.want(f.web("web2", nil, own))
			f.run()
			f.is("web", "none")
			f.is(link, "none")

			f = start()
			moved := f.link(link, "web2")
			own(&moved)
			f.want(moved, f.web("web2", nil, own))
			f.run()
			f.is("web", "none")
			if got := f.state.Records[link]; got.State != "up" || got.Active["end"] != "web2" {
				t.Errorf("%s, %s: %s %v", name, link, got.State, got.Active)
			}
		}
	}
}

// TestReferenceToOneThatGoes: a deletion that an earlier run did not finish is one too.
func TestReferenceToOneThatGoes(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("web", nil))
	f.run()
	f.want()
	f.run(failed("web"))
	f.want(f.link("l", "web"))
	_, errs := services.Plan(f.state, f.site, time.Time{})
	if want := `service "l": attributes.end: refers to the service "web", which is to be deleted`; len(errs) != 1 ||
		!strings.HasPrefix(errs[0].Error(), want) {
		t.Errorf("got %v", errs)
	}
}

// TestWhatARollbackLeftRefersToNothing: in lifecycles that keep the failed candidate.
func TestWhatARollbackLeftRefersToNothing(t *testing.T) {
	f := newFixture(t)
	own := through(t, "simple")
	l := func(end string) site.Service { s := f.link("l", end); own(&s); rollback(&s); return s }
	f.want(l("web"), f.web("web", nil), f.web("web2", nil, own))
	f.run()
	f.want(l("web2"), f.web("web", nil), f.web("web2", nil, own))
	f.run(failed("l"))
	f.want(l("web"), f.web("web", nil))
	f.run()
	f.is("web2", "none")
}

// TestAllocatedBeforeARollback: what the failed candidate was given stays its own (lsm.md 12).
func TestAllocatedBeforeARollback(t *testing.T) {
	entity := hubs(t, "simple")
	hub := func(name string, hosts ...string) site.Service {
		var list []any
		for _, h := range hosts {
			list = append(list, map[string]any{"host": h})
		}
		return site.Service{Name: name, Entity: entity, Attributes: map[string]any{"ports": list},
			RollbackOnFailure: true}
	}
	f := newFixture(t)
	f.want(hub("z", "a"))
	f.run()
	f.want(hub("z", "a", "b"))
	f.run(failed("z"))
	f.want(hub("z", "a", "b"), hub("m", "c"))
	transition := f.run()
	if got := transition.Allocated("z")["ports[host=b].number"]; got != int64(2) {
		t.Errorf("z has %v, want 2", got)
	}
	if got := transition.Allocated("m")["ports[host=c].number"]; got != int64(3) {
		t.Errorf("m has %v, want 3", got)
	}
}
