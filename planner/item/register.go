package item

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

var itemID = regexp.MustCompile(`^[A-Za-z0-9_-]+$`) // litp.md 9

func definitionProblem(object, id, at string, code site.Code, format string, args ...any) site.Problem {
	return site.Problem{Object: object, Name: id, Attribute: at, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Validate returns all mistakes of the definitions, in the order in which they are written. Object is "property type" or "item type", Name
// its id, Attribute the way to the mistake: `validators[0].kind`, `os.require[1]` for the element os (litp.md 7).
func (d Definitions) Validate() site.Problems {
	c := definitionCheck{properties: make(map[string]*values), types: make(map[string]Type)}
	for _, p := range d.Properties {
		c.propertyType(p)
	}
	for _, t := range d.Types {
		c.object, c.id = "item type", t.ID
		if _, twice := c.types[t.ID]; twice {
			c.add("", site.Duplicate, "there is more than one item type of this id; give each an id of its own")
			continue
		}
		c.types[t.ID] = t
		c.typeIDs = append(c.typeIDs, t.ID)
	}
	for _, id := range c.typeIDs {
		c.itemType(c.types[id])
	}
	return c.problems
}

// definitionCheck gathers the mistakes of one set of definitions.
type definitionCheck struct {
	properties  map[string]*values
	propertyIDs []string
	types       map[string]Type
	typeIDs     []string

	object, id string // what is being checked
	problems   site.Problems
}

func (c *definitionCheck) add(at string, code site.Code, format string, args ...any) {
	c.problems = append(c.problems, definitionProblem(c.object, c.id, at, code, format, args...))
}

func (c *definitionCheck) warn(at string, code site.Code, format string, args ...any) {
	c.add(at, code, format, args...)
	c.problems[len(c.problems)-1].Warning = true
}

func (c *definitionCheck) propertyType(p PropertyType) {
	c.object, c.id = "property type", p.ID
	if !itemID.MatchString(p.ID) {
		c.add("", site.BadName, "%q is not a usable id; use letters, digits, '-' and '_'", p.ID)
	}
	if c.properties[p.ID] != nil {
		c.add("", site.Duplicate, "there is more than one property type of this id; give each an id of its own")
		return
	}
	usable := &values{PropertyType: p}
	if _, err := regexp.Compile(p.Pattern); err != nil {
		c.add("pattern", site.BadValue, "%v; write a regular expression of Go", err)
	} else if p.Pattern != "" {
		if usable.pattern, err = whole(p.Pattern); err != nil { // sound in itself, so it is too large
			c.add("pattern", site.BadValue, "%v", err)
		}
	}
	usable.Validators = nil
	for i, v := range p.Validators {
		kind, known := valueValidators[v.Kind]
		if !known {
			c.add(fmt.Sprintf("validators[%d].kind", i), site.UnknownType, "%q is not a kind of validator%s",
				v.Kind, meant(resource.Nearest(v.Kind, sortedKeys(valueValidators))))
		} else if m := kind.mistake(v); m != "" {
			c.add(fmt.Sprintf("validators[%d]", i), site.BadValue, "validator %q: %s", v.Kind, m)
		} else {
			usable.Validators = append(usable.Validators, v)
		}
	}
	c.properties[p.ID] = usable
	c.propertyIDs = append(c.propertyIDs, p.ID)
}

func (c *definitionCheck) itemType(t Type) {
	c.object, c.id = "item type", t.ID
	if !itemID.MatchString(t.ID) {
		c.add("", site.BadName, "%q is not a usable id; use letters, digits, '-' and '_'", t.ID)
	}
	switch t.Role {
	case "", RoleNode, RoleManagement, RoleCluster, RoleSite, RoleSnapshot:
	default:
		c.add("role", site.BadValue, "%q is not a role; use node, management, cluster, site or snapshot", t.Role)
	}
	if _, known := c.types[t.Extends]; t.Extends != "" && !known {
		c.add("extends", site.UnknownType, "super type %q: no such item type%s", t.Extends, meant(resource.Nearest(t.Extends, c.typeIDs)))
	} else if cycle := c.extendsCycle(t); cycle != "" {
		c.add("extends", site.Cycle, "the type extends itself: %s", cycle)
	}
	c.elements(t)
	for i, v := range t.Validators {
		c.itemValidator(t, v, fmt.Sprintf("validators[%d]", i))
	}
	if cycle := c.childCycle(t); cycle != nil {
		c.add(cycle[1], site.Cycle, "an item of this type never ends, its required children contain it: %s; make one of them optional",
			strings.Join(cycle, " -> "))
	}
}

// supers lists the super types of a type, the nearest first. It ends where one is unknown or comes again.
func (c *definitionCheck) supers(t Type) []Type {
	var out []Type
	seen := map[string]bool{t.ID: true}
	for {
		super, known := c.types[t.Extends]
		if !known || seen[super.ID] {
			return out
		}
		seen[super.ID] = true
		out = append(out, super)
		t = super
	}
}

func (c *definitionCheck) extendsCycle(t Type) string {
	supers := c.supers(t)
	last := t
	if len(supers) > 0 {
		last = supers[len(supers)-1]
	}
	if last.Extends != t.ID {
		return ""
	}
	names := []string{t.ID}
	for _, s := range supers {
		names = append(names, s.ID)
	}
	return strings.Join(append(names, t.ID), " -> ")
}

// structure is all that counts in a type: its own elements and those of its super types, by name.
func (c *definitionCheck) structure(t Type) map[string]Element {
	out := make(map[string]Element)
	for _, s := range append([]Type{t}, c.supers(t)...) {
		for _, e := range s.Elements {
			out[e.Name] = e
		}
	}
	return out
}

func (c *definitionCheck) elements(t Type) {
	structure := c.structure(t)
	inherited := make(map[string]Element)
	owner := make(map[string]string)
	for _, s := range c.supers(t) {
		for _, e := range s.Elements {
			inherited[e.Name], owner[e.Name] = e, s.ID
		}
	}
	seen := make(map[string]bool)
	childOf := make(map[string]string) // item type -> name of the child element
	for _, e := range t.Elements {
		if !itemID.MatchString(e.Name) {
			c.add(e.Name, site.BadName, "%q is not a usable name for an element; use letters, digits, '-' and '_'", e.Name)
		}
		if seen[e.Name] {
			c.add(e.Name, site.Duplicate, "there is more than one element of this name; give each a name of its own")
			continue
		}
		seen[e.Name] = true
		if super, twice := inherited[e.Name]; twice && e.Kind == Property && super.Kind == Property {
			c.add(e.Name, site.Duplicate, "the super type %q has this property already; leave it out here", owner[e.Name])
		} else if twice {
			c.warn(e.Name, site.NoEffect, "the super type %q has an element of this name, which counts; leave it out here", owner[e.Name])
		}
		if other, twice := childOf[e.Type]; e.Kind == Child && twice {
			c.add(e.Name+".type", site.Duplicate, "child %q is of the item type %q too; a type has one child of a type", other, e.Type)
		} else if e.Kind == Child {
			childOf[e.Type] = e.Name
		}
		c.element(e)
		c.requirements(e, structure)
	}
}

// requirements checks that require names siblings that are items, and leads to no cycle.
func (c *definitionCheck) requirements(e Element, structure map[string]Element) {
	for i, name := range e.Require {
		at := fmt.Sprintf("%s.require[%d]", e.Name, i)
		switch sibling, known := structure[name]; {
		case !known:
			c.add(at, site.UnknownReference, "%q is not an element of this type%s", name, meant(resource.Nearest(name, sortedKeys(structure))))
		case !kinds[sibling.Kind].items:
			c.add(at, site.BadStructure, "%q is a %s; only elements that hold items can be required", name, sibling.Kind)
		case reaches(structure, name, e.Name):
			c.add(at, site.Cycle, "%q requires %q too, directly or through others; take one requirement out", name, e.Name)
		}
	}
}

// reaches reports whether require leads from one element to another; it does from an element to itself.
func reaches(structure map[string]Element, from, to string) bool {
	queue, seen := []string{from}, map[string]bool{from: true}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if name == to {
			return true
		}
		for _, next := range structure[name].Require {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

func (c *definitionCheck) itemValidator(t Type, v ItemValidator, at string) {
	if itemValidators[v.Kind] == nil {
		c.add(at+".kind", site.UnknownType, "%q is not a kind of item validator%s", v.Kind, meant(resource.Nearest(v.Kind, sortedKeys(itemValidators))))
	}
	if len(v.Properties) < 2 && v.Kind != "at_least_one" || len(v.Properties) == 0 {
		c.add(at+".properties", site.MissingField, "name the properties that are compared, at least two")
	}
	structure := c.structure(t)
	for i, name := range v.Properties {
		if e, known := structure[name]; !known || e.Kind != Property {
			c.add(fmt.Sprintf("%s.properties[%d]", at, i), site.UnknownReference, "%q is not a property of this type%s",
				name, meant(resource.Nearest(name, sortedKeys(structure))))
		}
	}
}

// childCycle is a way from a type through required children back to the type, as type, child, type, ...; nil when there is none.
func (c *definitionCheck) childCycle(start Type) []string {
	seen := make(map[string]bool)
	var visit func(t Type, way []string) []string
	visit = func(t Type, way []string) []string {
		structure := c.structure(t)
		for _, name := range sortedKeys(structure) {
			e := structure[name]
			next, known := c.types[e.Type]
			if e.Kind != Child || !e.Required || !known {
				continue
			}
			further := append(slices.Clone(way), name, next.ID)
			if next.ID == start.ID {
				return further
			}
			if !seen[next.ID] {
				seen[next.ID] = true
				if found := visit(next, further); found != nil {
					return found
				}
			}
		}
		return nil
	}
	return visit(start, []string{start.ID})
}
