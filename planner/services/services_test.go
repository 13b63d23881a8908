package services_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const webCatalog = `
entities:
  web:
    identity: name
    attributes:
      name: {type: string}
      size: {type: int, modifier: rw+, default: 1}
      port: {type: int, modifier: r, allocate: {integer: {from: 8000, to: 8002}}}
    tasks:
    - name: file
      config: {type: file, title: "/etc/web/${self.name}", parameters: {content: "${self.size} ${self.port}\n"}}
  link:
    attributes:
      label: {type: string, modifier: rw+, default: x}
    relations:
      end: {entity: web, modifier: rw+, upper: 1}
    tasks:
    - name: file
      config: {type: file, title: "/etc/link/${service.name}", parameters: {content: "${self.end} ${self.label}\n"}}
`

// fixture is a site whose services change from transition to transition.
type fixture struct {
	t        *testing.T
	entities map[string]*catalog.Entity
	state    services.Inventory
	site     site.Site
}

func newFixture(t *testing.T) *fixture {
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: []byte(webCatalog)}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, entities: map[string]*catalog.Entity{}, site: site.Site{Name: "lon1"}}
	for i := range c.Catalog.Entities {
		f.entities[c.Catalog.Entities[i].Name] = &c.Catalog.Entities[i]
	}
	return f
}

func (f *fixture) want(list ...site.Service) { f.site.Services = list }

func (f *fixture) web(name string, attributes map[string]any, with ...func(*site.Service)) site.Service {
	given := map[string]any{"name": name}
	for k, v := range attributes {
		given[k] = v
	}
	s := site.Service{Name: name, Entity: f.entities["web"], Attributes: given}
	for _, change := range with {
		change(&s)
	}
	return s
}

func (f *fixture) link(name, end string) site.Service {
	return site.Service{Name: name, Entity: f.entities["link"], Attributes: map[string]any{"end": end}}
}

// begin begins a transition that must be without errors.
func (f *fixture) begin() *services.Transition {
	f.t.Helper()
	transition, errs := services.Plan(f.state, f.site, time.Unix(1, 0).UTC())
	if len(errs) > 0 {
		f.t.Fatal(errs)
	}
	return transition
}

// run carries a transition out: outcomes[i] are those of pass i. It saves the state, through JSON as Terraform keeps
// it.
func (f *fixture) run(outcomes ...map[string]services.Outcome) *services.Transition {
	f.t.Helper()
	transition := f.begin()
	for i := 0; ; i++ {
		var now map[string]services.Outcome
		if i < len(outcomes) {
			now = outcomes[i]
		}
		if again := transition.Conclude(now, time.Unix(2, 0)); len(again) == 0 {
			break
		}
		if i > 10 {
			f.t.Fatal("no end of passes")
		}
	}
	if len(transition.Errors()) > 0 {
		f.t.Fatal(transition.Errors())
	}
	text, err := json.Marshal(transition.State())
	if err != nil {
		f.t.Fatal(err)
	}
	f.state = services.Inventory{}
	if err := json.Unmarshal(text, &f.state); err != nil {
		f.t.Fatal(err)
	}
	return transition
}

// deployed tells what of a transition's site is deployed for a service.
func deployed(transition *services.Transition, name string) map[string]any {
	for _, s := range transition.Site().Services {
		if s.Name == name {
			return s.Attributes
		}
	}
	return nil
}

// is compares a service of the state: state, version, incarnation.
func (f *fixture) is(name, want string) {
	f.t.Helper()
	r, ok := f.state.Records[name]
	got := "none"
	if ok {
		got = fmt.Sprintf("%s v%d #%d", r.State, r.Version, r.Incarnation)
	}
	if got != want {
		f.t.Errorf("%s is %s, want %s", name, got, want)
	}
}

func failed(names ...string) map[string]services.Outcome {
	out := map[string]services.Outcome{}
	for _, n := range names {
		out[n] = services.Outcome{Outcome: lifecycle.Failed, Message: "exec[check] failed on n1"}
	}
	return out
}

func waiting(name string) map[string]services.Outcome {
	return map[string]services.Outcome{name: {Outcome: lifecycle.Waiting}}
}

