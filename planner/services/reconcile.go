package services

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// loadInventory validates the definition of each wanted service and loads the records into the engine. A record whose
// service must be replaced is deleted here; startChanges creates its successor.
func (t *Transition) loadInventory(state Inventory) {
	digests := make(map[string]string, len(t.wanted)) // digest of the definition of each wanted service
	for _, name := range slices.Sorted(maps.Keys(t.wanted)) {
		if digest, ok := t.definitionOf(t.wanted[name]); ok {
			digests[name] = digest
		}
	}
	for _, name := range state.Names() {
		r := state.Records[name]
		wanted, ok := t.wanted[name]
		if !ok {
			// Only the journal knows this service. The ledgers of the nodes have what is left of it.
			if _, known := t.definitions[r.Definition]; !known {
				t.former[name] = r.Incarnation
				continue
			}
			t.load(name, r, r.Definition)
			continue
		}
		digest, ok := digests[name]
		if !ok {
			continue
		}
		if t.isEnding(r) || t.replaces(r, wanted) {
			t.forceDeletion(name, r, "another service takes its place")
			// keeps the count; startChanges creates the successor
			t.records[name] = Record{Incarnation: r.Incarnation}
			t.changes = append(t.changes, Change{Service: name, Kind: Replace, From: r.State})
			continue
		}
		if digest != r.Definition {
			r.Sets = withoutUnfitting(wanted.Entity, r.Sets)
		}
		r.Active = withSensitive(wanted, r.Active)
		t.load(name, r, digest)
	}
}

// withoutUnfitting returns the sets without allocated values (modifier r) that their changed attributes no longer
// accept. Such values are allocated, or requested from a callback, again.
func withoutUnfitting(e *catalog.Entity, sets lifecycle.Sets) lifecycle.Sets {
	definitions := sets.Definitions
	for _, which := range []lifecycle.Set{lifecycle.Candidate, lifecycle.Active} {
		set := sets.Get(which)
		for _, a := range e.Attributes {
			value, there := set[a.Name]
			if !there || a.Modifier != catalog.Allocated {
				continue
			}
			if _, faults := (catalog.Structure{Attributes: []catalog.Attribute{a}}).Check(
				map[string]any{a.Name: value}); len(faults) > 0 {
				set = maps.Clone(set)
				delete(set, a.Name)
			}
		}
		sets = sets.With(which, set)
	}
	sets.Definitions = definitions
	return sets
}

// withSensitive returns the set with the wanted values of the sensitive attributes that it lacks. A set that comes from
// the journal lacks them, because the journal stores none; they count as unchanged.
func withSensitive(wanted site.Service, set map[string]any) map[string]any {
	if set == nil {
		return nil
	}
	out := set
	for _, a := range wanted.Entity.Attributes {
		if _, there := set[a.Name]; there || !a.Sensitive || a.Modifier == catalog.Allocated {
			continue
		}
		if same(out, set) {
			out = maps.Clone(set)
		}
		if value, given := wanted.Attributes[a.Name]; given {
			out[a.Name] = value
		} else if a.HasDefault {
			out[a.Name] = a.Default
		}
	}
	return out
}

// definitionOf returns the digest of the definition of a wanted service and registers the definition. It returns false
// after it has added an error.
func (t *Transition) definitionOf(s site.Service) (string, bool) {
	definition, err := s.Entity.Definition()
	if err != nil {
		t.addError(s.Name, "entity", invalid.BadStructure, err.Error())
		return "", false
	}
	b := Definition{definition, s.Lifecycle, s.Selectors}
	digest, err := b.digest()
	if err != nil {
		t.addError(s.Name, "entity", invalid.BadStructure, err.Error())
		return "", false
	}
	if _, known := t.definitions[digest]; known {
		return digest, true
	}
	read, err := b.resolve(s.Entity)
	if err != nil {
		at := "entity"
		if s.Lifecycle != nil {
			at = "lifecycle"
		}
		t.addError(s.Name, at, invalid.BadValue, err.Error())
		return "", false
	}
	t.definitions[digest] = read
	return digest, true
}

// replaces reports whether the wanted change is possible only with a new service.
func (t *Transition) replaces(r Record, wanted site.Service) bool {
	if r.Entity != wanted.Entity.Name {
		return true
	}
	complete, faults := wanted.Entity.Check(lifecycle.CarryAllocated(wanted.Entity, r.Base(), wanted.Attributes))
	return len(faults) == 0 && len(lifecycle.ReplacementPaths(wanted.Entity, r.Base(), complete)) > 0
}

