package item

import (
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// checkProperties checks the merged properties of an item: allowed, valid, complete, and then together (litp.md 2, 22). There is one
// problem for each bad property; the validators of the type wait until every property by itself is valid.
func checkProperties(path Path, typ *itemType, properties map[string]string) site.Problems {
	var problems site.Problems
	valid := true
	for _, name := range sortedKeys(properties) {
		switch e := typ.byName[name]; {
		case e != nil && e.Kind == View:
			problems = append(problems, problem(path, name, PropertyNotAllowed, "is a view of type %q, which cannot be set; leave it out", typ.ID))
		case e == nil || e.Kind != Property:
			problems = append(problems, problem(path, name, PropertyNotAllowed, "is not a property of type %q%s", typ.ID,
				meant(resource.Nearest(name, typ.properties()))))
		default:
			if m := e.values.mistake(properties[name]); m != "" {
				problems = append(problems, problem(path, name, ValidationFailed, "the value %s", m))
				valid = false
			}
		}
	}
	for _, e := range typ.elements {
		if _, set := properties[e.Name]; e.Kind == Property && e.Required && !set && e.Default == nil {
			problems = append(problems, problem(path, e.Name, MissingRequiredProp, "type %q needs this property; set it", typ.ID))
		}
	}
	if !valid {
		return problems
	}
	for _, v := range typ.validators {
		var set []string
		for _, name := range v.Properties {
			if _, is := properties[name]; is {
				set = append(set, name)
			}
		}
		if m := itemValidators[v.Kind](v, set, properties); m != "" {
			problems = append(problems, problem(path, strings.Join(v.Properties, ","), ValidationFailed, "%s", m))
		}
	}
	return problems
}

func (t *itemType) properties() []string {
	var names []string
	for _, e := range t.elements {
		if e.Kind == Property {
			names = append(names, e.Name)
		}
	}
	return names
}

// deprecations warns of what an item uses and should not.
func deprecations(it *Item) site.Problems {
	var problems site.Problems
	add := func(property, what, instead string) {
		p := problem(it.path, property, Deprecated, "%s is deprecated: %s", what, instead)
		p.Warning = true
		problems = append(problems, p)
	}
	for at := it.typ; at != nil; at = at.super {
		if at.Deprecated != "" {
			add("", "type "+at.ID, at.Deprecated)
		}
	}
	for _, e := range it.typ.elements {
		if _, own := it.own[e.Name]; own && e.Deprecated != "" {
			add(e.Name, "the property", e.Deprecated)
		}
	}
	return problems
}
