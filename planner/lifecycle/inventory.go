package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Entity is an entity with the state machine of its services.
type Entity struct {
	*catalog.Entity
	Machine *Machine
	// Config opens (true) or closes gates for services that do not set them. Other gates are open.
	Config map[string]bool
}

// Instance is a service in the inventory (lsm.md 1).
type Instance struct {
	ID             string `json:"id"`
	Entity         string `json:"entity"`
	EntityVersion  int    `json:"entity_version"`
	Version        int    `json:"version"`         // counts executed transfers, from 1
	DesiredVersion int    `json:"desired_version"` // counts changes of the desired state, from 1
	State          string `json:"state"`
	Sets
	Config  map[string]bool `json:"config,omitempty"` // gates; they take precedence over those of the entity
	Deleted bool            `json:"deleted,omitempty"`
	Pending *Pending        `json:"-"` // a validation in progress; never saved
	// Last is the deployment result of the desired version: Succeeded, Failed, or empty if not known.
	Last Outcome `json:"last,omitempty"`
	// Preserved says that the last transfer preserved the desired state.
	Preserved bool      `json:"preserved,omitempty"`
	Cause     EventType `json:"cause,omitempty"` // of the last transfer
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"` // time of the last transfer
}

// Pending is a transfer that waits for its validation.
type Pending struct {
	Trigger Trigger // auto or api_set_state
	Target  string
	Error   string
	Version int // of the service when the validation was requested
}

// Inventory has services and drives each through its lifecycle. It is in memory only, has no clock and makes no ids:
// equal calls on equal inventories return equal results. It is not safe for concurrent use.
type Inventory struct {
	entities  map[string][]*Entity // by name, lowest version first
	instances map[string]*Instance // replaced, never modified
	ids       []string             // of the instances, sorted
}

// NewInventory returns an empty inventory.
func NewInventory() *Inventory {
	return &Inventory{entities: make(map[string][]*Entity), instances: make(map[string]*Instance)}
}

// Add adds a version of an entity. Its gates must be gates of the lifecycle.
func (v *Inventory) Add(e Entity) error {
	if err := checkGates("", e.Machine, e.Config); err != nil {
		return err
	}
	versions := v.entities[e.Name]
	i, found := slices.BinarySearchFunc(versions, e.Version,
		func(e *Entity, version int) int { return cmp.Compare(e.Version, version) })
	if found {
		return refuse(EntityExists, "",
			"entity %q has a version %d already, and a version does not change; add one with a higher number", e.Name, e.Version)
	}
	v.entities[e.Name] = slices.Insert(versions, i, &e)
	return nil
}

func (v *Inventory) entity(name string, version *int) (*Entity, *Error) {
	versions := v.entities[name]
	if len(versions) == 0 {
		return nil, refuse(UnknownEntity, "", "there is no entity %q%s", name,
			hint(name, slices.Sorted(maps.Keys(v.entities))))
	}
	if version == nil {
		return versions[len(versions)-1], nil
	}
	for _, e := range versions {
		if e.Version == *version {
			return e, nil
		}
	}
	return nil, refuse(UnknownEntity, "", "entity %q has no version %d; the highest is %d", name, *version,
		versions[len(versions)-1].Version)
}

// Load adds a service as it is, for example from the journal. It does nothing else to the service. The entity and the
// state must be known, and the id must be free.
func (v *Inventory) Load(in Instance) error {
	if in.ID == "" {
		return refuse(BadCall, "", "a service without an id cannot be loaded")
	}
	if _, taken := v.instances[in.ID]; taken {
		return refuse(InstanceExists, in.ID, "is in the inventory already")
	}
	e, err := v.entity(in.Entity, &in.EntityVersion)
	if err != nil {
		err.Service = in.ID
		return err
	}
	if _, ok := e.Machine.State(in.State); !ok {
		return refuse(UnknownState, in.ID, "there is no state %q in the lifecycle %q", in.State,
			e.Machine.lifecycle.Name)
	}
	v.store(&in)
	return nil
}

// store writes a service.
func (v *Inventory) store(in *Instance) {
	if i, found := slices.BinarySearch(v.ids, in.ID); !found {
		v.ids = slices.Insert(v.ids, i, in.ID)
	}
	v.instances[in.ID] = in
}

// forget removes a service.
func (v *Inventory) forget(id string) {
	if i, found := slices.BinarySearch(v.ids, id); found {
		v.ids = slices.Delete(v.ids, i, i+1)
	}
	delete(v.instances, id)
}

// Instance returns a service.
func (v *Inventory) Instance(id string) (Instance, bool) {
	in, ok := v.instances[id]
	if !ok {
		return Instance{}, false
	}
	return *in, true
}

// Instances returns all services, also deleted ones, sorted by id.
func (v *Inventory) Instances() []Instance {
	all := v.sorted()
	out := make([]Instance, len(all))
	for i, in := range all {
		out[i] = *in
	}
	return out
}

func (v *Inventory) sorted() []*Instance {
	out := make([]*Instance, 0, len(v.ids))
	for _, id := range v.ids {
		out = append(out, v.instances[id])
	}
	return out
}

// Identity returns the value of the identity attribute of a service (lsm.md 14), and false if its entity has none.
func (v *Inventory) Identity(id string) (any, bool) {
	in, ok := v.instances[id]
	if !ok {
		return nil, false
	}
	return v.identity(in)
}

func (v *Inventory) identity(in *Instance) (any, bool) {
	e := v.entityOf(in)
	value, ok := in.current()[e.Identity]
	return value, ok && e.Identity != ""
}

// ByIdentity returns the id of the service of an entity that has the identity and is not deleted.
func (v *Inventory) ByIdentity(entity string, identity any) (string, bool) {
	want := catalog.Canonical(identity)
	for _, in := range v.sorted() {
		if in.Entity != entity || in.Deleted {
			continue
		}
		if value, ok := v.identity(in); ok && catalog.Canonical(value) == want {
			return in.ID, true
		}
	}
	return "", false
}

// entityOf returns the entity of a service. Every service in the inventory has one.
func (v *Inventory) entityOf(in *Instance) *Entity {
	versions := v.entities[in.Entity]
	i, _ := slices.BinarySearchFunc(versions, in.EntityVersion,
		func(e *Entity, version int) int { return cmp.Compare(e.Version, version) })
	return versions[i]
}

// checkGates refuses gates that the lifecycle does not have (lsm.md 18, 19).
func checkGates(service string, m *Machine, config map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if !slices.Contains(m.gates, name) {
			err := refuse(UnknownConfig, service, "the lifecycle %q has no gate %q%s", m.lifecycle.Name, name,
				hint(name, m.gates))
			err.Path = fmt.Sprintf("config[%q]", name)
			return err
		}
	}
	return nil
}
