package services

import (
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// Outcome is the result of the tasks of a service.
type Outcome struct {
	lifecycle.Outcome
	Message string // why it failed; contains no values
}

// RolledBack is a service whose update failed and was rolled back.
type RolledBack struct {
	Service          string
	Failed, Previous int    // the version that failed, and the one whose attributes are deployed again
	Message          string // why it failed
}

// Conclude executes the transfers that follow from a deployment. outcomes has the services whose tasks were executed;
// all others had no tasks and count as successful. at is the time of the new versions and events. Conclude returns the
// services that need another pass: those whose deployment differs now, and those that succeeded and are in a state from
// which a deployment leads on.
func (t *Transition) Conclude(outcomes map[string]Outcome, at time.Time) map[string]bool {
	t.at = at
	again := make(map[string]bool)
	for _, before := range t.live() {
		role := t.engine.Role(before.ID)
		if !role.Export {
			continue
		}
		outcome, ran := outcomes[before.ID]
		if !ran {
			outcome.Outcome = lifecycle.Succeeded
		}
		t.deployed(before, outcome)
		after, _ := t.engine.Instance(before.ID)
		next := t.engine.Role(before.ID)
		_, moves := t.movesOn(after)
		switch {
		case after.Version == before.Version:
		case after.Deleted && role.Purge: // it is not deployed any more
		case after.Deleted, !same(after.Active, before.Active), next.Export != role.Export, next.Purge != role.Purge,
			outcome.Outcome == lifecycle.Succeeded && moves:
			again[after.ID] = true
		}
	}
	t.validatePending()
	return again
}

// deployed reports the outcome of a service to the engine and makes the requests of the configuration that follow.
func (t *Transition) deployed(before lifecycle.Instance, outcome Outcome) {
	name := before.ID
	failedIn := t.records[name].ActiveVersion
	previous := t.records[name].RollbackVersion
	result, err := t.engine.Deployed(lifecycle.Call{ID: name, At: t.at, Message: outcome.Message}, outcome.Outcome,
		0)
	if err != nil {
		t.addRefusal(name, err)
		return
	}
	t.recordResult(name, before, result)
	wanted, isWanted := t.wanted[name]
	after, _ := t.engine.Instance(name)
	machine := t.definition(name).entity.Machine
	if isWanted && wanted.RollbackOnFailure && outcome.Outcome == lifecycle.Failed && after.Rollback != nil &&
		same(after.Active, before.Active) {
		for _, target := range machine.Targets(after.State) {
			if way, _ := machine.SetState(after.State, target); way.Operation != lifecycle.Restore {
				continue
			}
			asked, err := t.engine.SetState(lifecycle.Call{ID: name, Version: after.Version, At: t.at,
				Message: "rollback_on_failure asks for it"}, target)
			if err != nil {
				t.addRefusal(name, err)
				return
			}
			t.recordResult(name, after, asked)
			break
		}
	}
	if isWanted {
		t.requestState(name)
	}
	now, _ := t.engine.Instance(name)
	if outcome.Outcome == lifecycle.Failed && before.Rollback != nil && same(now.Active, before.Rollback) {
		t.rolledBack = append(t.rolledBack, RolledBack{name, failedIn, previous, outcome.Message})
		if _, both := t.definitions[now.Definitions.Active].entity.Machine.State(now.State); both {
			r := t.records[name]
			r.Definition = now.Definitions.Active // the definition of the restored attributes applies again
			t.records[name] = r
		}
	}
}

// RolledBack returns the services whose update was rolled back, in the order of the rollbacks.
func (t *Transition) RolledBack() []RolledBack { return slices.Clone(t.rolledBack) }

// Learn stores what callbacks returned for attributes with the modifier r in the active set. Values are by service and
// attribute. The caller leaves out values of sensitive attributes and values that their attributes do not accept.
func (t *Transition) Learn(values map[string]map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		in, ok := t.engine.Instance(name)
		if !ok || in.Deleted || in.Active == nil {
			continue
		}
		result, err := t.engine.StoreReturned(lifecycle.Call{ID: name, At: t.at}, values[name])
		if err != nil {
			t.addRefusal(name, err)
			continue
		}
		t.recordResult(name, in, result)
		if after, _ := t.engine.Instance(name); !same(after.Active, in.Active) {
			t.revisions = append(t.revisions, t.revision(t.records[name], after))
		}
	}
}

// Errors returns the errors of services since the plan.
func (t *Transition) Errors() invalid.Errors { return t.errs }
