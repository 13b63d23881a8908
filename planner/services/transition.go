package services

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Transition is what one plan and its run do to the services of a site. It is not safe for concurrent use.
type Transition struct {
	at                   time.Time
	site                 site.Site               // the wanted site
	wanted               map[string]site.Service // services of entities, by name
	engine               *lifecycle.Inventory
	records              map[string]Record           // by name; their Instance is in the engine
	definitions          map[string]parsedDefinition // by digest
	errs                 invalid.Errors
	changes              []Change
	revisions            []Revision
	events               []Event
	rolledBack           []RolledBack
	former               map[string]int // counts earlier services by name
	waiting              map[string]bool
	unvalidatedDeletions []string // services that are deleted without a validation
}

// Change is what a plan does to a service.
type Change struct {
	Service    string
	Kind       ChangeKind
	From, To   string   // states; From is empty for a new service
	Version    int      // after the change; with [Continue], before it
	Attributes []string // changed attributes, sorted; for updates only
}

// ChangeKind is the kind of a change.
type ChangeKind string

// The kinds of changes.
const (
	Create  ChangeKind = "create"
	Update  ChangeKind = "update"
	Replace ChangeKind = "replace" // a new service replaces one with the same name
	Delete  ChangeKind = "delete"
	Request ChangeKind = "request" // a requested state, or a gate
	// Continue is of a service that an earlier run left between two states: a successful run takes it to the second.
	Continue ChangeKind = "continue"
)

// Event is a line of the log of a service.
type Event struct {
	lifecycle.Event
	Incarnation int
}

// Plan compares the wanted services of a site with its inventory and starts the transfers that follow. at is the time
// of revisions and events, and affects nothing else. If the errors contain errors, the transition must not be used.
// Plan changes neither s nor the inventory.
func Plan(state Inventory, s site.Site, at time.Time) (*Transition, invalid.Errors) {
	t := newTransition(state, s, at)
	t.loadInventory(state)
	t.startChanges()
	t.validatePending()
	t.checkReferences()
	for _, name := range slices.Sorted(maps.Keys(t.wanted)) {
		t.requestState(name)
	}
	t.validatePending()
	t.completeChanges()
	t.errs.Sort()
	return t, t.errs
}

// Unchanged returns a transition in which no service changes, as a drift check needs it. Services that are not in the
// inventory yet are not deployed.
func Unchanged(state Inventory, s site.Site) (*Transition, invalid.Errors) {
	t := newTransition(state, s, time.Time{})
	for name, r := range state.Records {
		if wanted, ok := t.wanted[name]; ok {
			r.Active = withSensitive(wanted, r.Active)
		}
		t.load(name, r, r.Definition)
	}
	t.errs.Sort()
	return t, t.errs
}

