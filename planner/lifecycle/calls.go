package lifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
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
	ID         string
	Entity     Entity
	Initial    string // one of the initial states; empty: the default
	Attributes map[string]any
	Definition string // of the attributes, see [Sets]
	Config     map[string]bool
	At         time.Time
	Message    string
}

// Create adds a service in an initial state. It checks types and limits, then references, identity and modifiers, and
// returns all errors of the first check that fails.
func (v *Inventory) Create(c Create) (Result, error) {
	if c.ID == "" {
		return Result{}, refuse(BadCall, "", "a service needs an id")
	}
	if _, taken := v.services[c.ID]; taken {
		return Result{}, refuse(InstanceExists, c.ID, "there is a service with this id already; take another id")
	}
	e := c.Entity
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
	complete, err := v.complete(e.Entity, c.ID, c.Attributes)
	if err != nil {
		return Result{}, err
	}
	if err := v.unique(e.Entity, c.ID, complete); err != nil {
		return Result{}, err
	}
	if errs := CheckUpdate(e.Entity, map[string]any{}, complete); len(errs) > 0 {
		return Result{}, refuseAttributes(c.ID, errs)
	}
	in := Instance{ID: c.ID, Entity: e.Name, EntityVersion: e.Version, State: initial, Config: maps.Clone(c.Config),
		Created: c.At, Updated: c.At, Cause: CreateTransition}
	in.Candidate, in.Definitions.Candidate = complete, c.Definition
	w := v.begin(&service{in, e}, c.At, c.Message)
	for _, step := range []Step{Triggered, Executed} {
		w.log(Event{Type: CreateTransition, Step: step, Destination: initial, Message: "created in " + initial +
			w.reason()})
	}
	w.Version, w.DesiredVersion = 1, 1
	w.Deleted = w.state().Deleted
	return w.settle(false)
}

func initialState(e Entity, c Create) (string, error) {
	if c.Initial == "" {
		return e.Machine.lifecycle.Initial, nil
	}
	if slices.Contains(e.Machine.Initial(), c.Initial) {
		return c.Initial, nil
	}
	return "", refuse(InvalidInitialState, c.ID, "%q is no initial state of the lifecycle %q%s", c.Initial,
		e.Machine.lifecycle.Name, resource.Choices(c.Initial, e.Machine.Initial()))
}

// check makes the first checks of every call, in the order of lsm.md 3: the service exists, is not deleted, and has the
// version that the caller has read.
func (v *Inventory) check(c Call, versioned bool) (*transaction, error) {
	s, ok := v.services[c.ID]
	switch {
	case !ok:
		return nil, refuse(UnknownInstance, c.ID, "there is no such service")
	case s.Deleted:
		return nil, refuse(Deleted, c.ID, "is deleted (state %s); create a new one", s.State)
	case c.Version == 0 && versioned:
		return nil, refuse(MissingVersion, c.ID,
			"the version is missing; give the one that was read, so that nothing is changed that somebody else changed meanwhile")
	case c.Version != 0 && c.Version != s.Version:
		return nil, refuse(VersionConflict, c.ID,
			"changed since it was read: the call is for version %d, it is at %d (state %s); read it again, and decide again",
			c.Version, s.Version, s.State)
	}
	return v.begin(s, c.At, c.Message), nil
}

// Update sets the candidate and starts the on_update transfer. Missing attributes get their default, but allocated
// values remain (lsm.md 18, 20). definition is that of the attributes, see [Sets].
func (v *Inventory) Update(c Call, attributes map[string]any, definition string) (Result, error) {
	w, err := v.check(c, true)
	if err != nil {
		return Result{}, err
	}
	t, ok := w.entity.Machine.Transfer(w.State, OnUpdate)
	if !ok {
		return Result{}, refuse(TransferNotAllowed, c.ID, "cannot be updated in state %s", w.State)
	}
	next, err := w.next(attributes)
	if err != nil {
		return Result{}, err
	}
	w.Candidate, w.Definitions.Candidate, w.changed = next, definition, true
	return w.run(t, true, false)
}

// Preview returns the attributes that [Inventory.Update] would set, or the refusal that they cause. It ignores state
// and version.
func (v *Inventory) Preview(id string, attributes map[string]any) (map[string]any, error) {
	s, ok := v.services[id]
	if !ok {
		return nil, refuse(UnknownInstance, id, "there is no such service")
	}
	return v.begin(s, time.Time{}, "").next(attributes)
}