func size(n int64) map[string]any { return map[string]any{"size": n} }

func rollback(s *site.Service) { s.RollbackOnFailure = true }

func TestLife(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil))
	transition := f.begin()
	if d := cmp.Diff([]string{"service a: create (version 2, creating)"}, transition.Steps()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(1), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}
	f.run()
	f.is("a", "up v3 #1")

	if transition := f.run(); len(transition.Steps()) > 0 || len(transition.Revisions()) > 0 {
		t.Errorf("nothing changed, but %q", transition.Steps())
	}
	f.want(f.web("a", size(2)))
	if d := cmp.Diff([]string{"service a: update size (version 5, up to update_inprogress)"},
		f.begin().Steps()); d != "" {
		t.Error(d)
	}
	transition = f.run()
	f.is("a", "up v6 #1")
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(2), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}
	f.want()
	transition = f.run(waiting("a"))
	f.is("a", "deleting v8 #1")
	if deployed(transition, "a") != nil {
		t.Error("a service that is deleted is deployed")
	}
	if d := cmp.Diff([]string{"service a: delete (version 8, up to deleting)"}, transition.Steps()); d != "" {
		t.Error(d)
	}
	if transition := f.run(); len(transition.Steps()) > 0 {
		t.Errorf("deletion goes on, but is begun again: %q", transition.Steps())
	}
	f.is("a", "none")
}

func TestFailureAndRepair(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil))
	f.run(failed("a"))
	f.is("a", "failed v3 #1")
	f.run() // the next run deploys the rest
	f.is("a", "up v4 #1")
	f.want(f.web("a", size(2)))
	f.run(failed("a"))
	f.is("a", "update_failed v7 #1")
	if d := cmp.Diff([]string{"service a: continue (version 7, update_failed to up)"}, f.begin().Steps()); d != "" {
		t.Error(d) // also where no task is left: another pass, or a person, has done it
	}
	f.want(f.web("a", size(3)))
	f.run()
	f.is("a", "up v10 #1")
}

func TestRollback(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil, rollback), f.web("b", nil, rollback))
	f.run()
	f.want(f.web("a", size(9), rollback), f.web("b", size(9), rollback))
	transition := f.begin()
	again := transition.Conclude(failed("a"), time.Unix(2, 0))
	if d := cmp.Diff(map[string]bool{"a": true}, again); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(1), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"name": "b", "size": int64(9), "port": int64(8001)},
		deployed(transition, "b")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]services.RolledBack{{Service: "a", Failed: 5, Previous: 2, Message: "exec[check] failed on n1"}},
		transition.RolledBack()); d != "" {
		t.Error(d)
	}
	f.run(failed("a"))
	f.is("a", "up v8 #1")
	f.is("b", "up v6 #1")
	// The next plan shows the change again.
	if d := cmp.Diff([]string{"service a: update size (version 10, up to update_inprogress)"},
		f.begin().Steps()); d != "" {
		t.Error(d)
	}
	f.run(failed("a"), failed("a")) // the rollback fails as well
	f.is("a", "failed v13 #1")
}

// TestRollbackOfWhatItWasMadeUnder rolls back a change of entity and selectors.
func TestRollbackOfWhatItWasMadeUnder(t *testing.T) {
	f := newFixture(t)
	before := f.web("a", nil, rollback)
	f.want(before)
	f.run()
	after := before
	changed := *before.Entity
	changed.Description = "another one"
	after.Entity, after.Selectors = &changed, site.Selectors{{NodeNames: []string{"n1"}}}
	f.want(after)
	transition := f.begin()
	if s := transition.Site().Services[0]; s.Entity.Description == "" || len(s.Selectors) == 0 {
		t.Errorf("deployed is %+v", s)
	}
	transition.Conclude(failed("a"), time.Unix(2, 0))
	if s := transition.Site().Services[0]; s.Entity.Description != "" || len(s.Selectors) != 0 {
		t.Errorf("rolled back to %+v", s)
	}
	f.run(failed("a"))
	if transition := f.begin(); len(transition.Changes()) != 1 || transition.Changes()[0].Kind != services.Update {
		t.Errorf("the next plan has %v", transition.Changes())
	}
}

