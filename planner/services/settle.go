package services

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/allocation"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/edit"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// mostHops bounds how often a service may go on by itself in one turn. Lifecycles without automatic cycles, as all sound ones are, stay far below.
const mostHops = 1000

// settle carries out the transfers that wait for a validation. The candidate is taken to be valid: whoever plans the site that follows validates it, with all
// others, and refuses everything otherwise (design.md 8). What protects a service from being deleted, and a pool without a free value, are
// problems here.
func (t *Turn) settle() {
	if len(t.problems.Errors()) > 0 {
		return
	}
	book := t.book()
	for range mostHops {
		moved := false
		for _, in := range t.live() {
			if in.Pending == nil {
				continue
			}
			moved = true
			if !t.validate(book, in) {
				return
			}
		}
		if !moved {
			return
		}
	}
	t.problem("", "", site.BadStructure, fmt.Sprintf("services do not come to rest after %d transfers each; this is a defect of their lifecycles", mostHops))
}

// book writes down what all services have of pools. The candidates that are about to be validated do not count: they get theirs in turn.
func (t *Turn) book() *allocation.Book {
	var all []allocation.Service
	for _, in := range t.live() {
		sets := []lifecycle.Set{lifecycle.Active, lifecycle.Rollback}
		if in.Pending == nil {
			sets = append(sets, lifecycle.Candidate)
		}
		all = append(all, t.holder(in, sets...))
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
	b := t.bases[t.records[in.ID].Under]
	result := lifecycle.Validation{OK: true}
	switch state, _ := b.machine.State(in.State); state.Role(in.Active != nil).Self {
	case lifecycle.None:
		if !t.unreferenced(in.ID) {
			return false
		}
	case lifecycle.Candidate:
		before := in.Active
		candidate, _, mistakes := book.Allocate(allocation.Request{Service: t.holder(in), Prior: before, Candidate: in.Candidate})
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

// unreferenced reports whether no service that stays refers to one that is to be deleted, and adds a problem for each that does (lsm.md 14).
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
		if state, _ := t.bases[t.records[r.ID].Under].machine.State(other.State); state.Purge {
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

// Steps tells the changes of the plan, a line each. No line holds a value.
func (t *Turn) Steps() []string {
	var out []string
	for _, c := range t.Changes() {
		line := fmt.Sprintf("service %s: %s", c.Service, c.Kind)
		if c.Kind == Update && len(c.Attributes) > 0 {
			line += " " + strings.Join(c.Attributes, ", ")
		}
		from := ""
		if c.From != "" {
			from = c.From + " to "
		}
		out = append(out, fmt.Sprintf("%s (version %d, %s%s)", line, c.Version, from, c.To))
	}
	return out
}

// Allocated returns the values of attributes with the modifier r that slipway chose for a service, by their place, `port` or `sites[host=a].port`, as far as
// they are known; those of sensitive attributes are left out. A child without key attributes is told by its number, `sites[0].port`.
func (t *Turn) Allocated(service string) map[string]any {
	in, ok := t.inventory.Instance(service)
	if !ok {
		return nil
	}
	out := make(map[string]any)
	allocated(t.bases[t.records[service].Under].entity.Structure, in.Base(), "", out)
	return out
}

func allocated(s catalog.Structure, set map[string]any, at string, out map[string]any) {
	for _, a := range s.Attributes {
		if value := set[a.Name]; a.Modifier == catalog.Allocated && !a.Sensitive && value != nil {
			out[at+a.Name] = value
		}
	}
	for _, e := range s.Embedded {
		switch v := set[e.Name].(type) {
		case map[string]any:
			allocated(e.Structure, v, at+e.Name+".", out)
		case []any:
			for i, element := range v {
				child, ok := element.(map[string]any)
				if !ok {
					continue
				}
				part := edit.Part{Name: e.Name}
				for _, key := range e.Key {
					part.Filters = append(part.Filters, edit.Filter{Name: key, Value: fmt.Sprint(child[key])})
				}
				place := edit.Path{part}.String()
				if len(e.Key) == 0 {
					place = fmt.Sprintf("%s[%d]", e.Name, i)
				}
				allocated(e.Structure, child, at+place+".", out)
			}
		}
	}
}

// Status is what a service shows to the outside.
type Status struct {
	Entity   string
	Identity string // as text; empty for none, and for a sensitive one
	State    string
	Label    lifecycle.Label
	Version  int
}

// Status returns how a service stands; it is zero when there is no such service.
func (t *Turn) Status(name string) Status {
	in, ok := t.inventory.Instance(name)
	if !ok {
		return Status{}
	}
	b := t.bases[t.records[name].Under]
	state, _ := b.machine.State(in.State)
	out := Status{Entity: in.Entity, State: in.State, Label: state.Label, Version: in.Version}
	if value, ok := t.inventory.Identity(name); ok {
		if a, _ := b.entity.Attribute(b.entity.Identity); !a.Sensitive {
			out.Identity = fmt.Sprint(value)
		}
	}
	return out
}

// Wanted reports whether the configuration has a service of an entity with the name.
func (t *Turn) Wanted(name string) bool {
	_, ok := t.wanted[name]
	return ok
}

// Moves reports whether the turn changes services even when there is nothing to deploy: the plan changes some, or a deployment without tasks moves them on.
func (t *Turn) Moves() bool {
	if len(t.changes) > 0 {
		return true
	}
	for _, in := range t.live() {
		machine := t.bases[t.records[in.ID].Under].machine
		state, _ := machine.State(in.State)
		onward, ok := machine.Transfer(in.State, lifecycle.ResourceBased)
		if ok && state.Role(in.Active != nil).Export && onward.Target != in.State {
			return true
		}
	}
	return false
}
