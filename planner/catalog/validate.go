package catalog

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// redefinitions reports elements of a structure that what it builds on has already (litp.md 7).
func (m *errs) redefinitions(path string, own, base Structure, message string) {
	have := base.Names()
	for e := range own.Elements() {
		if slices.Contains(have, e.Name) {
			m.add(invalid.PathTo(path, e.Path), Redefined, "%s; leave it out, or give it another name", message)
		}
	}
}

// structure reports what is wrong with the elements that a definition has itself. whole is the resolved structure that
// they are part of; keyed is false inside a list whose children nothing distinguishes.
func (m *errs) structure(path string, own, whole Structure, keyed bool) {
	seen := make(map[string]bool)
	for e := range own.Elements() {
		at := invalid.PathTo(path, e.Path)
		m.name(at, e.Name, identifier)
		if seen[e.Name] {
			m.add(at, Duplicate,
				"another attribute, embedded entity or relation has this name; give each a name of its own")
		}
		seen[e.Name] = true
		m.modifier(at, *e.Modifier)
	}
	for _, a := range own.Attributes {
		at := invalid.PathTo(path, "attributes."+a.Name)
		if resolved, ok := whole.Attribute(a.Name); ok {
			m.allocation(at, resolved, whole, keyed)
		}
	}
	for _, r := range own.Relations {
		at := invalid.PathTo(path, "relations."+r.Name)
		m.limits(at, r.Lower, r.Upper)
	}
	for _, e := range own.Embedded {
		at := invalid.PathTo(path, "embedded."+e.Name)
		m.limits(at, e.Lower, e.Upper)
		i := slices.IndexFunc(whole.Embedded, func(w Embedded) bool { return w.Name == e.Name })
		if i < 0 {
			continue
		}
		resolved := whole.Embedded[i]
		m.keys(at, resolved)
		attributes, embedded, relations := len(resolved.Attributes)-len(e.Attributes), len(resolved.Embedded)-len(
			e.Embedded), len(resolved.Relations)-len(e.Relations)
		if e.Of != "" && min(attributes, embedded, relations) >= 0 {
			base := Structure{Attributes: resolved.Attributes[:attributes], Embedded: resolved.Embedded[:embedded],
				Relations: resolved.Relations[:relations]}
			m.redefinitions(at, e.Structure, base, fmt.Sprintf("the entity %q has this element already", e.Of))
		}
		m.structure(at, e.Structure, resolved.Structure, keyed && (resolved.Single() || len(resolved.Key) > 0))
		if resolved.Modifier == Allocated {
			m.allAllocated(at, resolved.Structure)
		}
	}
}

// keys checks the key attributes of an embedded entity (lsm.md 13).
func (m *errs) keys(path string, e Embedded) {
	at := path + ".key"
	if len(e.Key) > 0 && e.Single() {
		m.add(at, BadValue, "is for lists; there is one child at most, so leave the key out")
		return
	}
	for i, name := range e.Key {
		a, ok := e.Attribute(name)
		switch {
		case slices.Contains(e.Key[:i], name):
			m.add(invalid.PathAt(at, i), Duplicate, "%q is there twice; keep one", name)
		case !ok:
			m.add(invalid.PathAt(at, i), UnknownAttribute, "%s", m.unknown("attribute", name,
				Structure{Attributes: e.Attributes}.Names))
		case a.Modifier == Changing:
			m.add(invalid.PathAt(at, i), BadValue, "%q has the modifier rw+; what distinguishes children cannot change: give it rw",
				name)
		case a.Modifier == Allocated && e.Modifier != Allocated:
			m.add(invalid.PathAt(at, i), BadValue,
				"%q is set by slipway, but users make the children, and nothing would distinguish new ones: give it rw", name)
		case a.Sensitive:
			m.add(invalid.PathAt(at, i), BadValue, "%q is sensitive, and a key stands in paths and messages; choose another key",
				name)
		case a.Type.List || a.Type.Kind == Dict:
			m.add(invalid.PathAt(at, i), BadValue, "%q is a list or a map; a key is text, a number or true or false", name)
		}
	}
}

