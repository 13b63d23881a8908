package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// maxErrors bounds the reported errors of one set of attributes.
const maxErrors = 1000

// Check looks at the attributes of a service of a resolved entity. It returns them complete, with defaults filled in at
// every depth and every value in its one form, and everything that is wrong: unknown and missing attributes, wrong
// types, rules, limits of embedded entities and relations, duplicate keys. The attributes given are not changed; the
// result may share values with them.
//
// Types are strict (lsm.md 18, 1). An attribute with the modifier r that has neither a value nor a default is left out:
// it is not known yet. Who may set what is not looked at, see [Structure.ReadOnly], nor is whether the services that
// relations name exist.
func (s Structure) Check(attributes map[string]any) (map[string]any, []invalid.Error) {
	c := checker{}
	out := c.structure("", s, attributes)
	if len(c.errs) > maxErrors {
		c.errs = c.errs[:maxErrors]
	}
	return out, c.errs
}

type checker struct{ errs errs }

func (c *checker) structure(path string, s Structure, given map[string]any) map[string]any {
	out := make(map[string]any, len(given))
	names := s.Names()
	strange := strangers(given, names)
	for _, a := range s.Attributes {
		at := invalid.PathTo(path, a.Name)
		value, ok := given[a.Name]
		switch {
		case ok:
		case a.HasDefault:
			value = a.Default
		case a.Modifier == Allocated:
			continue
		default:
			c.errs.add(at, MissingAttribute, "is required%s", c.meant(a.Name, strange))
			continue
		}
		value, m := a.Type.check(at, value, a.Sensitive)
		c.errs = append(c.errs, m...)
		out[a.Name] = value
	}
	for _, e := range s.Embedded {
		value, ok := given[e.Name]
		out[e.Name] = c.embedded(invalid.PathTo(path, e.Name), e, value, ok)
	}
	for _, r := range s.Relations {
		value, ok := given[r.Name]
		out[r.Name] = c.relation(invalid.PathTo(path, r.Name), r, value, ok)
	}
	for _, name := range strange {
		hint := ""
		if len(c.errs) < resource.MostHints {
			hint = resource.Choices(name, names)
		}
		c.errs.add(invalid.PathTo(path, name), UnknownAttribute, "there is no such attribute%s", hint)
	}
	return out
}

// strangers returns the names in given that are not known, sorted.
func strangers(given map[string]any, known []string) []string {
	there := make(map[string]bool, len(known))
	for _, name := range known {
		there[name] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(given)), func(name string) bool { return there[name] })
}

// meant asks whether an unknown attribute was meant for the one that is missing.
func (c *checker) meant(name string, strange []string) string {
	if len(c.errs) >= resource.MostHints {
		return ""
	}
	if near := resource.Nearest(name, strange); near != "" {
		return fmt.Sprintf("; is %q meant to be it?", near)
	}
	return ""
}

func (c *checker) embedded(path string, e Embedded, value any, given bool) any {
	children, ok := c.members(path, value, given, e.Single(), e.Lower, e.Upper, e.Modifier, "an object")
	if !ok {
		return value
	}
	out := make([]any, 0, len(children))
	seen := make(map[string]int, len(children))
	for i, child := range children {
		at := path
		if !e.Single() {
			at = invalid.PathAt(path, i)
		}
		object, ok := child.(map[string]any)
		if !ok {
			c.errs.add(at, TypeMismatch, "is %s, not an object", describe(child, true))
			out = append(out, child)
			continue
		}
		complete := c.structure(at, e.Structure, object)
		out = append(out, complete)
		if len(e.Key) == 0 || e.Single() {
			continue
		}
		key := make([]any, len(e.Key))
		for k, name := range e.Key {
			key[k] = complete[name]
		}
		id := resource.Canonical(key)
		if first, ok := seen[id]; ok {
			c.errs.add(path, DuplicateKey, "elements %d and %d have the same %s, which must be different for each element",
				first, i,
				strings.Join(e.Key, ", "))
		} else {
			seen[id] = i
		}
	}
	return shaped(out, e.Single())
}

func (c *checker) relation(path string, r Relation, value any, given bool) any {
	ids, ok := c.members(path, value, given, r.Single(), r.Lower, r.Upper, r.Modifier, "the id of a service")
	if !ok {
		return value
	}
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		at := path
		if !r.Single() {
			at = invalid.PathAt(path, i)
		}
		text, ok := id.(string)
		switch {
		case !ok || text == "":
			c.errs.add(at, TypeMismatch, "is %s, not the id of a service", describe(id, false))
		case seen[text]:
			c.errs.add(path, DuplicateKey, "names the service %q twice", text)
		}
		seen[text] = true
	}
	return shaped(ids, r.Single())
}