func TestReplacement(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil), f.web("b", nil))
	f.run()
	other := f.web("a", map[string]any{"size": int64(4)})
	other.Attributes["name"] = "renamed"
	f.want(other, f.web("b", nil))
	transition := f.begin()
	if v := transition.Revisions()[0]; !v.Deleted || v.Incarnation != 1 {
		t.Errorf("the service that is replaced ends as %+v", v)
	}
	f.run()
	f.is("a", "up v3 #2")
	f.is("b", "up v3 #1")
	if d := cmp.Diff([]string{"service a: replace (version 2, up to creating)"}, transition.Steps()); d != "" {
		t.Error(d)
	}
}

// TestInterrupted goes on where a run ended without a word: in the state that the journal has.
func TestInterrupted(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil, rollback))
	f.run()
	f.want(f.web("a", size(2), rollback))
	f.state = f.begin().State() // as it was written down when the run began
	f.is("a", "update_inprogress v5 #1")
	if d := cmp.Diff([]string{"service a: continue (version 5, update_inprogress to up)"}, f.begin().Steps()); d != "" {
		t.Error(d)
	}
	kept := f.state
	f.run()
	f.is("a", "up v6 #1")
	f.state = kept
	transition := f.run(failed("a"))
	f.is("a", "up v8 #1")
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(1), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}
	// A change meanwhile takes the unfinished update for a failed one.
	f.state = kept
	f.want(f.web("a", size(3)))
	f.run()
	f.is("a", "up v9 #1")
	// So it does where a failure is rolled back: the rollback is given up, too, unless it is what is wanted now.
	f.state = kept
	f.want(f.web("a", size(3), rollback))
	f.run()
	f.is("a", "up v11 #1")
	f.state = kept
	f.want(f.web("a", nil, rollback))
	if d := cmp.Diff([]string{"service a: update size (version 7, update_inprogress to rollback)"},
		f.begin().Steps()); d != "" {
		t.Error(d)
	}
	f.run()
	f.is("a", "up v8 #1")
	f.state = kept
	f.want()
	f.run()
	if len(f.state.Records) > 0 {
		t.Errorf("left are %v", f.state.Records)
	}
}

// TestGate deploys a service of a lifecycle that waits for a request.
func TestGate(t *testing.T) {
	l, _ := document.ShippedLifecycle("service")
	f := newFixture(t)
	held := func(s *site.Service) {
		s.Lifecycle = &l
		s.Gates = map[string]bool{"auto_creating": false}
	}
	f.want(f.web("a", nil, held))
	transition := f.run()
	f.is("a", "designed v3 #1")
	if deployed(transition, "a") != nil {
		t.Error("a designed service is deployed")
	}
	if transition := f.run(); len(transition.Steps()) > 0 {
		t.Errorf("it waits, but %q", transition.Steps())
	}
	f.want(f.web("a", nil, held, func(s *site.Service) { s.TargetState = "creating" }))
	transition = f.run()
	f.is("a", "up v5 #1")
	if deployed(transition, "a") == nil {
		t.Error("it is not deployed")
	}
}

// TestDeallocation goes through two deployments in one run.
func TestDeallocation(t *testing.T) {
	l, _ := document.ShippedLifecycle("simple_with_deallocation")
	f := newFixture(t)
	f.want(f.web("a", nil, func(s *site.Service) { s.Lifecycle = &l }))
	f.run()
	f.is("a", "up v4 #1")
	f.want()
	f.run()
	f.is("a", "none")
}

func TestLearn(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil))
	transition := f.begin()
	transition.Learn(map[string]map[string]any{"a": {"port": int64(8002)}, "gone": {"x": 1}})
	if got := transition.Allocated("a")["port"]; got != int64(8002) || len(transition.Errors()) > 0 {
		t.Errorf("port %v, %v", got, transition.Errors())
	}
}

func TestRest(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil))
	f.run()
	f.want(f.web("a", size(7)), f.web("b", nil))
	transition, errs := services.Unchanged(f.state, f.site)
	if len(errs) > 0 || len(transition.Site().Services) != 1 {
		t.Fatal(errs)
	}
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(1), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}
}

