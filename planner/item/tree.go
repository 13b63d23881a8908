package item

import (
	"iter"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Tree is a model: items by path. It is not for concurrent use.
type Tree struct {
	types *Registry
	items map[Path]*Item
	root  *Item
}

// New makes a tree that has the root item, of the type rootType, and what belongs to it.
func New(types *Registry, rootType string) (*Tree, site.Problems) {
	t := &Tree{types: types, items: make(map[Path]*Item)}
	typ := types.types[rootType]
	if typ == nil {
		return nil, one(Root, "", InvalidType, "type of the root %q: no such item type%s", rootType, types.nearest(rootType))
	}
	t.root = t.add(nil, Root, typ, nil)
	t.furnish(t.root, nil)
	return t, nil
}

// Types is the registry of the tree.
func (t *Tree) Types() *Registry { return t.types }

// Root is the item above all others.
func (t *Tree) Root() *Item { return t.root }

// Get is the item at a path; nil when there is none.
func (t *Tree) Get(path Path) *Item { return t.items[path] }

// Len is the number of items.
func (t *Tree) Len() int { return len(t.items) }

// All walks all items in path order ([Path.Compare]). The tree must not change meanwhile.
func (t *Tree) All() iter.Seq[*Item] { return t.root.Walk() }

// Walk goes over an item and all that is below it, in path order. The tree must not change meanwhile.
func (it *Item) Walk() iter.Seq[*Item] {
	return func(yield func(*Item) bool) { it.walk(yield) }
}

func (it *Item) walk(yield func(*Item) bool) bool {
	if !yield(it) {
		return false
	}
	for _, child := range it.children {
		if !child.walk(yield) {
			return false
		}
	}
	return true
}

// Heirs lists all that inherits from the item, directly and through others: an heir before those that inherit from it.
func (it *Item) Heirs() []*Item {
	var out []*Item
	for _, heir := range it.heirs {
		out = append(append(out, heir), heir.Heirs()...)
	}
	return out
}

// add puts a new item in its place.
func (t *Tree) add(parent *Item, path Path, typ *itemType, hangs *element) *Item {
	it := &Item{
		path: path, typ: typ, hangs: hangs, parent: parent,
		own: map[string]string{}, applied: map[string]string{}, state: Initial, determinable: true,
	}
	t.items[path] = it
	if parent != nil {
		i, _ := parent.position(path.ID())
		parent.children = slices.Insert(parent.children, i, it)
	}
	return it
}

// inherits makes an item a reference.
func (it *Item) inherits(source *Item) {
	i, _ := slices.BinarySearchFunc(source.heirs, it, byPath)
	source.heirs = slices.Insert(source.heirs, i, it)
	it.source = source
}

func byPath(a, b *Item) int { return a.path.Compare(b.path) }

// drop takes an item without children and heirs out of the tree.
func (t *Tree) drop(it *Item) {
	delete(t.items, it.path)
	if i, found := it.parent.position(it.path.ID()); found {
		it.parent.children = slices.Delete(it.parent.children, i, i+1)
	}
	if it.source != nil {
		it.source.heirs = slices.DeleteFunc(it.source.heirs, func(heir *Item) bool { return heir == it })
	}
}

// furnish gives a new item that is no reference its defaults, collections and required children (litp.md 10).
func (t *Tree) furnish(it *Item, given map[string]string) {
	for _, e := range it.typ.elements {
		value, set := given[e.Name]
		switch {
		case e.Kind == Property && e.Default != nil && (!set || e.Managed):
			it.own[e.Name] = *e.Default
		case e.Kind == Property && set && !e.Managed:
			it.own[e.Name] = value
		case kinds[e.Kind].many:
			t.add(it, it.path.Join(e.Name), e.item, e)
		case e.Kind == Child && e.Required:
			t.furnish(t.add(it, it.path.Join(e.Name), e.item, e), nil)
		}
	}
}
