package services

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/edit"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func asRefusal(err error, to **lifecycle.Error) bool { return errors.As(err, to) }

// adopt reads what is wanted of each service, and puts those of the state into the inventory, under the basis that is
// to count.
func (t *Turn) adopt(state State) {
	under := make(map[string]string, len(t.wanted)) // what each wanted service is made under
	for _, name := range slices.Sorted(maps.Keys(t.wanted)) {
		if digest, ok := t.basisOf(t.wanted[name]); ok {
			under[name] = digest
		}
	}
	for _, name := range state.Names() {
		r := state.Records[name]
		wanted, ok := t.wanted[name]
		if !ok {
			// only a journal knows of it; its ledger entries tell what is left of it on nodes
			if _, known := t.bases[r.Under]; !known {
				t.former[name] = r.Incarnation
				continue
			}
			t.load(name, r, r.Under)
			continue
		}
		digest, ok := under[name]
		if !ok {
			continue
		}
		if t.leaves(r) || t.replaces(r, wanted) {
			t.end(name, r, "another service takes its place")
			t.records[name] = Record{Incarnation: r.Incarnation} // the next one is made anew
			t.changes = append(t.changes, Change{Service: name, Kind: Replace, From: r.State})
			continue
		}
		if digest != r.Under {
			r.Sets = fitting(wanted.Entity, r.Sets)
		}
		r.Active = withSensitive(wanted, r.Active)
		t.load(name, r, digest)
	}
}

// fitting returns sets without the values that slipway set and that their attributes, which have changed, cannot take
// any more: they are chosen, or asked for, again.
func fitting(e *catalog.Entity, sets lifecycle.Sets) lifecycle.Sets {
	basis := sets.Basis
	for _, which := range []lifecycle.Set{lifecycle.Candidate, lifecycle.Active} {
		set := sets.Get(which)
		for _, a := range e.Attributes {
			value, there := set[a.Name]
			if !there || a.Modifier != catalog.Allocated {
				continue
			}
			if _, mistakes := (catalog.Structure{Attributes: []catalog.Attribute{a}}).Check(
				map[string]any{a.Name: value}); len(mistakes) > 0 {
				set = maps.Clone(set)
				delete(set, a.Name)
			}
		}
		sets = sets.With(which, set)
	}
	sets.Basis = basis
	return sets
}

// withSensitive returns a set with the wanted values of sensitive attributes that it lacks, because it comes from a
// journal, which keeps none: they count as unchanged.
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

// basisOf returns the basis of a wanted service. With problems there is none.
func (t *Turn) basisOf(s site.Service) (string, bool) {
	definition, err := s.Entity.Definition()
	if err != nil {
		t.problem(s.Name, "entity", site.BadStructure, err.Error())
		return "", false
	}
	b := Basis{definition, s.Lifecycle, s.Selectors}
	digest, err := b.digest()
	if err != nil {
		t.problem(s.Name, "entity", site.BadStructure, err.Error())
		return "", false
	}
	if _, known := t.bases[digest]; known {
		return digest, true
	}
	read, err := b.with(s.Entity)
	if err != nil {
		at := "entity"
		if s.Lifecycle != nil {
			at = "lifecycle"
		}
		t.problem(s.Name, at, site.BadValue, err.Error())
		return "", false
	}
	t.bases[digest] = read
	return digest, true
}

// replaces reports whether a service can only become what is wanted by being made anew.
func (t *Turn) replaces(r Record, wanted site.Service) bool {
	if r.Entity != wanted.Entity.Name {
		return true
	}
	complete, mistakes := wanted.Entity.Check(edit.Carry(wanted.Entity, r.Base(), wanted.Attributes))
	return len(mistakes) == 0 && len(edit.Replaces(wanted.Entity, r.Base(), complete)) > 0
}

// leaves reports whether a service is being deleted: when it is wanted again, that is another one.
func (t *Turn) leaves(r Record) bool {
	b, known := t.bases[r.Under]
	return known && ending(b.machine, r.State)
}

// ending reports whether a service in a state is deleted in the end when all goes well.
func ending(machine *lifecycle.Machine, state string) bool {
	for _, s := range machine.Lifecycle().States {
		if s.Deleted && passes(machine, state, s.Name) {
			return true
		}
	}
	return false
}