// isEnding reports whether the service is being deleted. If the configuration has it again, that is a new service.
func (t *Transition) isEnding(r Record) bool {
	b, known := t.definitions[r.Definition]
	return known && leadsToDeletion(b.entity.Machine, r.State)
}

// leadsToDeletion reports whether a service in the state ends up deleted if nothing fails.
func leadsToDeletion(machine *lifecycle.Machine, state string) bool {
	return slices.ContainsFunc(machine.Lifecycle().States, func(s lifecycle.State) bool {
		return s.Deleted && leadsTo(machine, state, s.Name)
	})
}

// startChanges starts creations and updates, then deletions. A service that refers to one not yet created is tried
// again after that one.
func (t *Transition) startChanges() {
	open := slices.Sorted(maps.Keys(t.wanted))
	for progress := true; progress && len(open) > 0; {
		progress = false
		var again []string
		for _, name := range open {
			err := t.reconcile(name)
			if isRefused(err, lifecycle.BadReference) && len(open) > 1 {
				again = append(again, name)
				continue
			}
			if isRefused(err, lifecycle.IdentityConflict) {
				t.explainIdentityConflict(t.wanted[name], err)
			}
			if err != nil {
				t.addRefusal(name, err)
			}
			progress = true
		}
		open = again
	}
	for _, name := range open {
		t.addRefusal(name, t.reconcile(name))
	}
	if len(t.errs.Errors()) > 0 {
		return
	}
	for _, in := range t.live() {
		if _, ok := t.wanted[in.ID]; !ok {
			t.startDeletion(in)
		}
	}
}

// isRefused reports whether a call was refused with the code.
func isRefused(err error, code invalid.Code) bool {
	var refusal invalid.Errors
	return errors.As(err, &refusal) && refusal[0].Code == code
}

// explainIdentityConflict adds to an identity conflict that the service which has the identity is removed by the same
// plan, if it is. Deletions come last, so the conflict remains.
func (t *Transition) explainIdentityConflict(wanted site.Service, err error) {
	holder, ok := t.engine.ByIdentity(wanted.Entity.Name, wanted.Attributes[wanted.Entity.Identity])
	var refusal invalid.Errors
	if _, stays := t.wanted[holder]; ok && !stays && errors.As(err, &refusal) {
		refusal[0].Message += fmt.Sprintf(
			"; the service %q is removed by the same plan: apply its removal first, or keep its name", holder)
	}
}

// reconcile creates or updates one service so that it matches the configuration.
func (t *Transition) reconcile(name string) error {
	wanted := t.wanted[name]
	digest, ok := t.definitionOf(wanted)
	if !ok {
		return nil // definitionOf has added an error
	}
	in, exists := t.engine.Instance(name)
	if !exists {
		return t.create(wanted, digest)
	}
	if err := t.setGates(in, wanted); err != nil {
		return err
	}
	complete, err := t.engine.Preview(name, wanted.Attributes)
	if err != nil {
		return err
	}
	is := func(values map[string]any, made string) bool {
		return values != nil && made == digest && resource.Canonical(values) == resource.Canonical(complete)
	}
	deployed := func(in lifecycle.Instance) bool { return is(in.Active, in.Definitions.Active) }
	b := t.definitions[digest]
	_, updatable := b.entity.Machine.Transfer(in.State, lifecycle.OnUpdate)
	if deployed(in) || is(in.Candidate, in.Definitions.Candidate) && !updatable {
		return nil // it is deployed, or waits for a gate or a request
	}
	from := in
	before := from.Active // after a rollback the candidate may have the failed attributes
	if before == nil {
		before = from.Candidate
	}
	changed := changedAttributes(before, complete)
	if !updatable {
		if err := t.reachTransfer(name, b.entity.Machine, lifecycle.OnUpdate, "updated", deployed); err != nil {
			return err
		}
		if in, _ = t.engine.Instance(name); deployed(in) { // the rollback gave what is wanted
			t.changes = append(t.changes, Change{Service: name, Kind: Update, From: from.State, Attributes: changed})
			return nil
		}
	}
	result, err := t.engine.Update(lifecycle.Call{ID: name, Version: in.Version, At: t.at,
		Message: "the configuration changed"}, wanted.Attributes, digest)
	if err != nil {
		return err
	}
	t.recordResult(name, in, result)
	t.changes = append(t.changes, Change{Service: name, Kind: Update, From: from.State, Attributes: changed})
	return result.Stopped
}

