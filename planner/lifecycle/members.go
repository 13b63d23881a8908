package lifecycle

import (
	"errors"
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Member is a service in a plan or validation, and the set of attributes that it uses there.
type Member struct {
	ID    string
	Set   Set
	Purge bool // what it exports is removed
}

// Export returns the services of the desired state, sorted by id: those that are not deleted and whose state exports,
// each with its active set (lsm.md 8). The error names services in such a state without an active set; the others are
// returned nevertheless.
func (v *Inventory) Export() ([]Member, error) {
	var members []Member
	var errs []error
	for _, in := range v.live() {
		role := in.role()
		switch {
		case !role.Export:
		case in.Active == nil:
			errs = append(errs, refuse(NothingToExport, in.ID,
				"is in state %s, which exports, but has no active set", in.State))
		default:
			members = append(members, Member{in.ID, Active, role.Purge})
		}
	}
	return members, errors.Join(errs...)
}

// Validation returns the services that take part in the validation of a service, sorted by id: the service itself with
// the set that its state names, and every other service that others see (lsm.md 8). A service without the set is left
// out.
func (v *Inventory) Validation(id string) ([]Member, error) {
	if _, ok := v.services[id]; !ok {
		return nil, refuse(UnknownInstance, id, "there is no such service")
	}
	var members []Member
	for _, in := range v.live() {
		role := in.role()
		set := role.Others
		if in.ID == id {
			set = role.Self
		}
		if set != None && in.Get(set) != nil {
			members = append(members, Member{in.ID, set, role.Purge && set == Active})
		}
	}
	return members, nil
}

// Reference is a reference of one service to another.
type Reference struct {
	ID     string // of the referring service
	Set    Set    // the set with the reference
	Path   string // of the value: `router`, `links[2].port`
	Target string // the service referred to
}

// Dangling returns the references in a service's validation to services that do not take part, sorted by id. If it
// returns any, the validation fails; this protects services from deletion (lsm.md 14).
func (v *Inventory) Dangling(id string) ([]Reference, error) {
	members, err := v.Validation(id)
	if err != nil {
		return nil, err
	}
	in := make(map[string]bool, len(members))
	for _, m := range members {
		in[m.ID] = true
	}
	var out []Reference
	for _, m := range members {
		service := v.services[m.ID]
		relations(service.entity.Structure, service.Get(m.Set), "", func(path, target string, _ catalog.Relation) {
			if !in[target] {
				out = append(out, Reference{m.ID, m.Set, path, target})
			}
		})
	}
	return out, nil
}

// ReferencedBy returns the references to a service in the candidate or active sets of services that are not deleted,
// sorted by id.
func (v *Inventory) ReferencedBy(id string) []Reference {
	var out []Reference
	for _, in := range v.live() {
		for _, r := range References(in.Instance, in.entity.Structure) {
			if r.Target == id {
				out = append(out, r)
			}
		}
	}
	return out
}

// References returns the references to other services in the candidate and the active set of a service with the
// relations of a structure.
func References(in Instance, s catalog.Structure) (out []Reference) {
	for _, set := range []Set{Candidate, Active} {
		relations(s, in.Get(set), "", func(path, target string, _ catalog.Relation) {
			out = append(out, Reference{in.ID, set, path, target})
		})
	}
	return out
}

// relations calls found for each reference in the attributes, at every depth.
func relations(s catalog.Structure, attributes map[string]any, path string,
	found func(path, target string, r catalog.Relation)) {
	for _, r := range s.Relations {
		catalog.Elements(attributes[r.Name], invalid.PathTo(path, r.Name), func(value any, path string) {
			if target, ok := value.(string); ok && target != "" {
				found(path, target, r)
			}
		})
	}
	for _, e := range s.Embedded {
		catalog.Children(attributes[e.Name], invalid.PathTo(path, e.Name), func(child map[string]any, path string) {
			relations(e.Structure, child, path, found)
		})
	}
}

// references returns an error for each reference to a service that does not exist, is deleted or is of another entity
// (lsm.md 18, 11).
func (v *Inventory) references(s catalog.Structure, attributes map[string]any) []invalid.Error {
	var out []invalid.Error
	relations(s, attributes, "", func(path, target string, r catalog.Relation) {
		message := ""
		switch in, ok := v.services[target]; {
		case !ok:
			message = fmt.Sprintf("there is no service %q; name one of the entity %s", target, r.Entity)
		case in.Deleted:
			message = fmt.Sprintf("the service %q is deleted; name one that is not", target)
		case !in.entity.Is(r.Entity):
			message = fmt.Sprintf("the service %q is of the entity %s; name one of the entity %s", target, in.Entity,
				r.Entity)
		default:
			return
		}
		out = append(out, invalid.Error{Attribute: path, Code: BadReference, Message: message})
	})
	return out
}