func newTransition(state Inventory, s site.Site, at time.Time) *Transition {
	t := &Transition{
		at: at, site: s, wanted: make(map[string]site.Service), engine: lifecycle.NewInventory(),
		records: make(map[string]Record), definitions: make(map[string]parsedDefinition, len(state.Definitions)),
		former: make(map[string]int, len(state.Former)),
	}
	maps.Copy(t.former, state.Former)
	for _, service := range s.Services {
		if service.Entity != nil {
			t.wanted[service.Name] = service
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(state.Definitions)) {
		b, err := state.Definitions[digest].parse()
		if err != nil {
			t.addError("", "", invalid.BadStructure,
				"the inventory of services is not readable: "+err.Error()+"; use the version of slipway that wrote it, or a newer one")
			continue
		}
		t.definitions[digest] = b
	}
	return t
}

func (t *Transition) addError(service, attribute string, code invalid.Code, message string) {
	p := invalid.Error{Object: "service", Name: service, Attribute: attribute, Code: code, Message: message}
	if service == "" {
		p.Object, p.Name = "deployment", t.site.Name
	}
	t.errs = append(t.errs, p)
}

// addRefusal adds the errors of a refused call.
func (t *Transition) addRefusal(service string, err error) {
	var refusal invalid.Errors
	if !errors.As(err, &refusal) {
		t.addError(service, "", invalid.BadStructure, err.Error())
	}
	for _, e := range refusal {
		if e.Attribute != "" && e.Code != lifecycle.UnknownConfig {
			e.Attribute = "attributes." + e.Attribute
		}
		t.addError(service, e.Attribute, e.Code, e.Message)
	}
}

// definition returns the definition that applies to a service of the engine.
func (t *Transition) definition(service string) parsedDefinition {
	return t.definitions[t.records[service].Definition]
}

// load loads a service of the inventory into the engine, with the given definition.
func (t *Transition) load(name string, r Record, digest string) bool {
	b, known := t.definitions[digest]
	if !known {
		return false
	}
	r.replaceUnknown(t.definitions, digest)
	r.Definition, r.Entity, r.EntityVersion = digest, b.entity.Name, b.entity.Version
	if err := t.engine.Load(r.Instance, b.entity); err != nil {
		t.addError(name, "lifecycle", invalid.BadValue,
			err.Error()+"; replace the service, or keep its lifecycle until it rests in a state that both have")
		return false
	}
	t.records[name] = r
	return true
}

// recordResult stores the versions and events of a call.
func (t *Transition) recordResult(name string, before lifecycle.Instance, result lifecycle.Result) {
	r := t.records[name]
	after, ok := t.engine.Instance(name)
	if !ok {
		return
	}
	for _, e := range result.Events {
		t.events = append(t.events, Event{e, r.Incarnation})
	}
	if before.Version == 0 {
		first := after
		if len(result.Trace) > 0 {
			first.Version, first.DesiredVersion = 1, 1
		}
		t.revisions = append(t.revisions, t.revision(r, first))
	}
	for _, hop := range result.Trace {
		t.revisions = append(t.revisions, t.revision(r, hop))
		switch {
		case same(hop.Active, before.Active):
		case before.Rollback != nil && same(hop.Active, before.Rollback):
			r.ActiveVersion, r.RollbackVersion = r.RollbackVersion, 0
		default:
			r.ActiveVersion, r.RollbackVersion = hop.Version, r.ActiveVersion
		}
		before = hop
	}
	t.records[name] = r
}

// same reports whether two sets are identical. Sets are replaced as a whole and never modified.
func same(a, b map[string]any) bool {
	return (a == nil) == (b == nil) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// live returns the services that are not deleted, sorted by name.
func (t *Transition) live() []lifecycle.Instance {
	all := t.engine.Instances()
	return slices.DeleteFunc(all, func(in lifecycle.Instance) bool { return in.Deleted })
}

// Wait says which services wait with a part of their tasks, so that no deployment of this run moves them on.
func (t *Transition) Wait(services map[string]bool) { t.waiting = services }

// Changes returns the changes of the plan, sorted by service, with those services that a deployment moves on even if
// there is nothing to deploy.
func (t *Transition) Changes() []Change {
	return slices.DeleteFunc(t.moving(), func(c Change) bool { return c.Kind == Continue && t.waiting[c.Service] })
}

// moving returns the changes, and the services that are between two states, also those that wait.
func (t *Transition) moving() []Change {
	out := slices.Clone(t.changes)
	changes := make(map[string]bool, len(out))
	for _, c := range out {
		changes[c.Service] = true
	}
	for _, in := range t.live() {
		if onward, moves := t.movesOn(in); moves && !changes[in.ID] {
			out = append(out, Change{Service: in.ID, Kind: Continue, From: in.State, To: onward, Version: in.Version})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.Service, b.Service) })
	return out
}

// Revisions returns the new versions of services, in order.
func (t *Transition) Revisions() []Revision { return t.revisions }

// Events returns the events of services, in order.
func (t *Transition) Events() []Event { return t.events }

// Site returns the site to deploy: services of entities have their active attributes, and only those in a state that
// exports are included.
func (t *Transition) Site() site.Site {
	s := t.site
	s.Services = slices.DeleteFunc(slices.Clone(t.site.Services), func(s site.Service) bool { return s.Entity != nil })
	members, _ := t.engine.Export() // a service that exports but has no active set has nothing to deploy
	for _, m := range members {
		in, _ := t.engine.Instance(m.ID)
		b, known := t.definitions[in.Definitions.Active]
		if m.Purge || !known {
			continue
		}
		s.Services = append(s.Services, site.Service{
			Name: m.ID, Selectors: b.Selectors, Entity: b.entity.Entity, Attributes: withoutUnset(b.entity.Structure,
				in.Active), Complete: true,
		})
	}
	return s
}

// withoutUnset returns the attributes without those that slipway has not set yet: modifier r, value null.
func withoutUnset(s catalog.Structure, attributes map[string]any) map[string]any {
	out := maps.Clone(attributes)
	for _, a := range s.Attributes {
		if a.Modifier == catalog.Allocated && out[a.Name] == nil {
			delete(out, a.Name)
		}
	}
	return out
}

// State returns the inventory after the transition. Deleted services are not in it.
func (t *Transition) State() Inventory {
	out := Inventory{Records: make(map[string]Record), Definitions: make(map[string]Definition),
		Former: make(map[string]int)}
	maps.Copy(out.Former, t.former)
	for name, r := range t.records {
		out.Former[name] = r.Incarnation
	}
	for digest, b := range t.definitions {
		out.Definitions[digest] = b.Definition
	}
	for _, in := range t.live() {
		r := t.records[in.ID]
		r.Instance = in
		r.EntityVersion = t.definition(in.ID).entity.Version // a rollback may have restored another one
		out.Records[in.ID] = r
		delete(out.Former, in.ID)
	}
	return out.prune()
}

// Digest combines the digest of a plan with the changes of services. Without changes it returns the digest of the plan.
// It fails only on attributes that JSON cannot encode, which no configuration has.
func (t *Transition) Digest(plan string) (string, error) {
	if !t.HasChanges() {
		return plan, nil
	}
	type service struct {
		Name                 string
		Incarnation, Version int
		State                string
		Sets                 any
		Config               map[string]bool
	}
	var all []service
	for _, in := range t.engine.Instances() {
		all = append(all, service{in.ID, t.records[in.ID].Incarnation, in.Version, in.State, in.Sets, in.Config})
	}
	return resource.DigestJSON([]any{"slipway services 1", plan, t.changes, all})
}
