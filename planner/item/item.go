package item

import (
	"maps"
	"slices"
)

// Item is one item of a tree. The tree changes it; others read.
type Item struct {
	path     Path
	typ      *itemType // of a collection: of the items in it
	hangs    *element  // the element of the parent's type that holds it; nil for the root and for items in collections
	parent   *Item
	children []*Item // by id
	source   *Item   // what it inherits from
	heirs    []*Item // what inherits from it directly, by path

	own          map[string]string // properties set here
	applied      map[string]string // merged properties when it was last Applied
	state        State
	previous     State
	determinable bool // whether applied is what is on the nodes (litp.md 36)
}

// Path is the item's place and identity.
func (it *Item) Path() Path { return it.path }

// Type is the id of its type; of a collection, the type of the items in it.
func (it *Item) Type() string { return it.typ.ID }

// Parent is the item above it; nil for the root.
func (it *Item) Parent() *Item { return it.parent }

// Source is what the item inherits from; nil when it is no reference.
func (it *Item) Source() *Item { return it.source }

// State is what the item needs from a plan.
func (it *Item) State() State { return it.state }

// Previous is the state before; ForRemoval is never followed by itself, and leaving it does not count (litp.md 26).
func (it *Item) Previous() State { return it.previous }

// Determinable reports whether the applied properties are known to be what is on the nodes.
func (it *Item) Determinable() bool { return it.determinable }

// IsCollection reports whether the item only holds others.
func (it *Item) IsCollection() bool { return it.hangs != nil && kinds[it.hangs.Kind].many }

// Is reports whether the item is of a type or of one that extends it. Collections are of no type.
func (it *Item) Is(id string) bool { return !it.IsCollection() && it.typ.is(id) }

// Role is the role of the item's type; collections have none.
func (it *Item) Role() Role {
	if it.IsCollection() {
		return ""
	}
	return it.typ.role
}

// Children lists the items right below it, by id.
func (it *Item) Children() []*Item { return slices.Clone(it.children) }

// Child is the item of this id right below it; nil when there is none.
func (it *Item) Child(id string) *Item {
	if i, found := it.position(id); found {
		return it.children[i]
	}
	return nil
}

func (it *Item) position(id string) (int, bool) {
	return slices.BinarySearchFunc(it.children, id, func(c *Item, id string) int {
		switch other := c.path.ID(); {
		case other < id:
			return -1
		case other > id:
			return 1
		}
		return 0
	})
}

// Own is the value that the property has here, without its source.
func (it *Item) Own(name string) (string, bool) {
	value, set := it.own[name]
	return value, set
}

// Property is the value of a property, from here or along the sources; empty when none has one.
func (it *Item) Property(name string) string {
	for at := it; at != nil; at = at.source {
		if value, set := at.own[name]; set {
			return value
		}
	}
	return ""
}

// Properties are all values, those from here over those of its sources (litp.md 13). The map is the caller's.
func (it *Item) Properties() map[string]string { return it.merged(nil) }

// merged are the properties as they would be if those in changes, by item, were its own.
func (it *Item) merged(changes map[*Item]map[string]string) map[string]string {
	out := make(map[string]string)
	for at := it; at != nil; at = at.source {
		own, changed := changes[at]
		if !changed {
			own = at.own
		}
		for name, value := range own {
			if _, set := out[name]; !set {
				out[name] = value
			}
		}
	}
	return out
}

// Applied are the merged properties as they were last applied. The map is the caller's.
func (it *Item) Applied() map[string]string { return maps.Clone(it.applied) }

// View is the value of a view of the item's type.
func (it *Item) View(name string) (any, bool) {
	if e := it.typ.byName[name]; e != nil && e.Kind == View && !it.IsCollection() {
		return e.Value, true
	}
	return nil, false
}

// readOnly reports whether the item hangs on a read-only reference, itself or through an ancestor (litp.md 14).
func (it *Item) readOnly() bool {
	for ; it != nil; it = it.parent {
		if it.hangs != nil && it.hangs.ReadOnly {
			return true
		}
	}
	return false
}
