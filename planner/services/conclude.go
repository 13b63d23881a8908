package services

import (
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Outcome is how the tasks of a service went.
type Outcome struct {
	lifecycle.Outcome
	Message string // why it failed; without values
}

// RolledBack is a service whose update failed and was taken back.
type RolledBack struct {
	Service          string
	Failed, Previous int    // versions: the one that failed, and the one whose attributes are deployed again
	Message          string // why it failed
}

// Conclude makes the transfers that follow from a deployment. outcomes are those of services whose tasks were deployed;
// the others had nothing to do, and succeeded. It returns the services that need another pass: those whose deployment
// is another one now, and those that succeeded and are in a state that a deployment leads out of. at is when that was.
func (t *Turn) Conclude(outcomes map[string]Outcome, at time.Time) map[string]bool {
	t.at = at
	again := make(map[string]bool)
	for _, before := range t.live() {
		state, _ := t.bases[t.records[before.ID].Under].machine.State(before.State)
		role := state.Role(before.Active != nil)
		if !role.Export {
			continue
		}
		outcome, ran := outcomes[before.ID]
		if !ran {
			outcome.Outcome = lifecycle.Succeeded
		}
		t.deployed(before, outcome)
		after, ok := t.inventory.Instance(before.ID)
		if !ok || after.Version == before.Version {
			continue
		}
		if after.Deleted {
			if !role.Purge { // it was there until now
				again[after.ID] = true
			}
			continue
		}
		now, _ := t.bases[t.records[after.ID].Under].machine.State(after.State)
		next := now.Role(after.Active != nil)
		if !same(after.Active, before.Active) || next.Export != role.Export || next.Purge != role.Purge {
			again[after.ID] = true
			continue
		}
		onward, ok := t.bases[t.records[after.ID].Under].machine.Transfer(after.State, lifecycle.ResourceBased)
		if ok && outcome.Outcome == lifecycle.Succeeded && onward.Target != after.State && next.Export {
			again[after.ID] = true
		}
	}
	t.settle()
	return again
}

// deployed gives the engine the outcome of a service, and goes on as the configuration asks.
func (t *Turn) deployed(before lifecycle.Instance, outcome Outcome) {
	name := before.ID
	failedIn := t.records[name].ActiveVersion
	previous := t.records[name].RollbackVersion
	result, err := t.inventory.Deployed(lifecycle.Call{ID: name, At: t.at, Message: outcome.Message}, outcome.Outcome,
		0)
	if err != nil {
		t.refused(name, err)
		return
	}
	t.did(name, before, result)
	wanted, isWanted := t.wanted[name]
	after, _ := t.inventory.Instance(name)
	machine := t.bases[t.records[name].Under].machine
	if isWanted && wanted.RollbackOnFailure && outcome.Outcome == lifecycle.Failed && after.Rollback != nil &&
		same(after.Active, before.Active) {
		for _, target := range machine.Targets(after.State) {
			if way, _ := machine.SetState(after.State, target); way.Operation != lifecycle.Restore {
				continue
			}
			asked, err := t.inventory.SetState(lifecycle.Call{ID: name, Version: after.Version, At: t.at,
				Message: "rollback_on_failure asks for it"}, target)
			if err != nil {
				t.refused(name, err)
				return
			}
			t.did(name, after, asked)
			break
		}
	}
	if isWanted {
		t.request(name)
	}
	now, _ := t.inventory.Instance(name)
	if outcome.Outcome == lifecycle.Failed && before.Rollback != nil && same(now.Active, before.Rollback) {
		t.lost = append(t.lost, RolledBack{name, failedIn, previous, outcome.Message})
		if _, both := t.bases[now.Basis.Active].machine.State(now.State); both {
			r := t.records[name]
			r.Under = now.Basis.Active // the entity that the attributes were made under counts again
			t.records[name] = r
		}
	}
}

// RolledBack returns the services whose update was taken back, in the order in which that happened.
func (t *Turn) RolledBack() []RolledBack { return slices.Clone(t.lost) }

// Learn keeps what callbacks returned for attributes with the modifier r: it becomes part of the active set. Values are
// by service and attribute; those of sensitive attributes must be left out, and so must those that their attributes
// cannot take.
func (t *Turn) Learn(values map[string]map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		in, ok := t.inventory.Instance(name)
		if !ok || in.Deleted || in.Active == nil {
			continue
		}
		result, err := t.inventory.Learned(lifecycle.Call{ID: name, At: t.at}, values[name])
		if err != nil {
			t.refused(name, err)
			continue
		}
		t.did(name, in, result)
		if after, _ := t.inventory.Instance(name); !same(after.Active, in.Active) {
			t.versions = append(t.versions, t.version(t.records[name], after))
		}
	}
}

// Problems returns what went wrong with services since the turn began.
func (t *Turn) Problems() site.Problems { return t.problems }
