package services

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Turn is one plan and its run, as the services of a site go through it. It is not safe for concurrent use.
type Turn struct {
	at        time.Time
	site      site.Site               // as it is wanted
	wanted    map[string]site.Service // of entities, by name
	inventory *lifecycle.Inventory
	records   map[string]Record // the rest of each service; its Instance is in the inventory
	bases     map[string]basis  // by digest
	numbers   map[string]int    // basis -> number of its entity in the inventory
	highest   map[string]int    // entity -> highest number
	problems  site.Problems
	changes   []Change
	versions  []Version
	events    []Event
	lost      []RolledBack
	former    map[string]int // services that had the name before
	going     []string       // services whose deletion began without a validation
}

// Change is what a plan does to a service.
type Change struct {
	Service    string
	Kind       ChangeKind
	From, To   string   // states; From is empty for a new service
	Version    int      // after it
	Attributes []string // that change, sorted; of an update only
}

// ChangeKind is what a change does.
type ChangeKind string

// The kinds of changes.
const (
	Create  ChangeKind = "create"
	Update  ChangeKind = "update"
	Replace ChangeKind = "replace" // a new service takes the place of one with the same name
	Delete  ChangeKind = "delete"
	Request ChangeKind = "request" // a state that is asked for, or a gate
)

// Version is a service as one version of it was.
type Version struct {
	lifecycle.Instance
	Incarnation int
	Entity      *catalog.Entity
	Lifecycle   string
	Label       lifecycle.Label

	made map[lifecycle.Set]*catalog.Entity // what each of its sets was made under
}

// Event is a line of the log of a service.
type Event struct {
	lifecycle.Event
	Incarnation int
}

// Begin compares the wanted services of a site with its inventory and sets off what follows. at is the time that
// versions and events get; the result depends on it in nothing else. With errors among the problems the turn must not
// be used. Neither s nor the state is changed.
func Begin(state State, s site.Site, at time.Time) (*Turn, site.Problems) {
	t := newTurn(state, s, at)
	t.adopt(state)
	t.change()
	t.settle()
	t.protect()
	for _, name := range slices.Sorted(maps.Keys(t.wanted)) {
		t.request(name)
	}
	t.settle()
	t.arrive()
	t.problems.Sort()
	return t, t.problems
}

// Rest returns the turn of a site whose services stay as they are: what a drift check looks at. Services of entities
// that are not in the inventory yet are not deployed.
func Rest(state State, s site.Site) (*Turn, site.Problems) {
	t := newTurn(state, s, time.Time{})
	for name, r := range state.Records {
		t.load(name, r, r.Under)
	}
	t.problems.Sort()
	return t, t.problems
}

func newTurn(state State, s site.Site, at time.Time) *Turn {
	t := &Turn{
		at: at, site: s, wanted: make(map[string]site.Service), inventory: lifecycle.NewInventory(), records: make(
			map[string]Record),
		bases: make(map[string]basis, len(state.Bases)), numbers: make(map[string]int), highest: make(
			map[string]int), former: make(map[string]int, len(state.Former)),
	}
	maps.Copy(t.former, state.Former)
	for _, service := range s.Services {
		if service.Entity != nil {
			t.wanted[service.Name] = service
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(state.Bases)) {
		b, err := state.Bases[digest].read()
		if err != nil {
			t.problem("", "", site.BadStructure,
				"the inventory of services is not readable: "+err.Error()+"; use the version of slipway that wrote it, or a newer one")
			continue
		}
		t.bases[digest] = b
	}
	return t
}

func (t *Turn) problem(service, attribute string, code site.Code, message string) {
	p := site.Problem{Object: "service", Name: service, Attribute: attribute, Code: code, Message: message}
	if service == "" {
		p.Object, p.Name = "deployment", t.site.Name
	}
	t.problems = append(t.problems, p)
}

// refused reports why a call was refused. attributes is where those of the service stand.
func (t *Turn) refused(service string, err error) {
	var refusal *lifecycle.Error
	if !asRefusal(err, &refusal) {
		t.problem(service, "", site.BadStructure, err.Error())
		return
	}
	at := func(path string) string {
		switch {
		case path == "":
			return ""
		case refusal.Kind == lifecycle.UnknownConfig:
			return "gates" + path[len("config"):]
		}
		return "attributes." + path
	}
	if len(refusal.Mistakes) == 0 {
		t.problem(service, at(refusal.Path), site.Code(refusal.Kind), refusal.Message)
	}
	for _, m := range refusal.Mistakes {
		t.problem(service, at(m.Place()), site.Code(m.Code), m.Message)
	}
}

// register makes the entity of a basis known to the inventory. Definitions that differ under one name are versions of
// it to the inventory, whatever they call themselves.
func (t *Turn) register(digest string) (int, error) {
	if n, ok := t.numbers[digest]; ok {
		return n, nil
	}
	b := t.bases[digest]
	entity := *b.entity
	t.highest[entity.Name]++
	entity.Version = t.highest[entity.Name]
	if err := t.inventory.Add(lifecycle.Entity{Entity: &entity, Machine: b.machine,
		Config: lifecycle.Gates(b.machine.Lifecycle().Name)}); err != nil {
		return 0, err
	}
	t.numbers[digest] = entity.Version
	return entity.Version, nil
}

// load puts a service of the state into the inventory, under a basis.
func (t *Turn) load(name string, r Record, under string) bool {
	b, known := t.bases[under]
	if !known {
		return false
	}
	r.known(t.bases, under)
	number, err := t.register(under)
	if err != nil {
		t.refused(name, err)
		return false
	}
	r.Under, r.Entity, r.EntityVersion = under, b.entity.Name, number
	if err := t.inventory.Load(r.Instance); err != nil {
		t.problem(name, "lifecycle", site.BadValue,
			err.Error()+"; replace the service, or keep its lifecycle until it rests in a state that both have")
		return false
	}
	t.records[name] = r
	return true
}

// did notes what a call did to a service.
func (t *Turn) did(name string, before lifecycle.Instance, result lifecycle.Result) {
	r := t.records[name]
	after, ok := t.inventory.Instance(name)
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
		t.versions = append(t.versions, t.version(r, first))
	}
	for _, hop := range result.Trace {
		t.versions = append(t.versions, t.version(r, hop.After))
		switch {
		case same(hop.After.Active, before.Active):
		case before.Rollback != nil && same(hop.After.Active, before.Rollback):
			r.ActiveVersion, r.RollbackVersion = r.RollbackVersion, 0
		default:
			r.ActiveVersion, r.RollbackVersion = hop.Version, r.ActiveVersion
		}
		before = hop.After
	}
	t.records[name] = r
}

