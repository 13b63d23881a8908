package item

import (
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Validate checks the whole model before a plan: required items, sizes of collections, properties, and the rules between items. All mistakes
// come back, item by item in path order, then those between items (litp.md 21-24). Items that are marked for removal are not checked by
// themselves.
func (t *Tree) Validate() site.Problems {
	var problems site.Problems
	for it := range t.All() {
		if it.goes() || it.IsCollection() {
			continue
		}
		problems = append(problems, it.validate()...)
	}
	problems = append(problems, t.unique()...)
	return append(problems, t.lists()...)
}

func (it *Item) validate() site.Problems {
	var problems site.Problems
	for _, e := range it.typ.elements {
		child := it.Child(e.Name)
		switch {
		case child == nil && e.Required && kinds[e.Kind].items:
			problems = append(problems, problem(it.path, e.Name, MissingRequiredItem, "type %q needs a %s %q of type %q; create it",
				it.typ.ID, e.Kind, e.Name, e.item.ID))
		case child == nil:
		case e.Required && child.goes():
			problems = append(problems, problem(child.path, "", MissingRequiredItem, "the item is required and cannot be removed while %s stays", it.path))
		case kinds[e.Kind].many:
			problems = append(problems, child.size()...)
		}
	}
	return append(problems, checkProperties(it.path, it.typ, it.Properties())...)
}

// size checks the number of items in a collection; those that go do not count.
func (it *Item) size() site.Problems {
	n := 0
	for _, child := range it.children {
		if !child.goes() {
			n++
		}
	}
	switch limit := it.hangs.limit(); {
	case n < it.hangs.Min:
		return one(it.path, "", Cardinality, "the collection has %d items that are not marked for removal; it needs at least %d", n, it.hangs.Min)
	case n > limit:
		return one(it.path, "", Cardinality, "the collection has %d items that are not marked for removal; it takes at most %d", n, limit)
	}
	return nil
}
