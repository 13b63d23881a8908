package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Outcome is the result of a deployment of a service's tasks.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "success"
	Failed    Outcome = "failed"
	Waiting   Outcome = "waiting" // some task is not deployed and has not failed: it is tried again
)

// Progress counts the tasks of a service. Deployed, Failed and Waiting sum to Total. Tasks that were applied before
// count as deployed; waiting tasks were skipped, or their node was unreachable (lsm.md 9).
type Progress struct {
	Total    int `json:"total"`
	Deployed int `json:"deployed"`
	Failed   int `json:"failed"`
	Waiting  int `json:"waiting"`
}

// Outcome combines the tasks: any failed task makes it Failed, else any waiting task makes it Waiting. Without tasks it
// is Succeeded.
func (p Progress) Outcome() Outcome {
	switch {
	case p.Failed > 0:
		return Failed
	case p.Waiting > 0:
		return Waiting
	}
	return Succeeded
}

// Validation is the result of a validation.
type Validation struct {
	ForVersion int // version of the service that was validated; 0: the present one
	OK         bool
	// Candidate is the complete candidate with newly allocated values (modifier r), as [PoolUsage.Allocate] returns it;
	// nil if none was allocated. It is kept also if the validation failed (lsm.md 12).
	Candidate map[string]any
}

// Validated takes the result of a validation and executes the transfer that waited for it. A result for another
// version, or for a service that waits for none, is out of date: Validated logs it and returns no error. Call.Version
// is ignored.
func (v *Inventory) Validated(c Call, result Validation) (Result, error) {
	in, ok := v.services[c.ID]
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
		return w.settle(false)
	}
	t, ok := w.pendingTransfer()
	if !ok {
		return Result{}, refuse(TransferNotAllowed, c.ID,
			"waits for a transfer from %s to %s that its lifecycle does not have", in.State, in.Pending.Target)
	}
	if err := w.allocate(result.Candidate); err != nil {
		return Result{}, err
	}
	w.message = cmp.Or(w.message, w.Pending.Reason)
	w.Pending = nil
	return w.run(t, result.OK, true)
}

// pendingTransfer returns the transfer that waits for a validation.
func (w *transaction) pendingTransfer() (Transfer, bool) {
	if w.Pending.Trigger == APISetState {
		return w.entity.Machine.SetState(w.State, w.Pending.Target)
	}
	return w.entity.Machine.Transfer(w.State, Auto)
}

// allocate replaces the candidate by one with allocated values.
func (w *transaction) allocate(next map[string]any) error {
	if next == nil {
		return nil
	}
	base := w.Base()
	complete, errs := w.entity.Check(next)
	if len(errs) > 0 {
		return refuseAttributes(w.ID, errs)
	}
	before, _ := w.entity.Check(base)
	// Apart from allocated values, both must be equal.
	if theirs := RestoreAllocated(w.entity.Entity, before, complete); resource.Canonical(theirs) != resource.Canonical(
		before) {
		return refuse(BadCall, w.ID,
			"an allocation sets attributes with the modifier r only; others differ from the candidate")
	}
	if resource.Canonical(complete) == resource.Canonical(before) {
		return nil
	}
	if len(w.Candidate) == 0 {
		w.Definitions.Candidate = w.Definitions.Active
	}
	w.Candidate = complete
	w.log(Event{Type: AllocationUpdate, Step: Executed, Message: "allocated"})
	return nil
}

// Deployed takes the outcome of a deployment for a desired version; 0 means the present one. An outcome for another
// version, or for a service in a state that exports nothing, is out of date: Deployed logs it and returns no error
// (lsm.md 18, 8 and 9). Call.Version is ignored.
func (v *Inventory) Deployed(c Call, outcome Outcome, desiredVersion int) (Result, error) {
	in, ok := v.services[c.ID]
	if !ok {
		return Result{}, refuse(UnknownInstance, c.ID, "there is no such service")
	}
	if !slices.Contains([]Outcome{Succeeded, Failed, Waiting}, outcome) {
		return Result{}, refuse(BadCall, c.ID, "there is no outcome %q%s", outcome,
			resource.Choices(string(outcome), []Outcome{Succeeded, Failed, Waiting}))
	}
	w := v.begin(in, c.At, c.Message)
	if in.Deleted || !w.role().Export || desiredVersion != 0 && desiredVersion != in.DesiredVersion {
		w.log(Event{Type: ResourceEvent, Step: Ignored, Source: in.State, Severity: SeverityDebug,
			Message: "the result is not about the desired state of the service"})
		return w.settle(false)
	}
	if outcome == Waiting {
		return w.settle(false)
	}
	w.Last = outcome
	t, ok := w.entity.Machine.Transfer(in.State, ResourceBased)
	if !ok {
		return w.settle(false)
	}
	return w.run(t, outcome == Succeeded, false)
}

// StoreReturned writes values that became known during a deployment into the active set: values of top-level attributes
// with the modifier r, and no others (lsm.md 12, `update_read_only_attribute`). It is not a transfer, the version
// remains, and Call.Version is ignored.
func (v *Inventory) StoreReturned(c Call, values map[string]any) (Result, error) {
	in, ok := v.services[c.ID]
	switch {
	case !ok:
		return Result{}, refuse(UnknownInstance, c.ID, "there is no such service")
	case in.Deleted || in.Active == nil:
		return Result{}, refuse(NothingToExport, c.ID, "has no active attributes (state %s)", in.State)
	}
	w := v.begin(in, c.At, c.Message)
	next := maps.Clone(in.Active)
	var learned []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a, ok := w.entity.Attribute(name)
		if !ok || a.Modifier != catalog.Allocated {
			return Result{}, refuse(catalog.ReadOnly, c.ID, "the attribute %s is not one that slipway sets", name)
		}
		if resource.Canonical(next[name]) != resource.Canonical(values[name]) {
			next[name] = values[name]
			learned = append(learned, name)
		}
	}
	if len(learned) == 0 {
		return w.result, nil
	}
	complete, err := v.complete(w.entity.Entity, c.ID, next)
	if err != nil {
		return Result{}, err
	}
	w.Active = complete
	w.log(Event{Type: AllocationUpdate, Step: Executed, Message: "learned " + strings.Join(learned, ", ") +
		w.reason()})
	return w.commit()
}