// version is a service as it is, for its history.
func (t *Turn) version(r Record, in lifecycle.Instance) Version {
	b := t.bases[r.Under]
	state, _ := b.machine.State(in.State)
	in.EntityVersion = b.entity.Version
	made := make(map[lifecycle.Set]*catalog.Entity)
	for set, digest := range map[lifecycle.Set]string{lifecycle.Candidate: in.Basis.Candidate,
		lifecycle.Active: in.Basis.Active, lifecycle.Rollback: in.Basis.Rollback} {
		if under, known := t.bases[digest]; known {
			made[set] = under.entity
		}
	}
	return Version{in, r.Incarnation, b.entity, b.machine.Lifecycle().Name, state.Label, made}
}

// same reports whether two sets are one: sets are replaced as a whole and never changed in place.
func same(a, b map[string]any) bool {
	return (a == nil) == (b == nil) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// live returns the services that are not deleted, in the order of their names.
func (t *Turn) live() []lifecycle.Instance {
	all := t.inventory.Instances()
	return slices.DeleteFunc(all, func(in lifecycle.Instance) bool { return in.Deleted })
}

// Changes returns what the plan does to services, by name.
func (t *Turn) Changes() []Change {
	out := slices.Clone(t.changes)
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.Service, b.Service) })
	return out
}

// Versions returns the versions that came about, and Events what happened, both in order.
func (t *Turn) Versions() []Version { return t.versions }

// Events returns what happened to services, in order.
func (t *Turn) Events() []Event { return t.events }

// Site returns the site that is to be deployed: services of entities in a state that exports, with the attributes that
// are active.
func (t *Turn) Site() site.Site {
	s := t.site
	s.Services = slices.DeleteFunc(slices.Clone(t.site.Services), func(s site.Service) bool { return s.Entity != nil })
	members, _ := t.inventory.Export() // a state that exports without attributes has nothing to export
	for _, m := range members {
		in, _ := t.inventory.Instance(m.ID)
		b, known := t.bases[in.Basis.Active]
		if m.Purge || !known {
			continue
		}
		s.Services = append(s.Services, site.Service{
			Name: m.ID, Selectors: b.Selectors, Entity: b.entity, Attributes: withoutUnset(b.entity.Structure,
				in.Active), Complete: true,
		})
	}
	return s
}

// withoutUnset leaves out attributes that slipway is yet to set: those with the modifier r that are null.
func withoutUnset(s catalog.Structure, attributes map[string]any) map[string]any {
	out := maps.Clone(attributes)
	for _, a := range s.Attributes {
		if a.Modifier == catalog.Allocated && out[a.Name] == nil {
			delete(out, a.Name)
		}
	}
	return out
}

// State returns the inventory as it now is. Services that are deleted are not in it.
func (t *Turn) State() State {
	out := State{Records: make(map[string]Record), Bases: make(map[string]Basis), Former: make(map[string]int)}
	maps.Copy(out.Former, t.former)
	for name, r := range t.records {
		out.Former[name] = r.Incarnation
	}
	for digest, b := range t.bases {
		out.Bases[digest] = b.Basis
	}
	for _, in := range t.live() {
		r := t.records[in.ID]
		r.Instance = in
		r.EntityVersion = t.bases[r.Under].entity.Version
		out.Records[in.ID] = r
		delete(out.Former, in.ID)
	}
	return out.prune()
}

func siteNamed(name string) site.Site { return site.Site{Name: name} }
