package lifecycle

import (
	"maps"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Call is what all calls on an existing service have in common.
type Call struct {
	ID      string
	Version int       // that the caller has read; 0: not given, which only some calls allow
	At      time.Time // time of the events
	Message string    // reason, for the events
}

// Create is a new service.
type Create struct {
	ID            string
	Entity        string
	EntityVersion *int   // nil: the highest
	Initial       string // one of the initial states; empty: the default
	Attributes    map[string]any
	Definition    string // of the attributes, see [Sets]
	Config        map[string]bool
	At            time.Time
	Message       string
}

// Create adds a service in an initial state. It checks types and limits, then references, identity and modifiers, and
// returns all errors of the first check that fails.
func (v *Inventory) Create(c Create) (Result, error) {
	if c.ID == "" {
		return Result{}, refuse(BadCall, "", "a service needs an id")
	}
	if _, taken := v.instances[c.ID]; taken {
		return Result{}, refuse(InstanceExists, c.ID, "there is a service with this id already; take another id")
	}
	e, err := v.entity(c.Entity, c.EntityVersion)
	if err != nil {
		err.Service = c.ID
		return Result{}, err
	}
	if e.Abstract {
		return Result{}, refuse(UnknownEntity, c.ID,
			"the entity %q is abstract; no service is of it, only of entities that extend it", e.Name)
	}
	initial, err := initialState(e, c)
	if err != nil {
		return Result{}, err
	}
	if err := checkGates(c.ID, e.Machine, c.Config); err != nil {
		return Result{}, err
	}
	complete, err := v.complete(e, c.ID, c.Attributes)
	if err != nil {
		return Result{}, err
	}
	if err := v.unique(e, c.ID, complete); err != nil {
		return Result{}, err
	}
	if errs := CheckUpdate(e.Entity, map[string]any{}, complete); len(errs) > 0 {
		return Result{}, refuseAttributes(c.ID, errs)
	}
	in := &Instance{ID: c.ID, Entity: e.Name, EntityVersion: e.Version, State: initial, Config: maps.Clone(c.Config),
		Created: c.At, Updated: c.At, Cause: CreateTransition}
	in.Candidate, in.Definitions.Candidate = complete, c.Definition
	w := v.begin(in, c.At, c.Message)
	for _, step := range []Step{Triggered, Executed} {
		w.log(Event{Type: CreateTransition, Step: step, Destination: initial, Message: "created in " + initial +
			w.reason()})
	}
	w.in.Version, w.in.DesiredVersion = 1, 1
	w.in.Deleted = w.state().Deleted
	return w.settleAndCommit(false)
}

func initialState(e *Entity, c Create) (string, *Error) {
	if c.Initial == "" {
		return e.Machine.lifecycle.Initial, nil
	}
	for _, s := range e.Machine.Initial() {
		if s == c.Initial {
			return s, nil
		}
	}
	return "", refuse(InvalidInitialState, c.ID, "%q is no initial state of the lifecycle %q%s", c.Initial,
		e.Machine.lifecycle.Name, hint(c.Initial, e.Machine.Initial()))
}

// check makes the first checks of every call, in the order of lsm.md 3: the service exists, is not deleted, and has the
// version that the caller has read.
func (v *Inventory) check(c Call, versioned bool) (*transaction, *Error) {
	in, ok := v.instances[c.ID]
	switch {
	case !ok:
		return nil, refuse(UnknownInstance, c.ID, "there is no such service")
	case in.Deleted:
		return nil, refuse(Deleted, c.ID, "is deleted (state %s); create a new one", in.State)
	case c.Version == 0 && versioned:
		return nil, refuse(MissingVersion, c.ID,
			"the version is missing; give the one that was read, so that nothing is changed that somebody else changed meanwhile")
	case c.Version != 0 && c.Version != in.Version:
		return nil, refuse(VersionConflict, c.ID,
			"changed since it was read: the call is for version %d, it is at %d (state %s); read it again, and decide again",
			c.Version, in.Version, in.State)
	}
	return v.begin(in, c.At, c.Message), nil
}

// Update sets the candidate and starts the on_update transfer. Missing attributes get their default, but allocated
// values remain (lsm.md 18, 20). definition is that of the attributes, see [Sets].
func (v *Inventory) Update(c Call, attributes map[string]any, basis string) (Result, error) {
	w, err := v.check(c, true)
	if err != nil {
		return Result{}, err
	}
	t, ok := w.entity.Machine.Transfer(w.in.State, OnUpdate)
	if !ok {
		return Result{}, refuse(TransferNotAllowed, c.ID, "cannot be updated in state %s", w.in.State)
	}
	next, err := w.next(attributes)
	if err != nil {
		return Result{}, err
	}
	w.in.Candidate, w.in.Definitions.Candidate, w.changed = next, basis, true
	if _, err := w.execute(t, true, false); err != nil {
		return w.failed(err)
	}
	return w.settleAndCommit(w.in.Preserved)
}

// Preview returns the attributes that [Inventory.Update] would set, or the refusal that they cause. It ignores state
// and version.
func (v *Inventory) Preview(id string, attributes map[string]any) (map[string]any, error) {
	in, ok := v.instances[id]
	if !ok {
		return nil, refuse(UnknownInstance, id, "there is no such service")
	}
	next, err := v.begin(in, time.Time{}, "").next(attributes)
	if err != nil {
		return nil, err
	}
	return next, nil
}

// next returns the complete attributes after an update.
func (w *transaction) next(attributes map[string]any) (map[string]any, *Error) {
	base := w.in.Base()
	complete, err := w.inventory.complete(w.entity, w.in.ID, CarryAllocated(w.entity.Entity, base, attributes))
	if err != nil {
		return nil, err
	}
	if base[w.entity.Identity] == nil { // an identity that is set remains
		if err := w.inventory.unique(w.entity, w.in.ID, complete); err != nil {
			return nil, err
		}
	}
	if errs := CheckUpdate(w.entity.Entity, base, complete); len(errs) > 0 {
		return nil, refuseAttributes(w.in.ID, errs)
	}
	return complete, nil
}

// Delete starts the on_delete transfer.
func (v *Inventory) Delete(c Call) (Result, error) {
	w, err := v.check(c, true)
	if err != nil {
		return Result{}, err
	}
	t, ok := w.entity.Machine.Transfer(w.in.State, OnDelete)
	if !ok {
		return Result{}, refuse(TransferNotAllowed, c.ID, "cannot be deleted in state %s%s", w.in.State,
			w.deletionHint())
	}
	return w.run(t)
}

// deletionHint says what to do before a deletion.
func (w *transaction) deletionHint() string {
	way, ok := w.entity.Machine.PathTo(w.in.State, OnDelete)
	if !ok || len(way) == 0 {
		return "; wait for the deployment that is under way"
	}
	return "; bring it to state " + way[0] + " first"
}

// SetState requests a state. If the transfer needs a validation, [Inventory.Validated] executes it.
func (v *Inventory) SetState(c Call, target string) (Result, error) {
	w, err := v.check(c, true)
	if err != nil {
		return Result{}, err
	}
	t, ok := w.entity.Machine.SetState(w.in.State, target)
	if !ok {
		return Result{}, refuse(TransferNotAllowed, c.ID, "cannot be brought from state %s to %q by hand%s", w.in.State,
			target, hint(target, w.entity.Machine.Targets(w.in.State)))
	}
	if t.Validate {
		w.validate(t)
		return w.settleAndCommit(false)
	}
	return w.run(t)
}

// run executes a requested transfer, follows automatic ones and commits.
func (w *transaction) run(t Transfer) (Result, error) {
	moved, err := w.execute(t, true, false)
	if err != nil {
		return w.failed(err)
	}
	return w.settleAndCommit(moved && w.in.Preserved)
}

// SetConfig replaces the gates of a service. It takes effect at once and is not a transfer (lsm.md 18, 7).
func (v *Inventory) SetConfig(c Call, config map[string]bool) (Result, error) {
	w, err := v.check(c, true)
	if err != nil {
		return Result{}, err
	}
	if err := checkGates(c.ID, w.entity.Machine, config); err != nil {
		return Result{}, err
	}
	w.in.Config = maps.Clone(config)
	return w.settleAndCommit(false)
}

// complete returns the attributes with their defaults, or all errors in types, rules, limits and references.
func (v *Inventory) complete(e *Entity, id string, attributes map[string]any) (map[string]any, *Error) {
	complete, errs := e.Check(attributes)
	errs = append(errs, v.references(e.Structure, complete)...)
	if len(errs) > 0 {
		return nil, refuseAttributes(id, errs)
	}
	return complete, nil
}

// unique refuses the identity of another service of the entity that is not deleted.
func (v *Inventory) unique(e *Entity, id string, attributes map[string]any) *Error {
	a, ok := e.Attribute(e.Identity)
	if !ok {
		return nil
	}
	holder, taken := v.ByIdentity(e.Name, attributes[a.Name])
	if !taken || holder == id {
		return nil
	}
	return refuseAttributes(id, []invalid.Error{{Attribute: a.Name, Code: IdentityConflict,
		Message: "another service of the entity " + e.Name + ", " + holder +
			", has this value; it names a service, so give another one"}})
}
