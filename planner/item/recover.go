package item

import (
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// createAgain is [Tree.Create] on an item that is marked for removal. Everything is checked before anything changes (litp.md Q12).
func (t *Tree) createAgain(it *Item, typeID string, properties map[string]string) site.Problems {
	if problems := mayRecover(it); problems != nil {
		return problems
	}
	switch {
	case t.types.types[typeID] == nil:
		return one(it.path, "", InvalidType, "type %q: no such item type%s", typeID, t.types.nearest(typeID))
	case typeID != it.typ.ID:
		return one(it.path, "", ItemExists, "the item marked for removal here is of type %q, not %q; let a plan remove it first", it.typ.ID, typeID)
	}
	return t.update(it.path, Set(properties), (*Item).lockedForUsers, true)
}

// inheritAgain is [Tree.Inherit] on an item that is marked for removal.
func (t *Tree) inheritAgain(it *Item, source Path, properties map[string]string) site.Problems {
	switch {
	case it.source == nil:
		return one(it.path, "", ItemExists, "the item marked for removal here is no inherited one; let a plan remove it first")
	case it.source.path != source:
		return one(it.path, "", MethodNotAllowed, "the item marked for removal here inherits from %s; inherit it from there again, or let a plan remove it first",
			it.source.path)
	}
	return t.update(it.path, Set(properties), (*Item).lockedForUsers, true)
}

// mayRecover is the refusals of litp.md 39.
func mayRecover(it *Item) site.Problems {
	refuse := func(why string, args ...any) site.Problems { return one(it.path, "", MethodNotAllowed, why, args...) }
	switch {
	case it.previous == Removed:
		return refuse("a removal of the item failed once, so it cannot come back; let a plan remove it")
	case it.parent.goes():
		return refuse("the parent is marked for removal; undo its removal first")
	case it.source != nil && it.source.goes():
		return refuse("the source %s is marked for removal; undo its removal first", it.source.path)
	}
	for below := range it.Walk() {
		if below.source != nil && below.source.goes() {
			return refuse("%s inherits from %s, which is marked for removal; undo that removal first", below.path, below.source.path)
		}
	}
	return nil
}

// bringBack undoes a removal downwards, and in what inherits from there without values of its own (litp.md 40). What has a parent or a source
// that stays marked stays marked too.
func bringBack(it *Item) {
	if it.parent.goes() || it.source != nil && it.source.goes() {
		return
	}
	it.enter(it.comesBackAs())
	for _, child := range it.children {
		bringBack(child)
	}
	for _, heir := range it.heirs {
		if len(heir.own) == 0 {
			bringBack(heir)
		}
	}
}

// comesBackAs is the state after an undone removal. What was Applied is so only if nothing changed while it was marked: removals outlive
// changes of the source (litp.md Q10).
func (it *Item) comesBackAs() State {
	if s := it.next(recovered); s != Applied || it.pristine() {
		return s
	}
	return Updated
}