// journalOf is what a journal has of the last version of each service of a transition.
func journalOf(transition *services.Transition) []services.Revision {
	last := map[string]services.Revision{}
	for _, r := range transition.Revisions() {
		last[r.Service] = r
	}
	var out []services.Revision
	for _, s := range last {
		out = append(out, s)
	}
	return out
}

// TestAdopt goes on from a journal: where the state is from before a run that ended without a word, and where there is
// no state at all.
func TestAdopt(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil, rollback))
	f.run()
	f.want(f.web("a", size(2), rollback))
	journal := journalOf(f.begin()) // killed: the state is that of before
	before := f.state
	f.state = before.Merge(journal)
	f.is("a", "update_inprogress v5 #1")
	if changes := f.begin().Changes(); len(changes) != 1 || changes[0].Kind != services.Continue {
		t.Errorf("the update is begun again: %v", changes)
	}
	transition := f.run(failed("a"))
	f.is("a", "up v8 #1")
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(1), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}
	if before.Newer(services.Revision{Service: "a", Incarnation: 1, Version: 2}) {
		t.Error("an older version is newer")
	}

	// A state from before two updates: what the last one goes back to is the first one.
	f.state = before
	f.want(f.web("a", size(2), rollback))
	f.run()
	f.want(f.web("a", size(3), rollback))
	f.state = before.Merge(journalOf(f.begin()))
	f.is("a", "update_inprogress v8 #1")
	transition = f.run(failed("a"))
	if d := cmp.Diff(map[string]any{"name": "a", "size": int64(2), "port": int64(8000)},
		deployed(transition, "a")); d != "" {
		t.Error(d)
	}

	f.want(f.web("a", size(2), rollback))
	f.state = services.Inventory{}.Merge(journal) // the state was lost
	f.is("a", "update_inprogress v5 #1")
	f.run()
	f.is("a", "up v6 #1")

	f.state = services.Inventory{}.Merge(journal)
	f.want() // it is not wanted any more: what is left of it is in the ledgers
	if transition := f.begin(); len(transition.Changes()) > 0 || len(transition.Site().Services) > 0 {
		t.Errorf("changes %v", transition.Changes())
	}
}

// TestAdoptOfAnotherEntity goes on where the run that was lost changed the entity: what it made its version under is in
// no state.
func TestAdoptOfAnotherEntity(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil))
	f.run()
	changed := *f.entities["web"]
	changed.Description = "another one"
	update := f.web("a", size(2))
	update.Entity = &changed
	f.want(update)
	f.state = f.state.Merge(journalOf(f.begin()))
	adopted := f.state
	if rest, errs := services.Unchanged(f.state, f.site); len(errs) > 0 ||
		rest.State().Records["a"].State != "update_inprogress" {
		t.Errorf("it is shown as %+v, %v", rest.State().Records["a"], errs)
	}
	if changes := f.begin().Changes(); len(changes) != 1 || changes[0].Kind != services.Continue {
		t.Errorf("the update is begun again: %v", changes)
	}
	f.run()
	f.is("a", "up v6 #1")

	f.state = adopted
	f.want()
	if d := cmp.Diff([]string{"service a: delete (version 8, update_inprogress to deleting)"},
		f.begin().Steps()); d != "" {
		t.Error(d)
	}
	f.run()
	if len(f.state.Records) > 0 {
		t.Errorf("left are %v", f.state.Records)
	}
}

// TestNamesAreUsedAgain: a service that has a name again is another one.
func TestNamesAreUsedAgain(t *testing.T) {
	f := newFixture(t)
	f.want(f.web("a", nil))
	f.run()
	f.want()
	f.run()
	f.is("a", "none")
	f.want(f.web("a", nil))
	transition := f.run()
	f.is("a", "up v3 #2")
	gone, _ := services.DeletedRevisions(f.state, "lon1", time.Unix(3, 0))
	if len(gone) != 1 || !gone[0].Deleted || gone[0].Incarnation != 2 {
		t.Errorf("gone: %+v", gone)
	}
	state := services.Inventory{}.Merge(append(journalOf(transition),
		services.Revision{Service: "b", Incarnation: 4, Version: 9, Deleted: true}))
	f.state = state
	f.want(f.web("b", nil))
	f.run()
	f.is("b", "up v3 #5")
}