// change sets off creations and updates, then deletions. What refers to a service that is yet to be created waits for
// it.
func (t *Turn) change() {
	open := slices.Sorted(maps.Keys(t.wanted))
	for progress := true; progress && len(open) > 0; {
		progress = false
		var again []string
		for _, name := range open {
			err := t.bring(name)
			var refusal *lifecycle.Error
			if asRefusal(err, &refusal) && refusal.Kind == lifecycle.BadReference && len(open) > 1 {
				again = append(again, name)
				continue
			}
			if err != nil {
				t.refused(name, t.whyTaken(name, err))
			}
			progress = true
		}
		open = again
	}
	for _, name := range open {
		t.refused(name, t.bring(name))
	}
	if len(t.problems.Errors()) > 0 {
		return
	}
	for _, in := range t.live() {
		if _, ok := t.wanted[in.ID]; !ok {
			t.remove(in)
		}
	}
}

// whyTaken adds to a refusal that the service which has the identity goes in the same plan, where it does: deletions
// come last.
func (t *Turn) whyTaken(name string, err error) error {
	wanted := t.wanted[name]
	var refusal *lifecycle.Error
	if !asRefusal(err, &refusal) || refusal.Kind != lifecycle.IdentityConflict {
		return err
	}
	holder, ok := t.inventory.ByIdentity(wanted.Entity.Name, wanted.Attributes[wanted.Entity.Identity])
	if _, stays := t.wanted[holder]; ok && !stays {
		told := *refusal
		told.Mistakes = slices.Clone(refusal.Mistakes)
		for i := range told.Mistakes {
			told.Mistakes[i].Message += fmt.Sprintf(
				"; the service %q is removed by the same plan: apply its removal first, or keep its name", holder)
		}
		return &told
	}
	return err
}

// bring creates or updates one service as it is wanted.
func (t *Turn) bring(name string) error {
	wanted := t.wanted[name]
	digest, ok := t.basisOf(wanted)
	if !ok {
		return nil // reported
	}
	in, exists := t.inventory.Instance(name)
	if !exists {
		return t.create(wanted, digest)
	}
	if err := t.gate(in, wanted); err != nil {
		return err
	}
	complete, err := t.inventory.Preview(name, wanted.Attributes)
	if err != nil {
		return err
	}
	is := func(values map[string]any, under string) bool {
		return values != nil && under == digest && catalog.Canonical(values) == catalog.Canonical(complete)
	}
	deployed := func(in lifecycle.Instance) bool { return is(in.Active, in.Basis.Active) }
	b := t.bases[digest]
	_, updatable := b.machine.Transfer(in.State, lifecycle.OnUpdate)
	if deployed(in) || is(in.Candidate, in.Basis.Candidate) && !updatable {
		return nil // it is deployed, or waits for a gate or a request
	}
	from := in
	before := from.Active // a rollback may have left what failed in the candidate
	if before == nil {
		before = from.Candidate
	}
	changed := changedAttributes(before, complete)
	if !updatable {
		if err := t.makeWay(name, b.machine, lifecycle.OnUpdate, "updated", deployed); err != nil {
			return err
		}
		if in, _ = t.inventory.Instance(name); deployed(in) { // a rollback is all that is wanted
			t.changes = append(t.changes, Change{Service: name, Kind: Update, From: from.State, Attributes: changed})
			return nil
		}
	}
	result, err := t.inventory.Update(lifecycle.Call{ID: name, Version: in.Version, At: t.at,
		Message: "the configuration changed"}, wanted.Attributes, digest)
	if err != nil {
		return err
	}
	t.did(name, in, result)
	t.changes = append(t.changes, Change{Service: name, Kind: Update, From: from.State, Attributes: changed})
	return stopped(result)
}

// stopped is why a service does not go on by itself after a call that was carried out.
func stopped(r lifecycle.Result) error {
	if r.Stopped == nil {
		return nil
	}
	return r.Stopped
}

