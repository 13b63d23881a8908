package item

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Registry holds types that are known to be sound. It does not change.
type Registry struct{ types map[string]*itemType }

// itemType is a type with all that it has from its super types.
type itemType struct {
	Type
	super      *itemType
	role       Role
	validators []ItemValidator
	elements   []*element // of the first super type first
	byName     map[string]*element
}

// element is an element whose type is resolved.
type element struct {
	Element
	values  *values   // property
	item    *itemType // child, collection, reference, ref_collection
	require []string  // names of all siblings that come first, directly or through others, sorted
}

// Register checks all definitions and makes them usable. With any error there is no registry. Warnings come with one.
func Register(d Definitions) (*Registry, site.Problems) {
	problems := d.Validate()
	if len(problems.Errors()) > 0 {
		return nil, problems
	}
	properties := make(map[string]*values, len(d.Properties))
	for _, p := range d.Properties {
		t := &values{PropertyType: p}
		if p.Pattern != "" {
			pattern, err := whole(p.Pattern)
			if err != nil { // Validate compiled it before
				return nil, append(problems, definitionProblem("property type", p.ID, "pattern", site.BadValue, "%v", err))
			}
			t.pattern = pattern
		}
		properties[p.ID] = t
	}
	r := &Registry{types: make(map[string]*itemType, len(d.Types))}
	for _, t := range d.Types {
		r.types[t.ID] = &itemType{Type: t, byName: make(map[string]*element, len(t.Elements))}
	}
	for _, t := range d.Types {
		r.types[t.ID].super = r.types[t.Extends]
	}
	for _, t := range r.types {
		line := t.line()
		for _, s := range line {
			t.validators = append(t.validators, s.Validators...)
			if s.Role != "" {
				t.role = s.Role
			}
			for _, e := range s.Elements {
				if t.byName[e.Name] != nil {
					continue // the super type's counts (litp.md 8)
				}
				made := &element{Element: e}
				if e.Kind == Property {
					made.values = properties[e.Type]
				} else {
					made.item = r.types[e.Type]
				}
				t.byName[e.Name] = made
				t.elements = append(t.elements, made)
			}
		}
		for _, e := range t.elements {
			e.require = slices.Sorted(maps.Keys(t.needed(e, map[string]bool{})))
		}
	}
	return r, problems
}

// line lists a type's super types, the outermost first, and the type itself last.
func (t *itemType) line() []*itemType {
	var line []*itemType
	for ; t != nil; t = t.super {
		line = append(line, t)
	}
	slices.Reverse(line)
	return line
}

// needed adds the siblings that an element requires, and what these require.
func (t *itemType) needed(e *element, found map[string]bool) map[string]bool {
	for _, name := range e.Require {
		if !found[name] {
			found[name] = true
			t.needed(t.byName[name], found)
		}
	}
	return found
}

// is reports whether a type is another one or extends it (litp.md 8).
func (t *itemType) is(id string) bool {
	for ; t != nil; t = t.super {
		if t.ID == id {
			return true
		}
	}
	return false
}

// Has reports whether there is a type of this id.
func (r *Registry) Has(id string) bool { return r.types[id] != nil }

// Is reports whether type id is the type base or extends it. It is false for unknown types.
func (r *Registry) Is(id, base string) bool { return r.types[id].is(base) }

// Types lists the ids of all types, sorted.
func (r *Registry) Types() []string { return slices.Sorted(maps.Keys(r.types)) }

// Elements lists the elements of a type, those of its super types first; nothing for an unknown type.
func (r *Registry) Elements(id string) []Element {
	t := r.types[id]
	if t == nil {
		return nil
	}
	out := make([]Element, len(t.elements))
	for i, e := range t.elements {
		out[i] = e.Element
	}
	return out
}

// RoleOf is the role of a type, its own or that of its super types.
func (r *Registry) RoleOf(id string) Role {
	if t := r.types[id]; t != nil {
		return t.role
	}
	return ""
}

func (r *Registry) nearest(id string) string { return meant(resource.Nearest(id, r.Types())) }
