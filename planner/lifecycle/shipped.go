package lifecycle

import (
	"slices"
	"strings"
)

// Default is the lifecycle of an entity that names none; see catalog.DefaultLifecycle. It is the lifecycle simple reduced: an update is possible after a
// failure, a deletion from every state that a service rests in, and a rollback leaves nothing behind.
const Default = "slipway_default"

// AutoRollback is the gate of [Default] that rolls a failed update back without being asked. A gate that nobody set is open (lsm.md 18, 6), so whoever
// makes an entity closes it, unless a rollback on failure is wanted: see [Gates].
const AutoRollback = "auto_rollback"

// Gates returns how the gates of a shipped lifecycle stand where an entity says nothing. A gate that is not in it is open.
func Gates(lifecycle string) map[string]bool {
	if lifecycle == Default {
		return map[string]bool{AutoRollback: false}
	}
	return nil
}

// Shipped returns the lifecycles that come with slipway, by name.
func Shipped() []Lifecycle {
	out := []Lifecycle{
		simple(), withDeallocation(simple()), WithDeleteValidation(simple()), simpleWithSetState(),
		service(), WithDeleteValidation(service()), service2020(),
		cloudconnect(), basicOptimized(), slipwayDefault(),
	}
	slices.SortFunc(out, func(a, b Lifecycle) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Find returns a shipped lifecycle by its name.
func Find(name string) (Lifecycle, bool) {
	for _, l := range Shipped() {
		if l.Name == name {
			return l, true
		}
	}
	return Lifecycle{}, false
}

// The functions below write states and transfers of shipped lifecycles short.

// hidden is a state that exports nothing and that only its own validation sees, with the candidate.
func hidden(name string) State { return State{Name: name, Label: Info, ValidateSelf: Candidate} }

// live is a state that exports and that every validation sees with the active set.
func live(name string) State {
	return State{Name: name, Label: Info, Export: true, ValidateSelf: Active, ValidateOthers: Active}
}

// changing is a state that exports, while its own validation sees the candidate.
func changing(name string) State {
	return State{Name: name, Label: Info, Export: true, ValidateSelf: Candidate, ValidateOthers: Active}
}

// gone is a deleted state.
func gone(name string) State { return State{Name: name, Label: Info, Deleted: true} }

// old is a state of a lifecycle in the old form.
func old(name string, model ModelState) State {
	return State{Name: name, Label: Info, ModelState: model}
}

func (s State) labelled(l Label) State { s.Label = l; return s }

func (s State) purging() State { s.Purge = true; return s }

func (s State) seenAs(set Set) State { s.ValidateOthers = set; return s }

// comparing sets what the state is compared with, while validated and when deployed.
func (s State) comparing(validate, export Set) State {
	s.PreviousOnValidate, s.PreviousOnExport = validate, export
	return s
}

func auto(from, to string) Transfer { return Transfer{Source: from, Target: to, Trigger: Auto} }

func asked(from, to string) Transfer { return Transfer{Source: from, Target: to, Trigger: APISetState} }

func updated(from, to string) Transfer { return Transfer{Source: from, Target: to, Trigger: OnUpdate} }

func deletes(from, to string) Transfer { return Transfer{Source: from, Target: to, Trigger: OnDelete} }

func deployed(from, to, failure string) Transfer {
	return Transfer{Source: from, Target: to, Error: failure, Trigger: ResourceBased}
}

// validated makes the transfer wait for a validation.
func (t Transfer) validated(failure string) Transfer { t.Validate, t.Error = true, failure; return t }

func (t Transfer) does(op Operation) Transfer { t.Operation = op; return t }

// failing sets the operation on the way to the error state.
func (t Transfer) failing(op Operation) Transfer { t.ErrorOperation = op; return t }

func (t Transfer) gated(name string) Transfer { t.Config = name; return t }

// preserving keeps what is to be deployed as it is on the way to the error state, and on the way to the target when that is so too.
func (t Transfer) preserving(target bool) Transfer {
	t.Preserves, t.ErrorPreserves = target, true
	return t
}
