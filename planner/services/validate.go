package services

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// maxTransfers bounds the automatic transfers of one plan. Valid lifecycles have no automatic cycles and stay far
// below.
const maxTransfers = 1000

// validatePending executes the transfers that wait for a validation. It takes candidates as valid: the caller plans the
// resulting site, which validates all candidates together and refuses the whole plan on an error (design.md 8).
// References that protect a service from deletion and exhausted pools are errors here.
func (t *Transition) validatePending() {
	if len(t.errs.Errors()) > 0 {
		return
	}
	usage := t.poolUsage()
	for range maxTransfers {
		// Deletions come last: a service may be about to drop its reference to a deleted one.
		var changes, deletions []lifecycle.Instance
		for _, in := range t.live() {
			switch {
			case in.Pending == nil:
			case t.engine.Role(in.ID).Self == lifecycle.None:
				deletions = append(deletions, in)
			default:
				changes = append(changes, in)
			}
		}
		if len(changes) == 0 {
			changes = deletions
		}
		if len(changes) == 0 {
			return
		}
		for _, in := range changes {
			if !t.validate(usage, in) {
				return
			}
		}
	}
	t.addError("", "", invalid.BadStructure,
		fmt.Sprintf("services do not come to rest after %d transfers each; this is a defect of their lifecycles",
			maxTransfers))
}

// poolUsage returns the values of pools that are in use, also by candidates: a candidate may have values from an update
// that was rolled back.
func (t *Transition) poolUsage() *lifecycle.PoolUsage {
	var all []lifecycle.PoolUser
	for _, in := range t.live() {
		all = append(all, lifecycle.PoolUser{Name: in.ID, Entity: t.definition(in.ID).entity.Entity,
			Sets: []map[string]any{in.Candidate, in.Active, in.Rollback}})
	}
	return lifecycle.NewPoolUsage(all)
}

// validate executes the transfer of a service that waits for its validation. It returns false after it has added a
// error.
func (t *Transition) validate(usage *lifecycle.PoolUsage, in lifecycle.Instance) bool {
	result := lifecycle.Validation{OK: true}
	switch t.engine.Role(in.ID).Self {
	case lifecycle.None:
		if !t.isUnreferenced(in.ID) {
			return false
		}
	case lifecycle.Candidate:
		candidate, faults := usage.Allocate(in.ID, t.definition(in.ID).entity.Entity, in.Active, in.Candidate)
		if len(faults) > 0 {
			t.errs = append(t.errs, invalid.Errors(faults).Of("service", in.ID, "attributes.")...)
			return false
		}
		if resource.Canonical(candidate) != resource.Canonical(in.Candidate) {
			result.Candidate = candidate
		}
	}
	done, err := t.engine.Validated(lifecycle.Call{ID: in.ID, At: t.at}, result)
	if err == nil {
		t.recordResult(in.ID, in, done)
		err = done.Stopped
	}
	if err != nil {
		t.addRefusal(in.ID, err)
		return false
	}
	return true
}

// isUnreferenced reports whether no remaining service refers to a service that is to be deleted. It adds an error for
// each that does (lsm.md 14).
func (t *Transition) isUnreferenced(id string) bool {
	references, err := t.engine.Dangling(id)
	if err != nil {
		t.addRefusal(id, err)
		return false
	}
	free := true
	for _, r := range references {
		if t.engine.Role(r.ID).Purge || !t.Wanted(r.ID) {
			continue // it is deleted too
		}
		free = false
		t.addReferenceError(r, id)
	}
	return free
}

// addReferenceError adds the error that a service refers to one that is to be deleted.
func (t *Transition) addReferenceError(by lifecycle.Reference, id string) {
	t.addError(by.ID, "attributes."+by.Path, invalid.UnknownReference, fmt.Sprintf(
		"refers to the service %q, which is to be deleted; keep that service, or change or delete this one first", id))
}

// completeChanges sets the target state and version of each change.
func (t *Transition) completeChanges() {
	for i := range t.changes {
		c := &t.changes[i]
		if in, ok := t.engine.Instance(c.Service); ok {
			c.To, c.Version = in.State, in.Version
		}
	}
}

// HasChanges reports whether services change even if there is nothing to deploy.
func (t *Transition) HasChanges() bool { return len(t.Changes()) > 0 }

// Changing returns the services that change even if there is nothing to deploy, and those that wait between two states.
func (t *Transition) Changing() map[string]bool {
	moving := make(map[string]bool)
	for _, c := range t.moving() {
		moving[c.Service] = true
	}
	return moving
}

// movesOn returns the state to which a successful deployment moves a service, and whether it moves it at all.
func (t *Transition) movesOn(in lifecycle.Instance) (to string, moves bool) {
	onward, ok := t.definition(in.ID).entity.Machine.Transfer(in.State, lifecycle.ResourceBased)
	return onward.Target, ok && onward.Target != in.State && t.engine.Role(in.ID).Export
}
