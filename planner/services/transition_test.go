package services_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// through drives a service through a shipped lifecycle.
func through(t *testing.T, name string) func(*site.Service) {
	t.Helper()
	l, ok := document.ShippedLifecycle(name)
	if !ok {
		t.Fatalf("no lifecycle %q", name)
	}
	return func(s *site.Service) { s.Lifecycle = &l }
}

// TestShippedLifecycles takes a service through creation, update, a deletion that fails, another service of its name,
// and deletion.
func TestShippedLifecycles(t *testing.T) {
	for _, l := range document.ShippedLifecycles() {
		t.Run(l.Name, func(t *testing.T) {
			f := newFixture(t)
			own := through(t, l.Name)
			f.want(f.web("a", nil, own))
			f.run()
			f.want(f.web("a", size(2), own))
			if l.Name == "basic_optimized" { // it has no updates
				_, errs := services.Plan(f.state, f.site, time.Time{})
				if want := `service "a": cannot be updated in the state up of the lifecycle "basic_optimized"`; len(
					errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
					t.Errorf("got %v", errs)
				}
				return
			}
			want := map[string]any{"name": "a", "size": int64(2), "port": int64(8000)}
			// it never promotes, as it was recorded (lsm.md 19, 6)
			if transition := f.run(); l.Name != "simple_with_set_state" {
				if d := cmp.Diff(want, deployed(transition, "a")); d != "" {
					t.Error(d)
				}
				if transition := f.begin(); len(transition.Changes()) > 0 {
					t.Errorf("nothing changed, but %q", transition.Steps())
				}
			}
			f.want()
			f.run(failed("a"))
			if len(f.state.Records) != 1 {
				t.Error("it is forgotten before it is deleted")
			}
			f.want(f.web("a", size(2), own))
			transition := f.begin()
			if changes := transition.Changes(); len(changes) != 1 || changes[0].Kind != services.Replace {
				t.Errorf("wanted again: %q", transition.Steps())
			}
			if d := cmp.Diff(want, deployed(f.run(), "a")); d != "" {
				t.Error(d)
			}
			f.want()
			f.run()
			f.is("a", "none")
		})
	}
}

// TestRemovalOfWhatDoesNotPurge: a lifecycle that deletes without a state for it needs another deployment, which takes
// the service off its nodes.
func TestRemovalOfWhatDoesNotPurge(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil, through(t, "cloudconnect")))
	f.run()
	f.want()
	transition := f.begin()
	for deployed(transition, "a") != nil {
		if again := transition.Conclude(nil, time.Unix(2, 0)); !again["a"] {
			t.Fatalf("no other deployment in the state %q", transition.State().Records["a"].State)
		}
	}
	if again := transition.Conclude(nil, time.Unix(2, 0)); len(again) > 0 || len(transition.State().Records) > 0 {
		t.Errorf("again %v, left %v", again, transition.State().Records)
	}
}

// TestReferrersProtect, whether the lifecycle validates a deletion or not.
func TestReferrersProtect(t *testing.T) {
	for _, name := range []string{catalog.DefaultLifecycle, "simple", "service"} {
		f := newFixture(t)
		own := through(t, name)
		f.want(f.link("link", "web"), f.web("web", nil, own))
		f.run()
		f.want(f.link("link", "web"))
		_, errs := services.Plan(f.state, f.site, time.Time{})
		if want := `service "link": attributes.end: refers to the service "web", which is to be deleted`; len(
			errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%s: got %v", name, errs)
		}
		f.want()
		f.run()
		f.is("web", "none")
	}
}

// entityNamed reads an entity, the attributes of which are given.
func entityNamed(t *testing.T, name, attributes string) *catalog.Entity {
	t.Helper()
	text := fmt.Sprintf(
		"entities:\n  %s:\n    attributes:\n      name: string\n%s    tasks:\n    - name: file\n      config: {type: file, title: /etc/x, parameters: {content: x}}\n", name, attributes)
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return &c.Catalog.Entities[0]
}

// TestSecretsOfFormerEntities: what was sensitive when a set was made stays out of the history, also when the entity
// has it no more, or as something else.
func TestSecretsOfFormerEntities(t *testing.T) {
	const secret = "hunter2"
	for what, after := range map[string]string{"gone": "",
		"plain": "      pw: {type: string, modifier: rw+, default: x}\n"} {
		f := newFixture(t)
		given := map[string]any{"name": "a", "pw": secret}
		f.want(site.Service{Name: "a", Entity: entityNamed(t, "db",
			"      pw: {type: string, modifier: rw+, sensitive: true}\n"), Attributes: given, RollbackOnFailure: true})
		f.run()
		f.want(site.Service{Name: "a", Entity: entityNamed(t, "db", after), Attributes: map[string]any{"name": "a"},
			RollbackOnFailure: true})
		transition := f.run(failed("a"))
		if len(transition.RolledBack()) != 1 {
			t.Fatal("nothing was rolled back")
		}
		for _, v := range transition.Revisions() {
			text := fmt.Sprint(v.Candidate, v.Active, v.Rollback)
			if strings.Contains(text, secret) || len(v.Redacted) == 0 {
				t.Errorf("%s: version %d, %s: %s, left out %q", what, v.Version, v.State, text, v.Redacted)
			}
		}
	}
}

