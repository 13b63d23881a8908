package lifecycle

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/edit"
)

// ForceState brings a service to a state without asking the lifecycle, for repairs by hand. It counts as a transfer (lsm.md 6, "Force"). The version is
// checked when it is given.
func (v *Inventory) ForceState(c Call, target string, op Operation) (Result, error) {
	w, err := v.check(c, false)
	if err != nil {
		return Result{}, err
	}
	if _, ok := w.entity.Machine.State(target); !ok {
		return Result{}, refuse(UnknownState, c.ID, "there is no state %q in the lifecycle %q%s", target, w.entity.Machine.lifecycle.Name, hint(target, w.entity.Machine.names()))
	}
	if _, ok := operationNamed(op); !ok && op != NoOperation {
		return Result{}, refuse(UnknownOperation, c.ID, "there is no operation %q%s", op, hint(string(op), Operations()))
	}
	sets, missing := w.in.Apply(op)
	if missing != None {
		err := refuse(Precondition, c.ID, "the operation %q needs a %s set, and there is none", op, missing)
		err.Path = string(missing)
		return Result{}, err
	}
	w.force(w.role(), target, sets, "forced to state "+target)
	return w.settled(false)
}

// force moves a service, with one event.
func (w *work) force(before Role, target string, sets Sets, message string) {
	source := w.in.State
	w.move(move{before: before, state: target, sets: sets}, func(step Step) {
		if step == Executed {
			w.log(Event{Type: ForceUpdate, Step: step, Source: source, Destination: target, Severity: SeverityWarning, Message: message + w.because()})
		}
	})
	w.in.Cause = ForceUpdate
}

// names returns the names of the states.
func (m *Machine) names() []string {
	out := make([]string, len(m.lifecycle.States))
	for i, s := range m.lifecycle.States {
		out[i] = s.Name
	}
	return out
}

// ForceEdit changes one set of a service in place, for repairs by hand: no transfer, no version, and modifiers do not count. The result must still be
// attributes of the entity. The version is checked when it is given.
func (v *Inventory) ForceEdit(c Call, set Set, edits []edit.Edit) (Result, error) {
	w, err := v.check(c, false)
	if err != nil {
		return Result{}, err
	}
	if !slices.Contains(AllSets(), set) {
		return Result{}, refuse(UnknownSet, c.ID, "there is no set of attributes %q%s", set, hint(string(set), AllSets()))
	}
	next, mistakes := edit.Apply(w.entity.Entity, w.in.Get(set), edits)
	if len(mistakes) > 0 {
		return Result{}, mistaken(c.ID, mistakes)
	}
	complete, err := v.complete(w.entity, c.ID, next)
	if err != nil {
		return Result{}, err
	}
	w.in.Sets = w.in.With(set, complete)
	if err := v.unique(w.entity, c.ID, w.in.current()); err != nil {
		return Result{}, err
	}
	w.log(Event{Type: ForceUpdate, Step: Executed, Source: w.in.State, Destination: w.in.State, Severity: SeverityWarning, Message: "forced change of the " + string(set) + " set" + w.because()})
	return w.commit()
}

// Forget takes a service out of the inventory, whatever its state. What is deployed for it is not removed by that. The version is checked when it is given.
func (v *Inventory) Forget(c Call) (Result, error) {
	in, ok := v.instances[c.ID]
	switch {
	case !ok:
		return Result{}, refuse(UnknownInstance, c.ID, "there is no such service")
	case c.Version != 0 && c.Version != in.Version:
		return Result{}, refuse(VersionConflict, c.ID, "changed since it was read: the call is for version %d, it is at %d (state %s); read it again, and decide again", c.Version, in.Version, in.State)
	}
	w := v.begin(in, c.At, c.Message)
	w.log(Event{Type: ForceDelete, Step: Executed, Source: in.State, Severity: SeverityWarning, Message: "forgotten" + w.because()})
	v.forget(c.ID)
	return w.result, nil
}

// Migration moves a service to another version of its entity (lsm.md 2, "Multi-version").
type Migration struct {
	EntityVersion int
	State         string // in the lifecycle of that version
	// Sets are the attributes in the form of that version, at least one set. A set that is not given is gone: it has the form of the old version.
	Sets Sets
}

// UpdateEntityVersion moves a service to another version of its entity. It counts as a transfer, and cannot be rolled back.
func (v *Inventory) UpdateEntityVersion(c Call, m Migration) (Result, error) {
	w, err := v.check(c, true)
	if err != nil {
		return Result{}, err
	}
	e, err := v.entity(w.in.Entity, &m.EntityVersion)
	if err != nil {
		err.Service = c.ID
		return Result{}, err
	}
	if _, ok := e.Machine.State(m.State); !ok {
		return Result{}, refuse(UnknownState, c.ID, "there is no state %q in the lifecycle %q%s", m.State, e.Machine.lifecycle.Name, hint(m.State, e.Machine.names()))
	}
	if m.Sets.Candidate == nil && m.Sets.Active == nil && m.Sets.Rollback == nil {
		return Result{}, refuse(BadCall, c.ID, "no set of attributes is given; give at least one, in the form of version %d", m.EntityVersion)
	}
	var sets Sets
	for _, which := range AllSets() {
		given := m.Sets.Get(which)
		if given == nil {
			continue
		}
		complete, err := v.complete(e, c.ID, given)
		if err != nil {
			for i := range err.Mistakes {
				err.Mistakes[i].Message += " (" + string(which) + " set)"
			}
			return Result{}, err
		}
		sets = sets.With(which, complete)
	}
	if err := v.unique(e, c.ID, sets.current()); err != nil {
		return Result{}, err
	}
	config := make(map[string]bool)
	for gate, open := range w.in.Config {
		if slices.Contains(e.Machine.gates, gate) {
			config[gate] = open
		}
	}
	before := w.role()
	w.entity, w.in.EntityVersion, w.in.Config = e, e.Version, config
	w.force(before, m.State, sets, fmt.Sprintf("moved to version %d of entity %s", e.Version, e.Name))
	return w.settled(false)
}
