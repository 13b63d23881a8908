package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// transaction is one call on one service. Its changes are written together when it succeeds, otherwise not at all.
type transaction struct {
	service
	inventory *Inventory
	changed   bool // attributes changed before the transfer, so the transfer has an effect
	at        time.Time
	message   string
	result    Result
}

func (v *Inventory) begin(s *service, at time.Time, message string) *transaction {
	return &transaction{service: *s, inventory: v, at: at, message: message}
}

// commit writes the changes.
func (w *transaction) commit() (Result, error) {
	s := w.service
	w.inventory.store(&s)
	return w.result, nil
}

// settle follows automatic transfers as far as possible, then commits. preserved says that the call executed a transfer
// that preserved the desired state.
func (w *transaction) settle(preserved bool) (Result, error) {
	w.followAutomatic(preserved)
	return w.commit()
}

// run executes a transfer, follows automatic ones and commits. If the transfer is aborted, only the events remain,
// because the log of a transfer outlives it (lsm.md 7).
func (w *transaction) run(t Transfer, ok, triggered bool) (Result, error) {
	moved, err := w.execute(t, ok, triggered)
	if err != nil {
		return Result{Events: w.result.Events}, err
	}
	return w.settle(moved && w.Preserved)
}

// log adds an event. Its versions are those of the service before the transfer.
func (w *transaction) log(e Event) {
	e.Service, e.At = w.ID, w.at
	e.Version, e.DesiredVersion = w.Version, w.DesiredVersion
	e.Correlation = Correlation(e.Service, e.Version)
	if e.Severity == 0 {
		e.Severity = SeverityInfo
	}
	w.result.Events = append(w.result.Events, e)
}

// execute executes a transfer, to its target or, if ok is false, to its error state. It reports whether the service
// moved. If the operation lacks the set that it needs, nothing changes and execute returns the reason (lsm.md 6).
// triggered says that the step Triggered is in the log already.
func (w *transaction) execute(t Transfer, ok, triggered bool) (bool, error) {
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
	how := fmt.Sprintf("from %s to %s by %s%s", t.Source, target, t.Trigger, w.reason())
	severity := SeverityInfo
	if !ok {
		severity = SeverityWarning
	}
	if !triggered {
		event(Triggered, severity, how)
	}
	sets, missing := w.Apply(op)
	if missing != None {
		message := fmt.Sprintf("%s: the operation %q needs a %s set, and there is none", how, op, missing)
		event(Aborted, SeverityError, message)
		errs := refuse(Precondition, w.ID, "%s", message)
		errs[0].Attribute = string(missing)
		return false, errs
	}
	w.Cause = kind
	w.move(target, sets, preserves, func(step Step) { event(step, severity, how) })
	return true, nil
}

func (w *transaction) reason() string {
	if w.message == "" {
		return ""
	}
	return ": " + w.message
}

// move changes the state of the service, with its consequences. event logs a step.
func (w *transaction) move(state string, sets Sets, preserves bool, event func(Step)) {
	target := w.entity.Machine.states[state]
	if (w.role().Export || target.Role(sets.Active != nil).Export) && !preserves {
		event(Compiling)
	}
	event(Executed)
	w.State, w.Sets = state, sets
	w.Version++
	w.Preserved = preserves
	if !preserves {
		w.DesiredVersion++
		w.Last = ""
	}
	w.Deleted = target.Deleted
	w.Pending = nil
	w.Updated = w.at
	w.changed = false
	w.result.Trace = append(w.result.Trace, w.Instance)
}

// validate requests the validation that a transfer needs first.
func (w *transaction) validate(t Transfer) {
	for _, step := range []Step{Triggered, Validating} {
		w.log(Event{Type: eventTypes[t.Trigger], Step: step, Source: t.Source, Destination: t.Target,
			Message: fmt.Sprintf("from %s to %s by %s%s", t.Source, t.Target, t.Trigger, w.reason())})
	}
	w.Pending = &Pending{t.Trigger, t.Target, t.Error, w.Version, w.message}
}

// followAutomatic follows automatic transfers whose gate is open. After a transfer that preserved the desired state
// nothing is deployed, so it also follows the transfer of the last deployment result, if there is one (lsm.md 6, 10).
func (w *transaction) followAutomatic(preserved bool) {
	been := []string{w.State}
	for !w.Deleted {
		if preserved && w.Last != "" && w.role().Export {
			if t, ok := w.entity.Machine.Transfer(w.State, ResourceBased); ok {
				// A known result leads to each state once. Otherwise two states could alternate for ever.
				target, _, _ := t.end(w.Last == Succeeded)
				if target == t.Source || !slices.Contains(been, target) {
					moved, err := w.execute(t, w.Last == Succeeded, false)
					if err != nil {
						w.result.Stopped = err
						return
					}
					if moved {
						been = append(been, w.State)
						preserved = w.Preserved
						continue
					}
				}
			}
		}
		t, ok := w.entity.Machine.Transfer(w.State, Auto)
		if !ok || !w.open(t.Config) {
			return
		}
		if t.Validate {
			if w.Pending == nil {
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
		preserved = w.Preserved
	}
}

// open reports whether a gate is open; by default gates are (lsm.md 18, 6).
func (w *transaction) open(gate string) bool {
	open, set := w.Config[gate]
	return open || !set
}
