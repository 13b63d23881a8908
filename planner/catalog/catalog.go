// Package catalog is the typed model of services (litp.md 1, lsm.md 2): property types, entities with attributes,
// embedded entities and relations, the templates of their tasks, and ordering rules. It resolves inheritance, and
// checks definitions and the attributes of services. It is pure. Package planner/catalog/template has the template
// language.
package catalog

import "fmt"

// Definitions are the contents of catalog documents before names are resolved, in the user's order.
type Definitions struct {
	Types    []TypeDefinition
	Pools    []Pool
	Entities []Entity
	Ordering Ordering
}

// Catalog is a set of consistent definitions.
type Catalog struct {
	Entities []Entity // resolved, in the order of their definitions
	Ordering Ordering

	origins map[string][]Origin
}

// Origin says which entity defines a task: the entity itself or an ancestor.
type Origin struct {
	Entity string
	Task   int // index in the definition of the entity
}

// Entity returns the entity with the name.
func (c *Catalog) Entity(name string) (*Entity, bool) {
	for i := range c.Entities {
		if c.Entities[i].Name == name {
			return &c.Entities[i], true
		}
	}
	return nil, false
}

// Origin returns the origin of task i of an entity. It is zero if there is no such task.
func (c *Catalog) Origin(entity string, i int) Origin {
	if list := c.origins[entity]; i >= 0 && i < len(list) {
		return list[i]
	}
	return Origin{}
}

// Code classifies a mistake. The codes for attributes have the names of the conformance vectors.
type Code string

// The codes.
const (
	UnknownAttribute Code = "unknown_attribute"
	MissingAttribute Code = "missing_attribute"
	TypeMismatch     Code = "type_mismatch"
	ValidationFailed Code = "validation_failed"
	LimitViolation   Code = "limit_violation"
	DuplicateKey     Code = "duplicate_key"
	ReadOnly         Code = "readonly_attribute"
	Immutable        Code = "immutable_attribute" // an update changes what is fixed at creation
	IdentityFixed    Code = "identity_immutable"  // an update changes the identity attribute
	PoolExhausted    Code = "pool_exhausted"      // no value of a pool is free
	PoolConflict     Code = "pool_conflict"       // two services have the same value of a pool
	OutOfPool        Code = "out_of_pool"         // a service has a value that its pool does not have any more

	BadName       Code = "bad_name"
	BadValue      Code = "bad_value"
	BadTask       Code = "bad_task"
	BadTemplate   Code = "bad_template"
	Duplicate     Code = "duplicate"
	Redefined     Code = "redefined" // an element that an ancestor has already (litp.md 7)
	UnknownType   Code = "unknown_type"
	UnknownEntity Code = "unknown_entity"
	UnknownPool   Code = "unknown_pool"
	Cycle         Code = "cycle"
)

// Mistake is an error in a definition, or in the attributes of a service.
type Mistake struct {
	Path    string // `vlans[1]`, `tasks[2].config.parameters.content`; empty for the whole
	Code    Code
	Message string // what is wrong, then what would be right; never a sensitive value
	// At is the exact path if Path covers an attribute of all children, as for changes that a modifier forbids: Path is
	// `files.mode`, At is `files[2].mode`. It is empty if Path is exact. See [Mistake.Place].
	At string
}

// Place returns the exact path of the mistake.
func (m Mistake) Place() string {
	if m.At != "" {
		return m.At
	}
	return m.Path
}

// Error returns the mistake on one line.
func (m Mistake) Error() string {
	if m.Place() == "" {
		return m.Message
	}
	return m.Place() + ": " + m.Message
}

// Problem is a mistake in a definition.
type Problem struct {
	Object string // "type", "pool", "entity" or "ordering"
	Name   string // of the type or entity
	Again  bool   // the object is a duplicate; the problem concerns the later one
	Mistake
}

// Error returns the problem on one line.
func (p Problem) Error() string {
	if p.Name == "" {
		return p.Object + ": " + p.Mistake.Error()
	}
	return fmt.Sprintf("%s %q: %s", p.Object, p.Name, p.Mistake.Error())
}
