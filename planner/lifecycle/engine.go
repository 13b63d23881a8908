package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// transaction is one call on one service. Its changes are written together when it succeeds, otherwise not at all.
type transaction struct {
	inventory *Inventory
	entity    *Entity
	in        Instance // the changed service
	changed   bool     // attributes changed before the transfer, so the transfer has an effect
	at        time.Time
	message   string
	result    Result
}

func (v *Inventory) begin(in *Instance, at time.Time, message string) *transaction {
	return &transaction{inventory: v, entity: v.entityOf(in), in: *in, at: at, message: message}
}

// commit writes the changes.
func (w *transaction) commit() (Result, error) {
	in := w.in
	w.inventory.store(&in)
	return w.result, nil
}

// settleAndCommit follows automatic transfers as far as possible, then commits.
func (w *transaction) settleAndCommit(preserved bool) (Result, error) {
	w.followAutomatic(preserved)
	return w.commit()
}

// failed returns a refusal. The events remain, because the log of a transfer outlives it (lsm.md 7).
func (w *transaction) failed(err *Error) (Result, error) { return Result{Events: w.result.Events}, err }

// log adds an event. Its versions are those of the service before the transfer.
func (w *transaction) log(e Event) {
	e.Service, e.At = w.in.ID, w.at
	e.Version, e.DesiredVersion = w.in.Version, w.in.DesiredVersion
	e.Correlation = Correlation(e.Service, e.Version)
	if e.Severity == 0 {
		e.Severity = SeverityInfo
	}
	w.result.Events = append(w.result.Events, e)
}

func (w *transaction) state() State { return w.entity.Machine.states[w.in.State] }

func (w *transaction) role() Role { return w.state().Role(w.in.Active != nil) }

// execute executes a transfer, to its target or, if ok is false, to its error state. It reports whether the service
// moved. If the operation lacks the set that it needs, nothing changes and execute returns the reason (lsm.md 6).
// triggered says that the step Triggered is in the log already.
func (w *transaction) execute(t Transfer, ok, triggered bool) (bool, *Error) {
	target, op, preserves := t.end(ok)
	kind := eventTypes[t.Trigger]
	event := func(step Step, severity Severity, message string) {
		w.log(Event{Type: kind, Step: step, Error: !ok || step == Aborted, Source: t.Source, Destination: target,
			Severity: severity, Message: message})
	}
	if target == t.Source && op == NoOperation && !w.changed {
		event(Ignored, SeverityDebug, fmt.Sprintf("stays in %s", target))
		return false, nil
	}
	how := fmt.Sprintf("from %s to %s by %s", t.Source, target, t.Trigger)
	if !triggered {
		event(Triggered, SeverityInfo, how+w.reason())
	}
	sets, missing := w.in.Apply(op)
	if missing != None {
		message := fmt.Sprintf("%s: the operation %q needs a %s set, and there is none", how, op, missing)
		event(Aborted, SeverityError, message)
		err := refuse(Precondition, w.in.ID, "%s", message)
		err.Path = string(missing)
		return false, err
	}
	severity := SeverityInfo
	if !ok {
		severity = SeverityWarning
	}
	w.in.Cause = kind
	w.move(move{w.role(), target, sets, preserves}, func(step Step) { event(step, severity, how) })
	return true, nil
}

func (w *transaction) reason() string {
	if w.message == "" {
		return ""
	}
	return ": " + w.message
}

// move is a change of state with its consequences.
type move struct {
	before    Role // of the service before the move
	state     string
	sets      Sets
	preserves bool
}

// move changes the state of the service. event logs a step.
func (w *transaction) move(m move, event func(Step)) {
	target := w.entity.Machine.states[m.state]
	after := target.Role(m.sets.Active != nil)
	if (m.before.Export || after.Export) && !m.preserves {
		event(Compiling)
	}
	event(Executed)
	w.in.State, w.in.Sets = m.state, m.sets
	w.in.Version++
	w.in.Preserved = m.preserves
	if !m.preserves {
		w.in.DesiredVersion++
		w.in.Last = ""
	}
	w.in.Deleted = target.Deleted
	w.in.Pending = nil
	w.in.Updated = w.at
	w.changed = false
	w.result.Trace = append(w.result.Trace, ExecutedTransfer{w.in.ID, w.in.Version, w.in.State, w.in})
}

// validate requests the validation that a transfer needs first.
func (w *transaction) validate(t Transfer) {
	for _, step := range []Step{Triggered, Validating} {
		w.log(Event{Type: eventTypes[t.Trigger], Step: step, Source: t.Source, Destination: t.Target,
			Message: fmt.Sprintf("from %s to %s by %s%s", t.Source, t.Target, t.Trigger, w.reason())})
	}
	w.in.Pending = &Pending{t.Trigger, t.Target, t.Error, w.in.Version}
}

// followAutomatic follows automatic transfers whose gate is open. After a transfer that preserved the desired state
// nothing is deployed, so it also follows the transfer of the last deployment result, if there is one (lsm.md 6, 10).
func (w *transaction) followAutomatic(preserved bool) {
	been := []string{w.in.State}
	for !w.in.Deleted {
		if preserved && w.in.Last != "" && w.role().Export {
			if t, ok := w.entity.Machine.Transfer(w.in.State, ResourceBased); ok {
				// A known result leads to each state once. Otherwise two states could alternate for ever.
				target, _, _ := t.end(w.in.Last == Succeeded)
				if target == t.Source || !slices.Contains(been, target) {
					moved, err := w.execute(t, w.in.Last == Succeeded, false)
					if err != nil {
						w.result.Stopped = err
						return
					}
					if moved {
						been = append(been, w.in.State)
						preserved = w.in.Preserved
						continue
					}
				}
			}
		}
		t, ok := w.entity.Machine.Transfer(w.in.State, Auto)
		if !ok || !w.open(t.Config) {
			return
		}
		if t.Validate {
			if w.in.Pending == nil {
				w.validate(t)
			}
			return
		}
		moved, err := w.execute(t, true, false)
		if err != nil {
			w.result.Stopped = err
		}
		if !moved {
			return
		}
		preserved = w.in.Preserved
	}
}

// open reports whether a gate is open. The service decides, else its entity; by default gates are open (lsm.md 18, 6).
func (w *transaction) open(gate string) bool {
	if gate == "" {
		return true
	}
	if open, ok := w.in.Config[gate]; ok {
		return open
	}
	if open, ok := w.entity.Config[gate]; ok {
		return open
	}
	return true
}