func (t *Transition) create(wanted site.Service, digest string) error {
	r, replaced := t.records[wanted.Name]
	if !replaced {
		r.Incarnation = t.former[wanted.Name]
	}
	call := lifecycle.Create{
		ID: wanted.Name, Entity: t.definitions[digest].entity, Attributes: wanted.Attributes,
		Definition: digest, Config: t.gatesOf(wanted, digest), At: t.at,
	}
	result, err := t.engine.Create(call)
	if err != nil {
		return err
	}
	t.records[wanted.Name] = Record{Incarnation: r.Incarnation + 1, Definition: digest}
	t.recordResult(wanted.Name, lifecycle.Instance{}, result)
	if !replaced {
		t.changes = append(t.changes, Change{Service: wanted.Name, Kind: Create})
	}
	return result.Stopped
}

// gatesOf returns the gates of a wanted service. rollback_on_failure opens the lifecycle's gate for automatic
// rollbacks.
func (t *Transition) gatesOf(wanted site.Service, digest string) map[string]bool {
	gates := maps.Clone(wanted.Gates)
	if _, written := gates[lifecycle.AutoRollback]; !written &&
		slices.Contains(t.definitions[digest].entity.Machine.Gates(), lifecycle.AutoRollback) {
		if gates == nil {
			gates = make(map[string]bool, 1)
		}
		gates[lifecycle.AutoRollback] = wanted.RollbackOnFailure
	}
	return gates
}

// setGates updates the gates of the service.
func (t *Transition) setGates(in lifecycle.Instance, wanted site.Service) error {
	gates := t.gatesOf(wanted, t.records[in.ID].Definition)
	if maps.Equal(gates, in.Config) {
		return nil
	}
	result, err := t.engine.SetConfig(lifecycle.Call{ID: in.ID, Version: in.Version, At: t.at}, gates)
	if err != nil {
		return err
	}
	t.recordResult(in.ID, in, result)
	t.addRequest(in)
	return result.Stopped
}

// reachTransfer moves the service until its state has a transfer with the trigger, or until enough returns true. A
// deployment that never ended counts as failed, and so does a rollback that follows from it, because nothing waits for
// their results any more. From a resting state, reachTransfer requests the states on the shortest path.
func (t *Transition) reachTransfer(name string, machine *lifecycle.Machine, trigger lifecycle.Trigger, what string,
	enough func(lifecycle.Instance) bool) error {
	in, _ := t.engine.Instance(name)
	for range machine.Lifecycle().States { // the path has at most that many states
		if _, ok := machine.Transfer(in.State, trigger); ok || enough(in) {
			return nil
		}
		r, ok := machine.Transfer(in.State, lifecycle.ResourceBased)
		if !ok || r.Error == in.State || r.Target == in.State { // it rests
			break
		}
		result, err := t.engine.Deployed(lifecycle.Call{ID: name, At: t.at,
			Message: "its deployment is given up: it is to be " + what}, lifecycle.Failed, 0)
		if err != nil {
			return err
		}
		t.recordResult(name, in, result)
		in, _ = t.engine.Instance(name)
	}
	way, ok := machine.PathTo(in.State, trigger)
	for _, target := range way {
		if !ok {
			break
		}
		result, err := t.engine.SetState(lifecycle.Call{ID: name, Version: in.Version, At: t.at,
			Message: "on the way to be " + what}, target)
		if err != nil {
			return err
		}
		t.recordResult(name, in, result)
		in, _ = t.engine.Instance(name)
	}
	if _, ok := machine.Transfer(in.State, trigger); !ok {
		return invalid.Errors{{Code: lifecycle.TransferNotAllowed, Message: fmt.Sprintf(
			"cannot be %s in the state %s of the lifecycle %q; apply the configuration that it was deployed with, so that its deployment ends, and %s",
			what, in.State, machine.Lifecycle().Name, requestableStates(machine, in.State))}}
	}
	return nil
}

// requestableStates says which states can be requested.
func requestableStates(machine *lifecycle.Machine, state string) string {
	targets := machine.Targets(state)
	if len(targets) == 0 {
		return "try again then"
	}
	return fmt.Sprintf("ask for another state: target_state can be %s", strings.Join(targets, ", "))
}

