package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Entity is an entity with the state machine of its services.
type Entity struct {
	*catalog.Entity
	Machine *Machine
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
	Config  map[string]bool `json:"config,omitempty"` // gates: true opens one; one that is not set is open (lsm.md 18, 6)
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
	Reason  string
}

// Inventory has services and drives each through its lifecycle. It is in memory only, has no clock and makes no ids:
// equal calls on equal inventories return equal results. It is not safe for concurrent use.
type Inventory struct {
	services map[string]*service // replaced, never modified
	ids      []string            // of the services, sorted
}

// service is a service with what applies to it now.
type service struct {
	Instance
	entity Entity
}

func (s *service) state() State { return s.entity.Machine.states[s.State] }

// role returns the role of the service in its state.
func (s *service) role() Role { return s.state().Role(s.Active != nil) }

// NewInventory returns an empty inventory.
func NewInventory() *Inventory { return &Inventory{services: make(map[string]*service)} }

// Load adds a service of an entity as it is, for example from the journal. It does nothing else to the service. The
// state must be known, and the id must be free.
func (v *Inventory) Load(in Instance, e Entity) error {
	if in.ID == "" {
		return refuse(BadCall, "", "a service without an id cannot be loaded")
	}
	if _, taken := v.services[in.ID]; taken {
		return refuse(InstanceExists, in.ID, "is in the inventory already")
	}
	if _, ok := e.Machine.State(in.State); !ok {
		return refuse(UnknownState, in.ID, "there is no state %q in the lifecycle %q", in.State,
			e.Machine.lifecycle.Name)
	}
	v.store(&service{in, e})
	return nil
}

// store writes a service.
func (v *Inventory) store(s *service) {
	if i, found := slices.BinarySearch(v.ids, s.ID); !found {
		v.ids = slices.Insert(v.ids, i, s.ID)
	}
	v.services[s.ID] = s
}

// Instance returns a service.
func (v *Inventory) Instance(id string) (Instance, bool) {
	s, ok := v.services[id]
	if !ok {
		return Instance{}, false
	}
	return s.Instance, true
}

// Instances returns all services, also deleted ones, sorted by id.
func (v *Inventory) Instances() []Instance {
	out := make([]Instance, len(v.ids))
	for i, id := range v.ids {
		out[i] = v.services[id].Instance
	}
	return out
}

// Role returns the role of a service in its state. The service must exist.
func (v *Inventory) Role(id string) Role { return v.services[id].role() }

// live returns the services that are not deleted, sorted by id.
func (v *Inventory) live() []*service {
	out := make([]*service, 0, len(v.ids))
	for _, id := range v.ids {
		if s := v.services[id]; !s.Deleted {
			out = append(out, s)
		}
	}
	return out
}

// Identity returns the value of the identity attribute of a service (lsm.md 14), and false if its entity has none.
func (v *Inventory) Identity(id string) (any, bool) {
	s, ok := v.services[id]
	if !ok {
		return nil, false
	}
	return s.identity()
}

func (s *service) identity() (any, bool) {
	value, ok := s.current()[s.entity.Identity]
	return value, ok && s.entity.Identity != ""
}

// ByIdentity returns the id of the service of an entity that has the identity and is not deleted.
func (v *Inventory) ByIdentity(entity string, identity any) (string, bool) {
	want := resource.Canonical(identity)
	for _, s := range v.live() {
		if value, ok := s.identity(); s.Entity == entity && ok && resource.Canonical(value) == want {
			return s.ID, true
		}
	}
	return "", false
}

// checkGates refuses gates that the lifecycle does not have (lsm.md 18, 19).
func checkGates(service string, m *Machine, config map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if !slices.Contains(m.gates, name) {
			errs := refuse(UnknownConfig, service, "the lifecycle %q has no gate %q%s", m.lifecycle.Name, name,
				resource.Choices(name, m.gates))
			errs[0].Attribute = fmt.Sprintf("gates[%q]", name)
			return errs
		}
	}
	return nil
}