// TestUnknownDefinition: what is deployed under a definition that nobody has any more stays deployed while an update
// waits for a gate.
func TestUnknownDefinition(t *testing.T) {
	f := newFixture(t)
	own := through(t, "service")
	held := func(s *site.Service) { s.Gates = map[string]bool{"auto_update_designed": false} }
	elsewhere := func(s *site.Service) { s.Selectors = site.Selectors{{NodeNames: []string{"n1"}}} }
	f.want(f.web("a", nil, own, held))
	f.state = services.Inventory{}.Merge(journalOf(f.run()))
	f.want(f.web("a", size(2), own, held, elsewhere))
	transition := f.run()
	f.is("a", "update_acknowledged v7 #1")
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(1), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}
}

// TestUnknownService: one that only a journal has, made under what nobody has any more, leaves its name to the next
// one.
func TestUnknownService(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil), f.web("b", nil))
	journal := journalOf(f.run())
	f.state = services.Inventory{}.Merge(journal)
	f.want()
	f.run()
	for _, journaled := range journal {
		if f.state.Newer(journaled) {
			t.Errorf("%s is taken over again", journaled.Service)
		}
	}
	f.want(f.web("a", nil))
	f.run()
	f.is("a", "up v3 #2")
	f.state = services.Inventory{}.Merge(journal).WithoutServices()
	f.want(f.web("b", nil))
	f.run()
	f.is("b", "up v3 #2")
}

// TestRollbackToAnotherLifecycle rolls back an update that changed the lifecycle: the service is in a state that the
// former one does not have.
func TestRollbackToAnotherLifecycle(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil, rollback, through(t, "simple_with_set_state")))
	f.run()
	f.want(f.web("a", size(2), rollback))
	transition := f.run(failed("a"))
	f.is("a", "up v8 #1")
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(1), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}
}

// TestStepsAfterARollback name what differs from what is deployed, also where the lifecycle keeps what failed as its
// candidate.
func TestStepsAfterARollback(t *testing.T) {
	f := newFixture(t)
	own := through(t, "simple")
	f.want(f.web("a", nil, own, rollback))
	f.run()
	f.want(f.web("a", size(2), own, rollback))
	f.run(failed("a"))
	if d := cmp.Diff([]string{"service a: update size (version 13, up to update_inprogress)"},
		f.begin().Steps()); d != "" {
		t.Error(d)
	}
}

// TestBeginIsDeterministic, whatever the order of maps.
func TestBeginIsDeterministic(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil), f.web("b", nil), f.link("k", "a"))
	f.run()
	renamed := f.web("b", nil)
	renamed.Attributes["name"] = "other"
	f.want(f.web("a", size(2)), renamed, f.web("c", nil), f.link("k", "a"), f.link("l", "c"))
	digest := func() string {
		text, err := f.begin().Digest("plan")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := digest()
	for range 20 {
		if again := digest(); again != first {
			t.Fatal("the digest is another one")
		}
	}
}

// BenchmarkBegin plans a thousand services on nodes of their own: none changes, or all are deleted.
func BenchmarkBegin(b *testing.B) {
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml",
		Data: []byte(strings.ReplaceAll(webCatalog, "8002", "18002"))}})
	if err != nil {
		b.Fatal(err)
	}
	var e *catalog.Entity
	for i := range c.Catalog.Entities {
		if c.Catalog.Entities[i].Name == "web" {
			e = &c.Catalog.Entities[i]
		}
	}
	s := site.Site{Name: "lon1"}
	for i := range 1000 {
		s.Services = append(s.Services, site.Service{
			Name: fmt.Sprintf("s%04d", i), Entity: e, Attributes: map[string]any{
				"name": fmt.Sprint(i)}, Selectors: site.Selectors{{NodeNames: []string{fmt.Sprint("n", i)}}},
		})
	}
	transition, errs := services.Plan(services.Inventory{}, s, time.Time{})
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	transition.Conclude(nil, time.Time{})
	for what, site := range map[string]site.Site{"nothing": s, "deletion": {Name: "lon1"}} {
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				if _, errs := services.Plan(transition.State(), site, time.Time{}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}
