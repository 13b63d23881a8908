package services

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/allocation"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// mostHops bounds how often a service may go on by itself in one turn. Lifecycles without automatic cycles, as all
// sound ones are, stay far below.
const mostHops = 1000

// settle carries out the transfers that wait for a validation. The candidate is taken to be valid: whoever plans the
// site that follows validates it, with all others, and refuses everything otherwise (design.md 8). What protects a
// service from being deleted, and a pool without a free value, are problems here.
func (t *Turn) settle() {
	if len(t.problems.Errors()) > 0 {
		return
	}
	book := t.book()
	for range mostHops {
		// Deletions come last: what referred to the service may be on its way to refer to another one.
		var changes, deletions []lifecycle.Instance
		for _, in := range t.live() {
			switch {
			case in.Pending == nil:
			case t.self(in) == lifecycle.None:
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
			if !t.validate(book, in) {
				return
			}
		}
	}
	t.problem("", "", site.BadStructure,
		fmt.Sprintf("services do not come to rest after %d transfers each; this is a defect of their lifecycles",
			mostHops))
}

// self is the set that a service takes part with in its own validation.
func (t *Turn) self(in lifecycle.Instance) lifecycle.Set {
	state, _ := t.bases[t.records[in.ID].Under].machine.State(in.State)
	return state.Role(in.Active != nil).Self
}

// book writes down what all services have of pools, with their candidates: one that is about to be validated may have
// values from an update that was rolled back.
func (t *Turn) book() *allocation.Book {
	var all []allocation.Service
	for _, in := range t.live() {
		all = append(all, t.holder(in, lifecycle.AllSets()...))
	}
	return allocation.NewBook(all)
}

// holder is a service with some of its sets, as pools know it.
func (t *Turn) holder(in lifecycle.Instance, sets ...lifecycle.Set) allocation.Service {
	s := allocation.Service{ID: in.ID, Name: in.ID, Entity: t.bases[t.records[in.ID].Under].entity}
	for _, set := range sets {
		if values := in.Get(set); values != nil {
			s.Sets = append(s.Sets, values)
		}
	}
	return s
}

// validate carries out the transfer of a service that waits for its validation. It is false with a problem.
func (t *Turn) validate(book *allocation.Book, in lifecycle.Instance) bool {
	result := lifecycle.Validation{OK: true}
	switch t.self(in) {
	case lifecycle.None:
		if !t.unreferenced(in.ID) {
			return false
		}
	case lifecycle.Candidate:
		before := in.Active
		candidate, _, mistakes := book.Allocate(allocation.Request{Service: t.holder(in), Prior: before,
			Candidate: in.Candidate})
		for _, m := range mistakes {
			t.problem(in.ID, "attributes."+m.Place(), site.Code(m.Code), m.Message)
		}
		if len(mistakes) > 0 {
			return false
		}
		if catalog.Canonical(candidate) != catalog.Canonical(in.Candidate) {
			result.Candidate = candidate
		}
	}
	done, err := t.inventory.Validated(lifecycle.Call{ID: in.ID, At: t.at}, result)
	if err == nil {
		t.did(in.ID, in, done)
		err = stopped(done)
	}
	if err != nil {
		t.refused(in.ID, err)
		return false
	}
	return true
}

// unreferenced reports whether no service that stays refers to one that is to be deleted, and adds a problem for each
// that does (lsm.md 14).
func (t *Turn) unreferenced(id string) bool {
	references, err := t.inventory.Dangling(id)
	if err != nil {
		t.refused(id, err)
		return false
	}
	free := true
	for _, r := range references {
		other, ok := t.inventory.Instance(r.ID)
		if !ok {
			continue
		}
		if state, _ := t.bases[t.records[r.ID].Under].machine.State(other.State); state.Purge || !t.Wanted(r.ID) {
			continue // it goes as well
		}
		free = false
		t.needed(r, id)
	}
	return free
}

// needed adds the problem that a service which is to be deleted is referred to.
func (t *Turn) needed(by lifecycle.Reference, id string) {
	t.problem(by.ID, "attributes."+by.Path, site.UnknownReference, fmt.Sprintf(
		"refers to the service %q, which is to be deleted; keep that service, or change or delete this one first", id))
}

// arrive completes the changes of the plan with the states that services came to.
func (t *Turn) arrive() {
	for i := range t.changes {
		c := &t.changes[i]
		if in, ok := t.inventory.Instance(c.Service); ok {
			c.To, c.Version = in.State, in.Version
		}
	}
}

// Moves reports whether the turn changes services even when there is nothing to deploy.
func (t *Turn) Moves() bool { return len(t.Moving()) > 0 }

// Moving returns the services that change even when there is nothing to deploy: the plan changes them, or a deployment
// without tasks moves them on.
func (t *Turn) Moving() map[string]bool {
	moving := make(map[string]bool)
	for _, c := range t.changes {
		moving[c.Service] = true
	}
	for _, in := range t.live() {
		machine := t.bases[t.records[in.ID].Under].machine
		state, _ := machine.State(in.State)
		onward, ok := machine.Transfer(in.State, lifecycle.ResourceBased)
		if ok && state.Role(in.Active != nil).Export && onward.Target != in.State {
			moving[in.ID] = true
		}
	}
	return moving
}