// startDeletion starts the deletion of a service that the configuration no longer has.
func (t *Transition) startDeletion(in lifecycle.Instance) {
	machine := t.definition(in.ID).entity.Machine
	if leadsToDeletion(machine, in.State) {
		t.unvalidatedDeletions = append(t.unvalidatedDeletions, in.ID)
		return // its deletion has started before
	}
	err := t.reachTransfer(in.ID, machine, lifecycle.OnDelete, "deleted",
		func(lifecycle.Instance) bool { return false })
	now, _ := t.engine.Instance(in.ID)
	call := lifecycle.Call{ID: in.ID, Version: now.Version, At: t.at,
		Message: "it is not in the configuration any more"}
	var result lifecycle.Result
	switch target, ok := deletingState(machine, now.State); {
	case err == nil:
		result, err = t.engine.Delete(call)
	case ok:
		result, err = t.engine.SetState(call, target)
	}
	if err != nil {
		t.addRefusal(in.ID, err)
		return
	}
	t.recordResult(in.ID, now, result)
	t.changes = append(t.changes, Change{Service: in.ID, Kind: Delete, From: in.State})
	if now, _ = t.engine.Instance(in.ID); now.Pending == nil { // otherwise its validation checks the references
		t.unvalidatedDeletions = append(t.unvalidatedDeletions, in.ID)
	}
}

// checkReferences reports references that remain, after all changes, to services that are deleted without a validation.
func (t *Transition) checkReferences() {
	if len(t.errs.Errors()) > 0 {
		return
	}
	for _, id := range t.unvalidatedDeletions {
		for _, r := range t.engine.ReferencedBy(id) {
			by, _ := t.engine.Instance(r.ID)
			if r.Set == lifecycle.Candidate && t.engine.Role(by.ID).Self != lifecycle.Candidate {
				continue // left over from a rollback
			}
			if t.Wanted(r.ID) {
				t.addReferenceError(r, id)
			}
		}
	}
}

// deletingState returns a state that can be requested and that leads to deletion. Some lifecycles have one for services
// whose deletion failed.
func deletingState(machine *lifecycle.Machine, from string) (string, bool) {
	for _, target := range machine.Targets(from) {
		if leadsToDeletion(machine, target) {
			return target, true
		}
	}
	return "", false
}

// requestState requests the target state of the configuration, unless the service is on its way there.
func (t *Transition) requestState(name string) {
	wanted := t.wanted[name]
	in, ok := t.engine.Instance(name)
	if !ok || wanted.TargetState == "" {
		return
	}
	machine := t.definition(name).entity.Machine
	if _, known := machine.State(wanted.TargetState); !known {
		t.addError(name, "target_state", invalid.BadValue, fmt.Sprintf("the lifecycle %q has no state %q%s",
			machine.Lifecycle().Name, wanted.TargetState,
			"; its states are "+strings.Join(machine.StateNames(), ", ")))
		return
	}
	if leadsTo(machine, wanted.TargetState, in.State) {
		return
	}
	if _, ok := machine.SetState(in.State, wanted.TargetState); !ok {
		if r, moving := machine.Transfer(in.State, lifecycle.ResourceBased); moving && r.Target != in.State {
			return // its deployment comes first
		}
		t.addError(name, "target_state", lifecycle.TransferNotAllowed,
			fmt.Sprintf("the lifecycle %q has no way from the state %s, in which the service is, to %s on request; %s",
				machine.Lifecycle().Name, in.State, wanted.TargetState, requests(machine, in.State)))
		return
	}
	result, err := t.engine.SetState(lifecycle.Call{ID: name, Version: in.Version, At: t.at,
		Message: "target_state asks for it"}, wanted.TargetState)
	if err != nil {
		t.addRefusal(name, err)
		return
	}
	t.recordResult(name, in, result)
	t.addRequest(in)
}

// addRequest adds a change of the kind Request, unless the service has a change already.
func (t *Transition) addRequest(in lifecycle.Instance) {
	for _, c := range t.changes {
		if c.Service == in.ID {
			return
		}
	}
	t.changes = append(t.changes, Change{Service: in.ID, Kind: Request, From: in.State})
}

// leadsTo reports whether a service gets from one state to the other without a request if nothing fails.
func leadsTo(machine *lifecycle.Machine, from, to string) bool {
	seen := make(map[string]bool)
	for !seen[from] {
		if from == to {
			return true
		}
		seen[from] = true
		next, ok := machine.Transfer(from, lifecycle.ResourceBased)
		if !ok {
			next, ok = machine.Transfer(from, lifecycle.Auto)
		}
		if ok {
			from = next.Target
		}
	}
	return false
}

func requests(machine *lifecycle.Machine, state string) string {
	targets := machine.Targets(state)
	if len(targets) == 0 {
		return "leave target_state out: nothing can be asked for there"
	}
	return "what can be asked for there is " + strings.Join(targets, ", ")
}

// changedAttributes returns the names of the top-level attributes that differ, sorted.
func changedAttributes(before, after map[string]any) []string {
	var out []string
	for name, value := range after {
		if resource.Canonical(before[name]) != resource.Canonical(value) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
