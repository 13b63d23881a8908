package lifecycle

// ForceState moves a service to a state without asking its lifecycle. It counts as a transfer (lsm.md 6, "Force"). A
// version in the call is checked.
func (v *Inventory) ForceState(c Call, target string, op Operation) (Result, error) {
	w, err := v.check(c, false)
	if err != nil {
		return Result{}, err
	}
	if _, ok := w.entity.Machine.State(target); !ok {
		return Result{}, refuse(UnknownState, c.ID, "there is no state %q in the lifecycle %q%s", target,
			w.entity.Machine.lifecycle.Name, hint(target, w.entity.Machine.names()))
	}
	if _, ok := operationNamed(op); !ok && op != NoOperation {
		return Result{}, refuse(UnknownOperation, c.ID, "there is no operation %q%s", op,
			hint(string(op), Operations()))
	}
	sets, missing := w.in.Apply(op)
	if missing != None {
		err := refuse(Precondition, c.ID, "the operation %q needs a %s set, and there is none", op, missing)
		err.Path = string(missing)
		return Result{}, err
	}
	w.force(w.role(), target, sets, "forced to state "+target)
	return w.settleAndCommit(false)
}

// force moves a service, with one event.
func (w *transaction) force(before Role, target string, sets Sets, message string) {
	source := w.in.State
	w.move(move{before: before, state: target, sets: sets}, func(step Step) {
		if step == Executed {
			w.log(Event{Type: ForceUpdate, Step: step, Source: source, Destination: target, Severity: SeverityWarning,
				Message: message + w.reason()})
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

// Forget removes a service from the inventory, whatever its state. What is deployed for it remains. A version in the
// call is checked.
func (v *Inventory) Forget(c Call) (Result, error) {
	in, ok := v.instances[c.ID]
	switch {
	case !ok:
		return Result{}, refuse(UnknownInstance, c.ID, "there is no such service")
	case c.Version != 0 && c.Version != in.Version:
		return Result{}, refuse(VersionConflict, c.ID,
			"changed since it was read: the call is for version %d, it is at %d (state %s); read it again, and decide again",
			c.Version, in.Version, in.State)
	}
	w := v.begin(in, c.At, c.Message)
	w.log(Event{Type: ForceDelete, Step: Executed, Source: in.State, Severity: SeverityWarning, Message: "forgotten" +
		w.reason()})
	v.forget(c.ID)
	return w.result, nil
}
