package lifecycle

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Outcome is the result of a deployment of a service's tasks.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "success"
	Failed    Outcome = "failed"
	Waiting   Outcome = "waiting" // some task is not deployed and has not failed: it is tried again
)

// Validation is the result of a validation.
type Validation struct {
	ForVersion int // version of the service that was validated; 0: the present one
	OK         bool
	// Candidate is the complete candidate with newly allocated values (modifier r), as allocation.Usage returns it; nil
	// if none was allocated. It is kept also if the validation failed (lsm.md 12).
	Candidate map[string]any
}

// Validated takes the result of a validation and executes the transfer that waited for it. A result for another
// version, or for a service that waits for none, is out of date: Validated logs it and returns no error. Call.Version
// is ignored.
func (v *Inventory) Validated(c Call, result Validation) (Result, error) {
	in, ok := v.instances[c.ID]
	if !ok {
		return Result{}, refuse(UnknownInstance, c.ID, "there is no such service")
	}
	w := v.begin(in, c.At, c.Message)
	if in.Pending == nil || result.ForVersion != 0 && result.ForVersion != in.Pending.Version {
		kind := AutoTransition
		if in.Pending != nil {
			kind = eventTypes[in.Pending.Trigger]
		}
		w.log(Event{Type: kind, Step: Ignored, Source: in.State, Severity: SeverityDebug,
			Message: "the validation is out of date"})
		return w.settleAndCommit(false)
	}
	t, ok := w.pendingTransfer()
	if !ok {
		return Result{}, refuse(TransferNotAllowed, c.ID,
			"waits for a transfer from %s to %s that its lifecycle does not have", in.State, in.Pending.Target)
	}
	if err := w.allocate(result.Candidate); err != nil {
		return Result{}, err
	}
	w.in.Pending = nil
	moved, err := w.execute(t, result.OK, true)
	if err != nil {
		return w.failed(err)
	}
	return w.settleAndCommit(moved && w.in.Preserved)
}

// pendingTransfer returns the transfer that waits for a validation.
func (w *transaction) pendingTransfer() (Transfer, bool) {
	if w.in.Pending.Trigger == APISetState {
		return w.entity.Machine.SetState(w.in.State, w.in.Pending.Target)
	}
	return w.entity.Machine.Transfer(w.in.State, Auto)
}

// allocate replaces the candidate by one with allocated values.
func (w *transaction) allocate(next map[string]any) *Error {
	if next == nil {
		return nil
	}
	base := w.in.Base()
	complete, errs := w.entity.Check(next)
	if len(errs) > 0 {
		return refuseAttributes(w.in.ID, errs)
	}
	before, _ := w.entity.Check(base)
	// Apart from allocated values, both must be equal.
	if theirs := RestoreAllocated(w.entity.Entity, before,
		complete); catalog.Canonical(theirs) != catalog.Canonical(
		before) {
		return refuse(BadCall, w.in.ID,
			"an allocation sets attributes with the modifier r only; others differ from the candidate")
	}
	if catalog.Canonical(complete) == catalog.Canonical(before) {
		return nil
	}
	if len(w.in.Candidate) == 0 {
		w.in.Definitions.Candidate = w.in.Definitions.Active
	}
	w.in.Candidate = complete
	w.log(Event{Type: AllocationUpdate, Step: Executed, Message: "allocated"})
	return nil
}

// Deployed takes the outcome of a deployment for a desired version; 0 means the present one. An outcome for another
// version, or for a service in a state that exports nothing, is out of date: Deployed logs it and returns no error
// (lsm.md 18, 8 and 9). Call.Version is ignored.
func (v *Inventory) Deployed(c Call, outcome Outcome, desiredVersion int) (Result, error) {
	in, ok := v.instances[c.ID]
	if !ok {
		return Result{}, refuse(UnknownInstance, c.ID, "there is no such service")
	}
	if !slices.Contains([]Outcome{Succeeded, Failed, Waiting}, outcome) {
		return Result{}, refuse(BadCall, c.ID, "there is no outcome %q%s", outcome,
			hint(string(outcome), []Outcome{Succeeded, Failed, Waiting}))
	}
	w := v.begin(in, c.At, c.Message)
	if in.Deleted || !w.role().Export || desiredVersion != 0 && desiredVersion != in.DesiredVersion {
		w.log(Event{Type: ResourceEvent, Step: Ignored, Source: in.State, Severity: SeverityDebug,
			Message: "the result is not about the desired state of the service"})
		return w.settleAndCommit(false)
	}
	if outcome == Waiting {
		return w.settleAndCommit(false)
	}
	w.in.Last = outcome
	t, ok := w.entity.Machine.Transfer(in.State, ResourceBased)
	if !ok {
		return w.settleAndCommit(false)
	}
	moved, err := w.execute(t, outcome == Succeeded, false)
	if err != nil {
		return w.failed(err)
	}
	return w.settleAndCommit(moved && w.in.Preserved)
}