func (t *Turn) create(wanted site.Service, digest string) error {
	number, err := t.register(digest)
	if err != nil {
		return err
	}
	r, replaced := t.records[wanted.Name]
	if !replaced {
		r.Incarnation = t.former[wanted.Name]
	}
	call := lifecycle.Create{
		ID: wanted.Name, Entity: wanted.Entity.Name, EntityVersion: &number, Attributes: wanted.Attributes, Basis: digest, Config: t.gatesOf(wanted, digest), At: t.at,
	}
	result, err := t.inventory.Create(call)
	if err != nil {
		return err
	}
	t.records[wanted.Name] = Record{Incarnation: r.Incarnation + 1, Under: digest}
	t.did(wanted.Name, lifecycle.Instance{}, result)
	if !replaced {
		t.changes = append(t.changes, Change{Service: wanted.Name, Kind: Create})
	}
	return stopped(result)
}

// gatesOf returns the gates of a wanted service. A rollback on failure opens the gate that its lifecycle has for it.
func (t *Turn) gatesOf(wanted site.Service, digest string) map[string]bool {
	gates := maps.Clone(wanted.Gates)
	if _, written := gates[lifecycle.AutoRollback]; !written &&
		slices.Contains(t.bases[digest].machine.Gates(), lifecycle.AutoRollback) {
		if gates == nil {
			gates = make(map[string]bool, 1)
		}
		gates[lifecycle.AutoRollback] = wanted.RollbackOnFailure
	}
	return gates
}

// gate sets the gates of a service.
func (t *Turn) gate(in lifecycle.Instance, wanted site.Service) error {
	gates := t.gatesOf(wanted, t.records[in.ID].Under)
	if maps.Equal(gates, in.Config) {
		return nil
	}
	result, err := t.inventory.SetConfig(lifecycle.Call{ID: in.ID, Version: in.Version, At: t.at}, gates)
	if err != nil {
		return err
	}
	t.did(in.ID, in, result)
	t.requested(in)
	return stopped(result)
}

// makeWay brings a service to a state that has a transfer by a trigger, or where enough says that this will do. A
// deployment that never ended is taken to have failed, and so is a rollback that follows from that, because their
// outcomes are not waited for any more; else the states that lead there are asked for.
func (t *Turn) makeWay(name string, machine *lifecycle.Machine, trigger lifecycle.Trigger, what string,
	enough func(lifecycle.Instance) bool) error {
	in, _ := t.inventory.Instance(name)
	for range machine.Lifecycle().States { // that many at most lie on the way
		if _, ok := machine.Transfer(in.State, trigger); ok || enough(in) {
			return nil
		}
		r, ok := machine.Transfer(in.State, lifecycle.ResourceBased)
		if !ok || r.Error == in.State || r.Target == in.State { // it rests
			break
		}
		result, err := t.inventory.Deployed(lifecycle.Call{ID: name, At: t.at,
			Message: "its deployment is given up: it is to be " + what}, lifecycle.Failed, 0)
		if err != nil {
			return err
		}
		t.did(name, in, result)
		in, _ = t.inventory.Instance(name)
	}
	way, ok := machine.WayTo(in.State, trigger)
	for _, target := range way {
		if !ok {
			break
		}
		result, err := t.inventory.SetState(lifecycle.Call{ID: name, Version: in.Version, At: t.at,
			Message: "on the way to be " + what}, target)
		if err != nil {
			return err
		}
		t.did(name, in, result)
		in, _ = t.inventory.Instance(name)
	}
	if _, ok := machine.Transfer(in.State, trigger); !ok {
		return &lifecycle.Error{Kind: lifecycle.TransferNotAllowed, Service: name, Message: fmt.Sprintf(
			"cannot be %s in the state %s of the lifecycle %q; apply the configuration that it was deployed with, so that its deployment ends, and %s", what, in.State, machine.Lifecycle().Name, waysOn(machine, in.State))}
	}
	return nil
}

// waysOn says which states can be asked for.
func waysOn(machine *lifecycle.Machine, state string) string {
	targets := machine.Targets(state)
	if len(targets) == 0 {
		return "try again then"
	}
	return fmt.Sprintf("ask for another state: target_state can be %s", strings.Join(targets, ", "))
}

