package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	// maxElements bounds the attributes, embedded entities and relations of one entity at all depths: nested entities
	// double quickly.
	maxElements = 10_000
	// maxTotal bounds the same, and the tasks, of all entities together: descendants have everything that their
	// ancestors have.
	maxTotal = 500_000
	// maxAncestors bounds a chain of entities that extend each other.
	maxAncestors = 100
	// maxDepth bounds nested embedded entities.
	maxDepth = 16
)

// Resolve brings definitions together: every type gets its kind and all its rules, every entity what its ancestors and
// the entities that it embeds bring. All errors come together, in the order of the definitions; with any there is no
// catalog.
//
// An entity is in the catalog also when it is abstract. Templates are looked at by planner/refine.
func Resolve(d Definitions) (*Catalog, []invalid.Error) {
	r := resolver{
		types:    predefined(),
		entities: make(map[string]*resolution, len(d.Entities)),
	}
	r.defineTypes(d.Types)
	r.definePools(d.Pools)
	for i := range d.Entities {
		e := &d.Entities[i]
		if _, ok := r.entities[e.Name]; ok {
			r.errs = append(r.errs, invalid.Error{Object: "entity", Name: e.Name, Later: true, Code: Duplicate,
				Message: "there is another entity of this name; give each a name of its own, or leave one out"})
			continue
		}
		r.entities[e.Name] = &resolution{definition: e}
		r.names = append(r.names, e.Name)
	}
	out := &Catalog{Ordering: d.Ordering, origins: make(map[string][]Origin, len(r.names))}
	for _, name := range r.names {
		r.entity(name)
	}
	for _, name := range r.names {
		resolved := r.entities[name]
		for _, m := range resolved.errs {
			r.errs = append(r.errs, inObject("entity", name, false, m))
		}
		out.Entities = append(out.Entities, resolved.entity)
		out.origins[name] = resolved.origins
	}
	for _, m := range d.Ordering.validate(&r.names) {
		r.errs = append(r.errs, inObject("ordering", "", false, m))
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return out, nil
}

type resolver struct {
	types    map[string]Type // own named types and the predefined ones
	own      []string        // names of own types
	entities map[string]*resolution
	names    []string // of entities, in the order of their definitions
	path     []string // entities that are being resolved
	errs     []invalid.Error
	missing  int // how often something was named that there is not
	total    int // elements and tasks of all entities, inherited and embedded ones included

	pools     map[string]Pool
	poolNames []string // in the order of their definitions
}

// resolution is the state of the resolution of one entity.
type resolution struct {
	definition *Entity
	entity     Entity
	origins    []Origin
	state      int // unseen, open, done
	errs       errs
}

const (
	unseen = iota
	open
	done
)

// defineTypes resolves the kind and rules of each user-defined type.
func (r *resolver) defineTypes(definitions []TypeDefinition) {
	builtin := predefined()
	byName := make(map[string]TypeDefinition, len(definitions))
	for _, d := range definitions {
		report := func(path string, code invalid.Code, again bool, message string) {
			r.errs = append(r.errs, inObject("type", d.Name, again,
				invalid.Error{Attribute: path, Code: code, Message: message}))
		}
		if _, ok := builtin[d.Name]; ok {
			report("", Redefined, false, "is a type that every catalog has; give yours another name")
			continue
		}
		if _, ok := byName[d.Name]; ok {
			report("", Duplicate, true,
				"there is another type of this name; give each a name of its own, or leave one out")
			continue
		}
		byName[d.Name] = d
		r.own = append(r.own, d.Name)
	}
	var define func(name string, path []string) (Type, bool)
	define = func(name string, path []string) (Type, bool) {
		if t, ok := r.types[name]; ok {
			return t, t.Kind != ""
		}
		d, ok := byName[name]
		if !ok {
			return Type{}, false
		}
		var m errs
		defer func() {
			for _, wrong := range m {
				r.errs = append(r.errs, inObject("type", name, false, wrong))
			}
		}()
		if i := slices.Index(path, name); i >= 0 {
			m.add("extends", Cycle, "types extend each other: %s",
				strings.Join(append(slices.Clone(path[i:]), name), " -> "))
			r.types[name] = Type{}
			return Type{}, false
		}
		m.name("", name, identifier)
		base, ok := define(d.Extends, append(path, name))
		if _, found := r.types[name]; found {
			return Type{}, false // the cycle has been reported
		}
		t := Type{}
		switch {
		case ok:
			m.validateRules("", d.Rules, base.Kind, false)
			t = Type{Kind: base.Kind, Rules: slices.Concat(base.Rules, d.Rules)}
		case d.Extends == "":
			m.add("extends", BadValue, "is needed: the kind or type that this one narrows down")
		case strings.ContainsAny(d.Extends, "[]?"):
			m.add("extends", UnknownType, "%q has [] or ?; write these where the type is used", d.Extends)
		default:
			if _, known := byName[d.Extends]; !known {
				m.add("extends", UnknownType, "%s", r.unknownType(d.Extends))
			}
		}
		r.types[name] = t // without a kind if invalid, so that its uses are not reported too
		return t, t.Kind != ""
	}
	for _, d := range definitions {
		define(d.Name, nil)
	}
}

// unknown reports an unknown name, and for the first few suggests a similar one.
func (r *resolver) unknown(what, name string, known func() []string) string {
	if r.missing++; r.missing > resource.MostHints {
		return fmt.Sprintf("there is no %s %q", what, name)
	}
	return resource.NoSuch(what, name, known())
}

func (r *resolver) entityNames() []string { return slices.Sorted(slices.Values(r.names)) }

// elsewhere maps types of other languages to their names here.
var elsewhere = map[string]string{
	"list": listHint, "set": listHint, "array": listHint, "tuple": listHint,
	"map": dictHint, "object": dictHint, "mapping": dictHint,
	"integer": `use "int"`, "boolean": `use "bool"`, "str": `use "string"`, "text": `use "string"`,
	"double": `use "float"`,
	"enum":   `use "string" with the rule enum`,
}

const (
	listHint = `a list has [] behind the type of its elements, as in "string[]"`
	dictHint = `use "dict", or an embedded entity`
)

// unknownType returns a message for an unknown type that suggests another one.
func (r *resolver) unknownType(name string) string {
	word, _, _ := strings.Cut(name, "(")
	switch hint := elsewhere[word]; {
	case strings.HasSuffix(name, "[]"):
		return fmt.Sprintf("there are no lists of lists, so no type %q; use an embedded entity, or \"dict[]\"",
			name+"[]")
	case hint != "":
		return fmt.Sprintf("there is no type %q; %s", name, hint)
	}
	return r.unknown("type", name, r.typeNames)
}

func (r *resolver) typeNames() []string {
	return slices.Concat(r.own, resource.Texts(Kinds()), PredefinedTypes())
}

// entity resolves one entity and its ancestors. It returns nil if the entity is unknown or is being resolved.
func (r *resolver) entity(name string) *resolution {
	s, ok := r.entities[name]
	if !ok || s.state == open {
		return nil
	}
	if s.state == done {
		return s
	}
	s.state = open
	r.path = append(r.path, name)
	defer func() {
		s.state = done
		r.path = r.path[:len(r.path)-1]
	}()
	d, m := s.definition, &s.errs
	m.name("", d.Name, title)
	if r.total > maxTotal {
		return s // that is already reported
	}
	s.entity = *d
	e := &s.entity
	if parent := r.base(d.Extends, "extends", m); parent != nil {
		p := parent.entity
		e.Ancestors = append([]string{d.Extends}, p.Ancestors...)
		if len(e.Ancestors) > maxAncestors {
			m.add("extends", BadValue, "builds on more than %d entities, one on the other; make the chain shorter",
				maxAncestors)
			e.Ancestors = nil // those that extend it are not reported again
		}
		e.Lifecycle = cmp.Or(e.Lifecycle, p.Lifecycle)
		e.Section = cmp.Or(e.Section, p.Section)
		e.Identity = cmp.Or(e.Identity, p.Identity)
		e.Loose = e.Loose || p.Loose
		if e.Owner == nil {
			e.Owner = p.Owner
		}
		m.redefinitions("", d.Structure, p.Structure,
			fmt.Sprintf("%q has this element already, through what it extends", d.Name))
		own := r.structure("", d.Structure, 0, m)
		e.Structure = merge(p.Structure, own)
		e.Tasks = slices.Concat(p.Tasks, d.Tasks)
		s.origins = slices.Clone(parent.origins)
	} else {
		e.Ancestors = nil
		e.Structure = r.structure("", d.Structure, 0, m)
	}
	for i := range d.Tasks {
		s.origins = append(s.origins, Origin{d.Name, i})
	}
	e.Lifecycle = cmp.Or(e.Lifecycle, DefaultLifecycle)
	e.Section = cmp.Or(e.Section, Services)
	n := e.size()
	if n > maxElements {
		m.add("", BadValue, "has %d attributes with all that it embeds; %d is the most", n, maxElements)
		e.Structure = Structure{} // what embeds it would only grow
		return s
	}
	if r.total += n + len(e.Tasks); r.total > maxTotal {
		m.add("", BadValue,
			"is where the entities have more than %d attributes and tasks together, with what they inherit and embed; make them build on less", maxTotal)
		return s
	}
	m.structure("", d.Structure, e.Structure, true)
	m.entity(*e, r)
	m.tasks(*e, len(e.Tasks)-len(d.Tasks))
	return s
}

// base resolves an entity that another one extends or embeds, and reports a missing one.
func (r *resolver) base(name, path string, m *errs) *resolution {
	if name == "" {
		return nil
	}
	if i := slices.Index(r.path, name); i >= 0 {
		m.add(path, Cycle, "entities build on each other: %s",
			strings.Join(append(slices.Clone(r.path[i:]), name), " -> "))
		return nil
	}
	found := r.entity(name)
	if found == nil {
		m.add(path, UnknownEntity, "%s", r.unknown("entity", name, r.entityNames))
	}
	return found
}

// structure resolves the types and embedded entities of a structure.
func (r *resolver) structure(path string, s Structure, depth int, m *errs) Structure {
	out := Structure{Attributes: slices.Clone(s.Attributes), Embedded: slices.Clone(s.Embedded),
		Relations: slices.Clone(s.Relations)}
	for e := range out.Elements() {
		*e.Modifier = cmp.Or(*e.Modifier, Fixed)
	}
	for i := range out.Attributes {
		a := &out.Attributes[i]
		a.Type = r.typeOf(invalid.PathTo(path, "attributes."+a.Name), a.Type, m)
		a.Allocate = r.allocationOf(path, a.Name, a.Allocate, m)
		if a.HasDefault && a.Type.Kind != "" {
			value, wrong := a.Type.check(invalid.PathTo(path, "attributes."+a.Name+".default"), a.Default, a.Sensitive)
			*m = append(*m, wrong...)
			a.Default = value
		}
	}
	for i := range out.Embedded {
		e := &out.Embedded[i]
		at := invalid.PathTo(path, "embedded."+e.Name)
		if depth >= maxDepth {
			m.add(at, BadValue, "is more than %d levels deep", maxDepth)
			e.Structure = Structure{}
			continue
		}
		own := r.structure(at, e.Structure, depth+1, m)
		if base := r.base(e.Of, at+".of", m); base != nil {
			own = merge(base.entity.Structure, own)
			if e.Key == nil && base.entity.Identity != "" && !e.Single() {
				e.Key = []string{base.entity.Identity}
			}
		}
		e.Structure = own
	}
	return out
}

func (r *resolver) typeOf(path string, t Type, m *errs) Type {
	base, list, nullable := ParseType(t.Name)
	found, ok := r.types[base]
	out := Type{Name: t.Name, Kind: found.Kind, List: list, Nullable: nullable}
	switch {
	case t.Name == "":
		m.add(path+".type", UnknownType, "is needed: a kind or a type")
	case !ok:
		m.add(path+".type", UnknownType, "%s", r.unknownType(base))
	case found.Kind != "":
		m.validateRules(path, t.Rules, found.Kind, list)
		out.Rules = slices.Concat(found.Rules, t.Rules)
	}
	return out
}

func merge(base, own Structure) Structure {
	return Structure{
		Attributes: slices.Concat(base.Attributes, own.Attributes),
		Embedded:   slices.Concat(base.Embedded, own.Embedded),
		Relations:  slices.Concat(base.Relations, own.Relations),
	}
}

// size counts the elements of a structure at all depths, up to the bound.
func (s Structure) size() int {
	n := len(s.Attributes) + len(s.Embedded) + len(s.Relations)
	for _, e := range s.Embedded {
		if n > maxElements {
			return n
		}
		n += e.size()
	}
	return n
}
