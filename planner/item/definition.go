package item

// Definitions are all types of a model, as plain data. [Register] checks them and makes them usable.
type Definitions struct {
	Properties []PropertyType
	Types      []Type
}

// PropertyType says which values a property may have. Values are always strings (litp.md 1).
type PropertyType struct {
	ID         string
	Pattern    string      // regular expression (RE2) for the whole value; empty: anything
	Validators []Validator // tried in order after the pattern; the first that fails is reported (litp.md 2)
}

// Validator is one more condition on a value. Kind is a key of the table in value.go; which other fields it needs is said there.
type Validator struct {
	Kind   string
	Values []string
	Min    *int64 // nil: no bound
	Max    *int64
}

// Role marks the types by which the planner finds its way in the tree. A sub type has the role of its super type.
type Role string

// Roles.
const (
	RoleNode       Role = "node"
	RoleManagement Role = "management" // the management server
	RoleCluster    Role = "cluster"
	RoleSite       Role = "site"
	RoleSnapshot   Role = "snapshot" // items that no deployment plan sets Applied (litp.md 33)
)

// Type is an item type (litp.md 3).
type Type struct {
	ID          string
	Extends     string // super type; empty: none
	Description string
	Deprecated  string // what to use instead; empty: not deprecated
	Role        Role
	Validators  []ItemValidator // conditions on the merged properties of one item; a sub type has those of its super types too
	Elements    []Element
}

// ItemValidator is a condition on several properties of one item. Kind is a key of the table in value.go.
type ItemValidator struct {
	Kind       string
	Properties []string
}

// Kind is the kind of a structure element.
type Kind string

// The six kinds of structure elements (litp.md 3).
const (
	Property      Kind = "property"
	View          Kind = "view"           // a value that is shown and cannot be set (litp.md 5)
	Child         Kind = "child"          // one item of its own
	Collection    Kind = "collection"     // any number of items of its own
	Reference     Kind = "reference"      // one inherited item
	RefCollection Kind = "ref_collection" // any number of inherited items
)

// MaxItems bounds a collection without a maximum (litp.md 6).
const MaxItems = 9999

// Element is one named element of a type's structure. The fields after Type count for the kinds named beside them only; elsewhere they
// are a mistake.
type Element struct {
	Name string
	Kind Kind
	Type string // a property type for [Property], empty for [View], an item type for all others

	Required bool    // property, child, reference
	Default  *string // property
	Value    any     // view: what it shows

	UserReadOnly    bool // property: users may not change it once it is applied (litp.md 19)
	PluginUpdatable bool // property: plugins may write it
	Data            bool // property: no configuration, no task is needed to apply it (litp.md 4)
	SiteSpecific    bool // property: informative
	Managed         bool // property: the planner's own, such as a node's lock flag; starts with its default, users never change it

	// Unique names a set of values: no two items have the same value in it, whatever their types. FoldCase compares without case.
	Unique   string // property
	FoldCase bool   // property, with Unique

	// IDsOf names a collection of the item that owns the collection this item is in; the value is a comma list of ids of items in it.
	// When that is the item's own collection, the list says what the item depends on: not itself, not in a cycle (litp.md 23).
	IDsOf string // property

	ReadOnly  bool     // reference, ref_collection: no own values in the inherited items
	Permanent bool     // child: users cannot remove it (litp.md 38)
	Min, Max  int      // collection, ref_collection; Max 0 is [MaxItems]
	Require   []string // child, collection, reference, ref_collection: sibling elements that are configured first (litp.md 90)

	Deprecated string // what to use instead; empty: not deprecated
}
