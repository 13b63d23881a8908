package item

import "maps"

// Restore is the model of a saved tree with the snapshots that t has now: a snapshot outlives the return to an older model (litp.md 42). Both
// trees stay as they are.
func (t *Tree) Restore(saved *Tree) *Tree {
	out := saved.Clone()
	for _, it := range snapshots(out) {
		out.dropAll(it)
	}
	for _, it := range snapshots(t) {
		if parent := out.items[it.path.Parent()]; parent != nil && out.items[it.path] == nil {
			out.take(it, parent)
		}
	}
	return out
}

func snapshots(t *Tree) []*Item {
	var found []*Item
	for it := range t.root.WithRole(RoleSnapshot) {
		if it.parent.Nearest(RoleSnapshot) == nil {
			found = append(found, it)
		}
	}
	return found
}

// dropAll takes an item with all below and all heirs out of the tree.
func (t *Tree) dropAll(it *Item) {
	for len(it.heirs) > 0 {
		t.dropAll(it.heirs[0])
	}
	for len(it.children) > 0 {
		t.dropAll(it.children[0])
	}
	t.drop(it)
}

// take copies an item of another tree, with what is below it, as items without sources.
func (t *Tree) take(it, parent *Item) {
	made := t.add(parent, it.path, it.typ, it.hangs)
	made.own, made.applied = it.Properties(), maps.Clone(it.applied)
	made.state, made.previous, made.determinable = it.state, it.previous, it.determinable
	for _, child := range it.children {
		t.take(child, made)
	}
}
