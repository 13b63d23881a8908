package item

import (
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Create makes an item with its required children, its collections and its defaults (litp.md 10), and what follows from it in
// everything that inherits from its parent (15). On a path whose item is marked for removal it undoes the removal instead, and sets the
// properties given (39, 40). Of the mistakes of litp.md 11 the first is returned; mistakes in properties all. Problems may
// be warnings only: then the item is made.
func (t *Tree) Create(path Path, typeID string, properties map[string]string) site.Problems {
	if it := t.items[path]; it != nil && it.state == ForRemoval {
		return t.createAgain(it, typeID, properties)
	}
	parent := t.items[path.Parent()]
	typ := t.types.types[typeID]
	hangs, problems := t.mayCreate(path, typeID, parent)
	if problems != nil {
		return problems
	}
	complete := make(map[string]string)
	for _, e := range typ.elements {
		if e.Default != nil {
			complete[e.Name] = *e.Default
		}
	}
	for name, value := range properties {
		complete[name] = value
	}
	if problems := checkProperties(path, typ, complete); problems != nil {
		return problems
	}
	t.furnish(t.add(parent, path, typ, hangs), properties)
	t.follow(t.items[path])
	return deprecations(t.items[path])
}

// mayCreate is the checks of litp.md 11 before those of the properties. It gives the element that the item will hang on, nil in a collection.
func (t *Tree) mayCreate(path Path, typeID string, parent *Item) (*element, site.Problems) {
	switch {
	case parent != nil && parent.source != nil:
		return nil, one(path, "", MethodNotAllowed, "the parent inherits from %s; create the item there, or remove the parent and create it new",
			parent.source.path)
	case t.types.types[typeID] == nil:
		return nil, one(path, "", InvalidType, "type %q: no such item type%s", typeID, t.types.nearest(typeID))
	}
	if problems := t.free(path, parent); problems != nil {
		return nil, problems
	}
	return t.fits(path, typeID, parent, false)
}

// free checks that a new item can be at a path.
func (t *Tree) free(path Path, parent *Item) site.Problems {
	switch {
	case !itemID.MatchString(path.ID()) || parent != nil && parent.path.Join(path.ID()) != path:
		return one(path, "", ValidationFailed, "%q is not a usable id; use letters, digits, '-' and '_'", path.ID())
	case parent == nil:
		return one(path, "", InvalidLocation, "there is no item %s; create it first", path.Parent())
	case parent.goes():
		return one(path, "", MethodNotAllowed, "the parent is marked for removal; undo its removal first")
	case t.items[path] != nil:
		return one(path, "", ItemExists, "there is an item at this path already; update it, or choose another id")
	}
	return nil
}

// fits checks that the parent has room for an item of a type, created or inherited, and gives the element it will hang on.
func (t *Tree) fits(path Path, typeID string, parent *Item, inherited bool) (*element, site.Problems) {
	var e *element
	var hangs *element
	if parent.IsCollection() {
		e = parent.hangs
	} else if e = parent.typ.byName[path.ID()]; e == nil || !kinds[e.Kind].items {
		return nil, one(path, "", ChildNotAllowed, "type %q has no child %q%s", parent.typ.ID, path.ID(),
			meant(resource.Nearest(path.ID(), sortedKeys(parent.typ.byName))))
	} else {
		hangs = e
	}
	switch again := inherited && parent.source != nil; {
	case !t.types.Is(typeID, e.item.ID):
		return nil, one(path, "", InvalidChildType, "an item of type %q cannot be here; %q holds items of type %q", typeID, e.Name, e.item.ID)
	case kinds[e.Kind].references && !inherited:
		return nil, one(path, "", ChildNotAllowed, "%q holds inherited items only; inherit it from a source", e.Name)
	case !kinds[e.Kind].references && inherited && !again:
		return nil, one(path, "", ChildNotAllowed, "%q holds items of its own only; create the item instead of inheriting it", e.Name)
	}
	return hangs, nil
}

// follow makes the item that was just made appear below everything that inherits from its parent (litp.md 15). Below a parent that is
// marked for removal it is marked at once.
func (t *Tree) follow(it *Item) {
	var goes []*Item
	for _, heir := range it.parent.Heirs() {
		source := heir.source.Child(it.path.ID())
		if source == nil || heir.Child(it.path.ID()) != nil {
			continue
		}
		made := t.copy(source, heir, source.path.ID())
		if heir.goes() {
			goes = append(goes, made)
		}
	}
	for _, made := range goes {
		for below := range made.Walk() {
			below.on(marked)
		}
	}
}

// copy makes an item that inherits from source, and all that is below, without what is marked for removal there (litp.md 13).
func (t *Tree) copy(source, parent *Item, id string) *Item {
	made := t.add(parent, parent.path.Join(id), source.typ, source.hangs)
	made.inherits(source)
	for _, child := range source.children {
		if !child.goes() {
			t.copy(child, made, child.path.ID())
		}
	}
	return made
}