// members brings the value of an embedded entity or a relation into the form of a list, and checks the limits.
func (c *checker) members(path string, value any, given, single bool, lower int, upper *int, modifier Modifier,
	what string) ([]any, bool) {
	var list []any
	switch v := value.(type) {
	case nil:
		switch {
		case !given && modifier == Allocated:
			return nil, true
		case !given && lower > 0:
			c.errs.add(path, MissingAttribute, "is required: %s", limits(lower, upper))
			return nil, false
		case given && !single:
			c.errs.add(path, TypeMismatch, "is null, not a list; an empty list is []")
			return nil, false
		}
	case []any:
		if single {
			c.errs.add(path, TypeMismatch,
				"is a list; there is one at most, so write %s, or null, without a list around it", what)
			return nil, false
		}
		list = v
	default:
		if !single {
			c.errs.add(path, TypeMismatch, "is %s, not a list; each element is %s", describe(value, true), what)
			return nil, false
		}
		list = []any{value}
	}
	if len(list) < lower || upper != nil && len(list) > *upper {
		c.errs.add(path, LimitViolation, "has %d; there must be %s", len(list), limits(lower, upper))
	}
	return list, true
}

func limits(lower int, upper *int) string {
	switch {
	case upper == nil:
		return fmt.Sprintf("%d or more", lower)
	case *upper == lower:
		return fmt.Sprintf("exactly %d", lower)
	}
	return fmt.Sprintf("from %d to %d", lower, *upper)
}

func shaped(list []any, single bool) any {
	switch {
	case !single && list == nil:
		return []any{}
	case !single:
		return list
	case len(list) == 0:
		return nil
	}
	return list[0]
}

// ReadOnly returns an error for each attribute with the modifier r whose value is not null, at every depth: users may
// not set them at creation (lsm.md 3). An embedded entity with the modifier r counts with all its attributes.
func (s Structure) ReadOnly(attributes map[string]any) []invalid.Error {
	var m errs
	m.readOnly("", s, attributes)
	return m
}

func (m *errs) readOnly(path string, s Structure, given map[string]any) {
	const message = "is set by slipway; leave it out"
	for _, a := range s.Attributes {
		if a.Modifier == Allocated && given[a.Name] != nil &&
			(!a.HasDefault || resource.Canonical(given[a.Name]) != resource.Canonical(a.Default)) {
			m.add(invalid.PathTo(path, a.Name), ReadOnly, message)
		}
	}
	filled := func(value any) bool {
		list, isList := value.([]any)
		return value != nil && (!isList || len(list) > 0)
	}
	for _, r := range s.Relations {
		if r.Modifier == Allocated && filled(given[r.Name]) {
			m.add(invalid.PathTo(path, r.Name), ReadOnly, message)
		}
	}
	for _, e := range s.Embedded {
		if e.Modifier == Allocated {
			if filled(given[e.Name]) {
				m.add(invalid.PathTo(path, e.Name), ReadOnly, message)
			}
			continue
		}
		Children(given[e.Name], invalid.PathTo(path, e.Name), func(child map[string]any, path string) {
			m.readOnly(path, e.Structure, child)
		})
	}
}

// FillNulls sets to null the attributes that are nullable, missing and without a default. Terraform does not
// distinguish null from missing, but [Structure.Check] does. Attributes with the modifier r are left out. The given
// attributes do not change.
func (s Structure) FillNulls(attributes map[string]any) map[string]any {
	return s.Edit(attributes, func(_ string, s Structure, object map[string]any) {
		for _, a := range s.Attributes {
			if _, given := object[a.Name]; !given && a.Type.Nullable && !a.HasDefault && a.Modifier != Allocated {
				object[a.Name] = nil
			}
		}
	})
}

// Edit returns a copy of attributes in which edit has changed every object: the children at every depth, each before
// what it is in, and the service itself. at is the path of the object without indices: `files.parts`. Other values are
// shared with the given attributes.
func (s Structure) Edit(attributes map[string]any, edit func(at string, s Structure, object map[string]any),
) map[string]any {
	return s.edit("", attributes, edit)
}

func (s Structure) edit(at string, attributes map[string]any, edit func(string, Structure, map[string]any),
) map[string]any {
	out := make(map[string]any, len(attributes))
	maps.Copy(out, attributes)
	for _, e := range s.Embedded {
		switch v := out[e.Name].(type) {
		case map[string]any:
			out[e.Name] = e.edit(invalid.PathTo(at, e.Name), v, edit)
		case []any:
			list := slices.Clone(v)
			for i, element := range list {
				if child, ok := element.(map[string]any); ok {
					list[i] = e.edit(invalid.PathTo(at, e.Name), child, edit)
				}
			}
			out[e.Name] = list
		}
	}
	edit(at, s, out)
	return out
}

// Children calls do for each child, which is an object, in the value of an embedded entity, with its path.
func Children(value any, path string, do func(child map[string]any, path string)) {
	Elements(value, path, func(value any, path string) {
		if child, ok := value.(map[string]any); ok {
			do(child, path)
		}
	})
}

// Elements calls do for a value, or for every element of a list, with its path.
func Elements(value any, path string, do func(value any, path string)) {
	list, ok := value.([]any)
	if !ok {
		do(value, path)
		return
	}
	for i, element := range list {
		do(element, invalid.PathAt(path, i))
	}
}
