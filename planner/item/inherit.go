package item

import (
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Inherit makes an item that points to a source, with all that is below the source (litp.md 13). Its values are looked up along its sources
// whenever they are read; properties are the values it has instead; empty ones do not count. Below an item that inherits already, only
// what belongs there according to its source can be inherited again. On a path whose item is marked for removal it undoes the removal.
func (t *Tree) Inherit(path, source Path, properties map[string]string) site.Problems {
	given := make(map[string]string, len(properties))
	for name, value := range properties {
		if value != "" {
			given[name] = value
		}
	}
	if it := t.items[path]; it != nil && it.state == ForRemoval {
		return t.inheritAgain(it, source, given)
	}
	parent := t.items[path.Parent()]
	hangs, problems := t.mayInherit(path, source, parent, given)
	if problems != nil {
		return problems
	}
	from := t.items[source]
	merged := from.Properties()
	for name, value := range given {
		merged[name] = value
	}
	if problems := checkProperties(path, from.typ, merged); problems != nil {
		return problems
	}
	made := t.copy(from, parent, path.ID())
	made.hangs = hangs
	made.own = given
	t.follow(made)
	return deprecations(made)
}

// mayInherit is the checks of litp.md 14, then those of 1.3. It gives the element that the item will hang on, nil in a collection.
func (t *Tree) mayInherit(path, source Path, parent *Item, given map[string]string) (*element, site.Problems) {
	from := t.items[source]
	switch {
	case len(given) > 0 && parent != nil && (parent.readOnly() || parent.holdsReadOnly(path.ID())):
		return nil, one(path, "", ValidationFailed, "a read-only reference has no values of its own; inherit without properties")
	case from == nil:
		return nil, one(source, "", InvalidLocation, "there is no such item to inherit from; create the source first")
	case from.goes():
		return nil, one(path, "", MethodNotAllowed, "the source %s is marked for removal; undo its removal, or choose another source", source)
	case parent != nil && parent.source != nil && (from.parent != parent.source || source.ID() != path.ID()):
		return nil, one(path, "", MethodNotAllowed, "the parent inherits from %s; here only %s can be inherited again",
			parent.source.path, parent.source.path.Join(path.ID()))
	case from.IsCollection():
		return nil, one(path, "", ChildNotAllowed, "the source %s is a collection; inherit the items in it", source)
	}
	if problems := t.free(path, parent); problems != nil {
		return nil, problems
	}
	hangs, problems := t.fits(path, from.typ.ID, parent, true)
	if problems != nil {
		return nil, problems
	}
	for _, place := range append([]*Item{parent}, parent.Heirs()...) {
		if place.path.Within(source) {
			return nil, one(path, "", InvalidReference, "the item would contain itself: %s is within its source %s; choose another source",
				place.path.Join(path.ID()), source)
		}
	}
	return hangs, nil
}

// holdsReadOnly reports whether a child of this id would hang on a read-only reference.
func (it *Item) holdsReadOnly(id string) bool {
	e := it.typ.byName[id]
	return !it.IsCollection() && e != nil && e.ReadOnly
}