// next returns the complete attributes after an update.
func (w *transaction) next(attributes map[string]any) (map[string]any, error) {
	base := w.Base()
	complete, err := w.inventory.complete(w.entity.Entity, w.ID, CarryAllocated(w.entity.Entity, base, attributes))
	if err != nil {
		return nil, err
	}
	if base[w.entity.Identity] == nil { // an identity that is set remains
		if err := w.inventory.unique(w.entity.Entity, w.ID, complete); err != nil {
			return nil, err
		}
	}
	if errs := CheckUpdate(w.entity.Entity, base, complete); len(errs) > 0 {
		return nil, refuseAttributes(w.ID, errs)
	}
	return complete, nil
}

// Delete starts the on_delete transfer.
func (v *Inventory) Delete(c Call) (Result, error) {
	w, err := v.check(c, true)
	if err != nil {
		return Result{}, err
	}
	t, ok := w.entity.Machine.Transfer(w.State, OnDelete)
	if !ok {
		return Result{}, refuse(TransferNotAllowed, c.ID, "cannot be deleted in state %s%s", w.State,
			w.deletionHint())
	}
	return w.run(t, true, false)
}

// deletionHint says what to do before a deletion.
func (w *transaction) deletionHint() string {
	way, ok := w.entity.Machine.PathTo(w.State, OnDelete)
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
	t, ok := w.entity.Machine.SetState(w.State, target)
	if !ok {
		return Result{}, refuse(TransferNotAllowed, c.ID, "cannot be brought from state %s to %q by hand%s", w.State,
			target, resource.Choices(target, w.entity.Machine.Targets(w.State)))
	}
	if t.Validate {
		w.validate(t)
		return w.settle(false)
	}
	return w.run(t, true, false)
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
	w.Config = maps.Clone(config)
	return w.settle(false)
}

// complete returns the attributes with their defaults, or all errors in types, rules, limits and references.
func (v *Inventory) complete(e *catalog.Entity, id string, attributes map[string]any) (map[string]any, error) {
	complete, errs := e.Check(attributes)
	errs = append(errs, v.references(e.Structure, complete)...)
	if len(errs) > 0 {
		return nil, refuseAttributes(id, errs)
	}
	return complete, nil
}

// unique refuses the identity of another service of the entity that is not deleted.
func (v *Inventory) unique(e *catalog.Entity, id string, attributes map[string]any) error {
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

// ForceState moves a service to a state without asking its lifecycle. It counts as a transfer (lsm.md 6, "Force"). A
// version in the call is checked.
func (v *Inventory) ForceState(c Call, target string, op Operation) (Result, error) {
	w, err := v.check(c, false)
	if err != nil {
		return Result{}, err
	}
	if _, ok := w.entity.Machine.State(target); !ok {
		return Result{}, refuse(UnknownState, c.ID, "there is no state %q in the lifecycle %q%s", target,
			w.entity.Machine.lifecycle.Name, resource.Choices(target, w.entity.Machine.StateNames()))
	}
	if _, ok := operationNamed(op); !ok && op != NoOperation {
		return Result{}, refuse(UnknownOperation, c.ID, "there is no operation %q%s", op,
			resource.Choices(string(op), Operations()))
	}
	sets, missing := w.Apply(op)
	if missing != None {
		errs := refuse(Precondition, c.ID, "the operation %q needs a %s set, and there is none", op, missing)
		errs[0].Attribute = string(missing)
		return Result{}, errs
	}
	source := w.State
	w.move(target, sets, false, func(step Step) {
		if step == Executed {
			w.log(Event{Type: ForceUpdate, Step: step, Source: source, Destination: target, Severity: SeverityWarning,
				Message: "forced to state " + target + w.reason()})
		}
	})
	w.Cause = ForceUpdate
	return w.settle(false)
}

// Forget removes a service from the inventory, whatever its state. What is deployed for it remains.
// Call.Version is ignored.
func (v *Inventory) Forget(c Call) (Result, error) {
	s, ok := v.services[c.ID]
	if !ok {
		return Result{}, refuse(UnknownInstance, c.ID, "there is no such service")
	}
	w := v.begin(s, c.At, c.Message)
	w.log(Event{Type: ForceDelete, Step: Executed, Source: s.State, Severity: SeverityWarning, Message: "forgotten" +
		w.reason()})
	v.ids = slices.DeleteFunc(v.ids, func(id string) bool { return id == c.ID })
	delete(v.services, c.ID)
	return w.result, nil
}
