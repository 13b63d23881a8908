package lifecycle

import "slices"

// WithDeleteValidation returns a lifecycle in which a deletion that leads to purging is validated first: for every state S that a deletion leads out
// of to a state that purges, S goes to delete_validating_S, where the service is left out of its own validation. What refers to it makes that fail,
// and it is back in S (lsm.md 11, 14). Its name ends in _with_delete_validate.
func WithDeleteValidation(l Lifecycle) Lifecycle {
	out := l
	out.Name += "_with_delete_validate"
	out.States, out.Transfers = slices.Clone(l.States), slices.Clone(l.Transfers)
	byName := make(map[string]State, len(l.States))
	for _, s := range l.States {
		byName[s.Name] = s
	}
	for i, t := range l.Transfers {
		if t.Trigger != OnDelete || !byName[t.Target].Purge {
			continue
		}
		between := State{Name: "delete_validating_" + t.Source, Label: byName[t.Source].Label, Export: true, ValidateOthers: Active}
		if between.Label == Danger {
			between.Label = Warning // it is being dealt with
		}
		out.States = append(out.States, between)
		out.Transfers[i].Target = between.Name
		// Results of deployments that were on their way change nothing.
		out.Transfers = append(out.Transfers,
			deployed(between.Name, between.Name, between.Name),
			auto(between.Name, t.Target).validated(t.Source))
	}
	return out
}

// withDeallocation returns simple with a state behind deleting in which what was allocated elsewhere is given back, by a deployment, so that it is
// retried until it succeeds. A service that was rejected has it too: its validation may have allocated (lsm.md 11, 12).
func withDeallocation(l Lifecycle) Lifecycle {
	const deallocating, terminated = "deallocating", "terminated"
	out := l
	out.Name += "_with_deallocation"
	out.States = append(slices.Clone(l.States), live(deallocating).purging())
	out.Transfers = append(slices.Clone(l.Transfers), deployed(deallocating, terminated, deallocating))
	for i, t := range out.Transfers {
		if t.Target == terminated && t.Source != deallocating {
			out.Transfers[i].Target = deallocating
		}
	}
	return out
}