// remove sets off the deletion of a service that is not wanted any more.
func (t *Turn) remove(in lifecycle.Instance) {
	machine := t.bases[t.records[in.ID].Under].machine
	if ending(machine, in.State) {
		t.going = append(t.going, in.ID)
		return // it is under way
	}
	err := t.makeWay(in.ID, machine, lifecycle.OnDelete, "deleted", func(lifecycle.Instance) bool { return false })
	now, _ := t.inventory.Instance(in.ID)
	call := lifecycle.Call{ID: in.ID, Version: now.Version, At: t.at,
		Message: "it is not in the configuration any more"}
	var result lifecycle.Result
	switch target, ok := removing(machine, now.State); {
	case err == nil:
		result, err = t.inventory.Delete(call)
	case ok:
		result, err = t.inventory.SetState(call, target)
	}
	if err != nil {
		t.refused(in.ID, err)
		return
	}
	t.did(in.ID, now, result)
	t.changes = append(t.changes, Change{Service: in.ID, Kind: Delete, From: in.State})
	if now, _ = t.inventory.Instance(in.ID); now.Pending == nil { // else its validation looks at who refers to it
		t.going = append(t.going, in.ID)
	}
}

// protect reports who still refers, after all changes, to services that go without a validation.
func (t *Turn) protect() {
	if len(t.problems.Errors()) > 0 {
		return
	}
	for _, id := range t.going {
		for _, r := range t.inventory.ReferencedBy(id) {
			by, _ := t.inventory.Instance(r.ID)
			if r.Set == lifecycle.Candidate && t.self(by) != lifecycle.Candidate {
				continue // what a rollback left
			}
			if t.Wanted(r.ID) {
				t.needed(r, id)
			}
		}
	}
}

// removing returns a state that can be asked for and that leads to the end: what is left after a deletion that failed,
// where the lifecycle has a state for that.
func removing(machine *lifecycle.Machine, from string) (string, bool) {
	for _, target := range machine.Targets(from) {
		if ending(machine, target) {
			return target, true
		}
	}
	return "", false
}

// request asks for the state that is wanted of a service. One that it is on its way to is not asked for.
func (t *Turn) request(name string) {
	wanted := t.wanted[name]
	in, ok := t.inventory.Instance(name)
	if !ok || wanted.TargetState == "" {
		return
	}
	machine := t.bases[t.records[name].Under].machine
	if _, known := machine.State(wanted.TargetState); !known {
		t.problem(name, "target_state", site.BadValue, fmt.Sprintf("the lifecycle %q has no state %q%s",
			machine.Lifecycle().Name, wanted.TargetState,
			states(machine)))
		return
	}
	if passes(machine, wanted.TargetState, in.State) {
		return
	}
	if _, ok := machine.SetState(in.State, wanted.TargetState); !ok {
		if r, moving := machine.Transfer(in.State, lifecycle.ResourceBased); moving && r.Target != in.State {
			return // its deployment comes first
		}
		t.problem(name, "target_state", site.Code(lifecycle.TransferNotAllowed),
			fmt.Sprintf("the lifecycle %q has no way from the state %s, in which the service is, to %s on request; %s",
				machine.Lifecycle().Name, in.State, wanted.TargetState, requests(machine, in.State)))
		return
	}
	result, err := t.inventory.SetState(lifecycle.Call{ID: name, Version: in.Version, At: t.at,
		Message: "target_state asks for it"}, wanted.TargetState)
	if err != nil {
		t.refused(name, err)
		return
	}
	t.did(name, in, result)
	t.requested(in)
}

// requested notes that something was asked of a service, once.
func (t *Turn) requested(in lifecycle.Instance) {
	for _, c := range t.changes {
		if c.Service == in.ID {
			return
		}
	}
	t.changes = append(t.changes, Change{Service: in.ID, Kind: Request, From: in.State})
}

// passes reports whether a service goes from one state to another by itself when all goes well, so that who asked for
// the first got it.
func passes(machine *lifecycle.Machine, from, to string) bool {
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

func states(machine *lifecycle.Machine) string {
	var names []string
	for _, s := range machine.Lifecycle().States {
		names = append(names, s.Name)
	}
	return "; its states are " + strings.Join(names, ", ")
}

// changedAttributes names the attributes on the first level that differ.
func changedAttributes(before, after map[string]any) []string {
	var out []string
	for name, value := range after {
		if catalog.Canonical(before[name]) != catalog.Canonical(value) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
