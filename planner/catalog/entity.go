package catalog

import (
	"iter"
	"slices"
)

// Entity is a type of service (lsm.md 2). A definition names types and ancestors; a resolved entity, as
// [Catalog.Entities] has it, is complete by itself: it holds what its ancestors bring, and every type is known.
type Entity struct {
	Name        string `json:"name" key:"-"`
	Description string `json:"description,omitempty"`
	Version     int    `json:"version"`            // of the entity, 0 and up
	Extends     string `json:"extends,omitempty"`  // the entity that this one adds to
	Abstract    bool   `json:"abstract,omitempty"` // only there to be extended or embedded: no service is of it
	// name; an ancestor's, or [DefaultLifecycle], where none is written
	Lifecycle string `json:"lifecycle" key:",filled"`
	// Section is the section of a node that its tasks stand in (litp.md 90); an ancestor's, or Services, where none is
	// written.
	Section  Section `json:"section"`
	Identity string  `json:"identity,omitempty"` // attribute that names a service among those of the entity (lsm.md 14)
	// Loose turns off strict enforcement of modifiers in embedded entities (lsm.md 13). A descendant of a loose entity
	// is loose.
	Loose bool   `json:"loose,omitempty" key:"-"`
	Owner *Owner `json:"owner,omitempty"`
	Structure
	Tasks       []Task         `json:"tasks,omitempty"`
	Annotations map[string]any `json:"annotations,omitempty"`
	Ancestors   []string       `json:"ancestors,omitempty" key:"-"` // resolved only: nearest first
}

// DefaultLifecycle is the lifecycle of an entity that names none.
const DefaultLifecycle = "slipway_default"

// Owner says which service owns a service of the entity (lsm.md 15).
type Owner struct {
	Entity   string `json:"entity" key:",required"`
	Relation string `json:"relation" key:",required"` // relation of the entity that leads to the owner
}

// Section is a part of a node. Tasks in a later section wait for those in the earlier ones it needs (litp.md 90,
// design.md 5.5).
type Section string

// The sections of a node.
const (
	System            Section = "system"
	OS                Section = "os"
	NetworkInterfaces Section = "network_interfaces"
	Routes            Section = "routes"
	StorageProfile    Section = "storage_profile"
	FileSystems       Section = "file_systems"
	Configs           Section = "configs"
	Items             Section = "items"
	Services          Section = "services"
)

// Sections returns the sections in the order of design.md 5.5.
func Sections() []Section {
	return []Section{System, OS, NetworkInterfaces, Routes, StorageProfile, FileSystems, Configs, Items, Services}
}

// Modifier says who may change an attribute, and when (lsm.md 3).
type Modifier string

// The modifiers.
const (
	Allocated Modifier = "r"   // slipway sets it: an allocator, or a value that a callback returns
	Fixed     Modifier = "rw"  // set at creation, the default
	Changing  Modifier = "rw+" // set at creation and in updates
)

// Modifiers returns all modifiers.
func Modifiers() []Modifier { return []Modifier{Allocated, Fixed, Changing} }

// Structure is what the attributes of a service look like: plain ones, embedded entities and relations. Their names are
// unique in it.
type Structure struct {
	Attributes []Attribute `json:"attributes,omitempty"`
	Embedded   []Embedded  `json:"embedded,omitempty"`
	Relations  []Relation  `json:"relations,omitempty"`
}

// Attribute is a plain attribute.
type Attribute struct {
	Name        string         `json:"name" key:"-"`
	Description string         `json:"description,omitempty"`
	Type        Type           `json:"type"`
	Modifier    Modifier       `json:"modifier"`
	HasDefault  bool           `json:"has_default,omitempty" key:"-"` // without one, a value is required (lsm.md 2)
	Default     any            `json:"default"`                       // nil is a real default: null
	Sensitive   bool           `json:"sensitive,omitempty"`           // never shown, nor is anything made from it
	Allocate    *Allocation    `json:"allocate,omitempty"`            // for the modifier r: how slipway chooses the value
	Annotations map[string]any `json:"annotations,omitempty"`
}

// Embedded is a collection of children that live and die with the service (lsm.md 13).
type Embedded struct {
	Name        string   `json:"name" key:"-"`
	Description string   `json:"description,omitempty"`
	Of          string   `json:"of,omitempty"` // entity whose structure the children have, beside what is written here
	Modifier    Modifier `json:"modifier"`
	Lower       int      `json:"lower"`
	// nil: no limit; with 1 the value is an object or null, else a list of objects
	Upper *int     `json:"upper" key:",null"`
	Key   []string `json:"key,omitempty"` // attributes that distinguish the children of a list
	Structure
	Annotations map[string]any `json:"annotations,omitempty"`
}

// Relation is a reference to other services (lsm.md 14).
type Relation struct {
	Name        string   `json:"name" key:"-"`
	Description string   `json:"description,omitempty"`
	Entity      string   `json:"entity" key:",required"` // what the services are; a descendant will do
	Modifier    Modifier `json:"modifier"`
	Lower       int      `json:"lower"`
	// nil: no limit; with 1 the value is an id or null, else a list of ids
	Upper       *int           `json:"upper" key:",null"`
	Annotations map[string]any `json:"annotations,omitempty"`
}

// Single reports whether the value is one object or id, or null, and no list.
func (e Embedded) Single() bool { return e.Upper != nil && *e.Upper == 1 }

// Single reports whether the value is one id, or null, and no list.
func (r Relation) Single() bool { return r.Upper != nil && *r.Upper == 1 }

// Attribute returns the plain attribute of a name.
func (s Structure) Attribute(name string) (Attribute, bool) {
	for _, a := range s.Attributes {
		if a.Name == name {
			return a, true
		}
	}
	return Attribute{}, false
}

// Element is an attribute, an embedded entity or a relation of a structure.
type Element struct {
	Name     string
	Path     string // below the structure: `embedded.files`
	Modifier *Modifier
}

// Elements returns all elements: attributes, embedded entities, relations.
func (s Structure) Elements() iter.Seq[Element] {
	return func(yield func(Element) bool) {
		for i := range s.Attributes {
			if a := &s.Attributes[i]; !yield(Element{a.Name, "attributes." + a.Name, &a.Modifier}) {
				return
			}
		}
		for i := range s.Embedded {
			if e := &s.Embedded[i]; !yield(Element{e.Name, "embedded." + e.Name, &e.Modifier}) {
				return
			}
		}
		for i := range s.Relations {
			if r := &s.Relations[i]; !yield(Element{r.Name, "relations." + r.Name, &r.Modifier}) {
				return
			}
		}
	}
}

// Names returns the names of all elements.
func (s Structure) Names() []string {
	names := make([]string, 0, len(s.Attributes)+len(s.Embedded)+len(s.Relations))
	for e := range s.Elements() {
		names = append(names, e.Name)
	}
	return names
}

// Is reports whether the entity is of the given name or extends one that is (litp.md 8).
func (e Entity) Is(name string) bool { return e.Name == name || slices.Contains(e.Ancestors, name) }