// allAllocated reports attributes that users set, in an embedded entity that only slipway fills (lsm.md 13).
func (m *errs) allAllocated(path string, s Structure) {
	for e := range s.Elements() {
		if *e.Modifier != Allocated {
			m.add(invalid.PathTo(path, e.Path), BadValue,
				"has the modifier %s, but only slipway fills the embedded entity, whose modifier is r: give it r too", *e.Modifier)
		}
	}
	for _, e := range s.Embedded {
		if e.Modifier != Allocated { // with the modifier r it says itself what is in it
			m.allAllocated(invalid.PathTo(path, "embedded."+e.Name), e.Structure)
		}
	}
}

func (m *errs) modifier(path string, modifier Modifier) {
	if modifier != "" && !slices.Contains(Modifiers(), modifier) {
		m.add(path+".modifier", BadValue, "%s", resource.NoSuch("modifier", string(modifier), Modifiers()))
	}
}

func (m *errs) limits(path string, lower int, upper *int) {
	if lower < 0 {
		m.add(path+".lower", BadValue, "%d is below 0", lower)
	}
	switch {
	case upper == nil:
	case *upper < 1:
		m.add(path+".upper", BadValue, "%d allows none; give 1 or more, or leave it out for no limit", *upper)
	case *upper < lower:
		m.add(path+".upper", BadValue, "%d is less than lower, which is %d", *upper, lower)
	}
}

// entity checks what an entity says about itself, when its structure is resolved.
func (m *errs) entity(e Entity, r *resolver) {
	if e.Version < 0 {
		m.add("version", BadValue, "%d is below 0", e.Version)
	}
	m.section("section", e.Section)
	if e.Identity != "" {
		a, ok := e.Attribute(e.Identity)
		switch {
		case !ok:
			m.add("identity", UnknownAttribute, "%s", resource.NoSuch("attribute", e.Identity,
				Structure{Attributes: e.Attributes}.Names()))
		case a.Modifier != Fixed:
			m.add("identity", BadValue, "%q has the modifier %s; an identity does not change: give it rw (lsm.md 14)",
				e.Identity, a.Modifier)
		case a.Type.Nullable || a.Type.List || a.Type.Kind != String && a.Type.Kind != Int && a.Type.Kind != "":
			m.add("identity", BadValue,
				"%q is of the type %s; an identity is a string or an int, and never null (lsm.md 14)", e.Identity, a.Type.Name)
		case a.Sensitive:
			m.add("identity", BadValue,
				"%q is sensitive, and an identity names the service in plans and logs; choose another attribute", e.Identity)
		}
	}
	for _, relation := range e.Relations {
		if _, ok := r.entities[relation.Entity]; !ok {
			m.add("relations."+relation.Name+".entity", UnknownEntity, "%s",
				r.unknown("entity", relation.Entity, r.entityNames))
		}
	}
	m.owner(e, r)
}

func (m *errs) owner(e Entity, r *resolver) {
	if e.Owner == nil {
		return
	}
	if _, ok := r.entities[e.Owner.Entity]; !ok {
		m.add("owner.entity", UnknownEntity, "%s", r.unknown("entity", e.Owner.Entity, r.entityNames))
	}
	i := slices.IndexFunc(e.Relations, func(r Relation) bool { return r.Name == e.Owner.Relation })
	switch {
	case i < 0:
		m.add("owner.relation", UnknownAttribute, "%s",
			resource.NoSuch("relation", e.Owner.Relation, Structure{Relations: e.Relations}.Names()))
	case !e.Relations[i].Single():
		m.add("owner.relation", BadValue, "%q may lead to several services; a service has one owner: give it upper: 1",
			e.Owner.Relation)
	case e.Relations[i].Modifier == Changing:
		m.add("owner.relation", BadValue, "%q has the modifier rw+; a service keeps its owner: give it rw (lsm.md 15)",
			e.Owner.Relation)
	case e.Relations[i].Entity != e.Owner.Entity:
		m.add("owner.relation", BadValue, "%q leads to services of %q, not of the owner's entity %q", e.Owner.Relation,
			e.Relations[i].Entity, e.Owner.Entity)
	}
}
