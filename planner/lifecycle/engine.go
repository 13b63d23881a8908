package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// work is one call on one service: what it does is written when it succeeds, and not at all otherwise.
type transaction struct {
	inventory *Inventory
	entity    *Entity
	in        Instance // becomes the service
	changed   bool     // attributes were written before the transfer, so that it is never without effect
	at        time.Time
	message   string
	result    Result
}

func (v *Inventory) begin(in *Instance, at time.Time, message string) *transaction {
	return &transaction{inventory: v, entity: v.entityOf(in), in: *in, at: at, message: message}
}

// commit writes what the call did.
func (w *transaction) commit() (Result, error) {
	in := w.in
	w.inventory.store(&in)
	return w.result, nil
}

// settled commits after the service went on by itself as far as it can.
func (w *transaction) settleAndCommit(preserved bool) (Result, error) {
	w.followAutomatic(preserved)
	return w.commit()
}

// failed returns a refusal: only the events stay, as the log of a transfer outlives the transfer (lsm.md 7).
func (w *transaction) failed(err *Error) (Result, error) { return Result{Events: w.result.Events}, err }

// log adds an event about the service as it is before what the event tells.
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

// execute carries a transfer out, to its target or its error state. It reports whether the service moved; when the
// operation lacks what it needs, nothing is changed and the reason is returned (lsm.md 6). triggered is set when that
// has been logged before.
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

// move is a change of state with all that comes with it.
type move struct {
	before    Role // of the service until then
	state     string
	sets      Sets
	preserves bool
}

// move brings the service to another state. event logs a step.
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

// validate asks for the validation that a transfer waits for.
func (w *transaction) validate(t Transfer) {
	for _, step := range []Step{Triggered, Validating} {
		w.log(Event{Type: eventTypes[t.Trigger], Step: step, Source: t.Source, Destination: t.Target,
			Message: fmt.Sprintf("from %s to %s by %s%s", t.Source, t.Target, t.Trigger, w.reason())})
	}
	w.in.Pending = &Pending{t.Trigger, t.Target, t.Error, w.in.Version}
}

// settle lets the service go on by itself: automatic transfers whose gate is open, and after a transfer that preserved
// the desired state, for which nothing will be deployed, the one that follows from the deployment result that is known
// (lsm.md 6, 10).
func (w *transaction) followAutomatic(preserved bool) {
	been := []string{w.in.State}
	for !w.in.Deleted {
		if preserved && w.in.Last != "" && w.role().Export {
			if t, ok := w.entity.Machine.Transfer(w.in.State, ResourceBased); ok {
				// States that a known result leads between would never be left: it leads to each once.
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

// open reports whether a gate is open: as the service says, else as the entity says, else it is (lsm.md 18, 6).
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
