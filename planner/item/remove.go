package item

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Remove takes an item, all below it and all that inherits from any of these away: at once where nothing of it can be on a node, else
// by marking it for the next plan (litp.md 16, 37).
func (t *Tree) Remove(path Path) site.Problems {
	it := t.items[path]
	if it == nil {
		return one(path, "", InvalidLocation, "there is no such item")
	}
	switch {
	case it == t.root:
		return one(path, "", MethodNotAllowed, "the root cannot be removed")
	case it.hangs != nil && it.hangs.Permanent:
		return one(path, "", MethodNotAllowed, "the item belongs to the base of the model and cannot be removed")
	case it.IsCollection():
		return one(path, "", MethodNotAllowed, "a collection cannot be removed; remove the items in it")
	}
	t.takeAway(it)
	return nil
}

// takeAway removes or marks an item and what goes with it. A collection goes with its parent only: one that could go is left for the
// parent to drop or to mark.
func (t *Tree) takeAway(it *Item) {
	for _, heir := range slices.Clone(it.heirs) {
		t.takeAway(heir)
	}
	for _, child := range slices.Clone(it.children) {
		t.takeAway(child)
	}
	if !it.traceless() {
		it.on(marked)
		for _, child := range it.children {
			child.on(marked)
		}
		return
	}
	if it.IsCollection() {
		return
	}
	for _, collection := range slices.Clone(it.children) {
		t.drop(collection)
	}
	t.drop(it)
}

// traceless reports whether an item whose children and heirs were taken away can leave the model at once: nothing of it, and nothing
// around it that decides over it, can be on a node (litp.md 37; of the items beside it nothing depends, Q11).
func (it *Item) traceless() bool {
	if it.state != Initial || len(it.heirs) > 0 {
		return false
	}
	for _, child := range it.children {
		if !child.IsCollection() || child.state != Initial || !child.determinable || len(child.children) > 0 || len(child.heirs) > 0 {
			return false
		}
	}
	for at := it; at != nil; at = at.parent {
		if !at.determinable {
			return false
		}
	}
	return true
}
