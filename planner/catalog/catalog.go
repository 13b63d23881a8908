// Package catalog is the typed model of services (litp.md 1, lsm.md 2): property types, entities with attributes,
// embedded entities and relations, the templates of their tasks, and ordering rules. It resolves inheritance, and
// checks definitions and the attributes of services. It is pure. Package planner/catalog/template has the template
// language.
package catalog

import "github.com/slipway/terraform-provider-slipway/planner/invalid"

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

// The codes of errors in a definition, or in the attributes of a service. Those for attributes have the names of the
// conformance vectors.
const (
	UnknownAttribute invalid.Code = "unknown_attribute"
	MissingAttribute invalid.Code = "missing_attribute"
	TypeMismatch     invalid.Code = "type_mismatch"
	ValidationFailed invalid.Code = "validation_failed"
	LimitViolation   invalid.Code = "limit_violation"
	DuplicateKey     invalid.Code = "duplicate_key"
	ReadOnly         invalid.Code = "readonly_attribute"
	Immutable        invalid.Code = "immutable_attribute" // an update changes what is fixed at creation
	IdentityFixed    invalid.Code = "identity_immutable"  // an update changes the identity attribute
	PoolExhausted    invalid.Code = "pool_exhausted"      // no value of a pool is free
	PoolConflict     invalid.Code = "pool_conflict"       // two services have the same value of a pool
	OutOfPool        invalid.Code = "out_of_pool"         // a service has a value that its pool does not have any more

	BadName       invalid.Code = "bad_name"
	BadValue      invalid.Code = "bad_value"
	BadTask       invalid.Code = "bad_task"
	BadTemplate   invalid.Code = "bad_template"
	Duplicate     invalid.Code = "duplicate"
	Redefined     invalid.Code = "redefined" // an element that an ancestor has already (litp.md 7)
	UnknownType   invalid.Code = "unknown_type"
	UnknownEntity invalid.Code = "unknown_entity"
	UnknownPool   invalid.Code = "unknown_pool"
	Cycle         invalid.Code = "cycle"
)

// inObject returns an error in a part of a definition as one of the definition.
func inObject(object, name string, later bool, e invalid.Error) invalid.Error {
	e.Object, e.Name, e.Later = object, name, later
	return e
}
