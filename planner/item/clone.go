package item

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
)

// Clone is a tree of its own with the same items: what a plan keeps as the last model that was applied, or what a caller tries something on.
func (t *Tree) Clone() *Tree {
	out := &Tree{types: t.types, items: make(map[Path]*Item, len(t.items))}
	for it := range t.All() {
		made := new(*it)
		made.own, made.applied = maps.Clone(it.own), maps.Clone(it.applied)
		out.items[it.path] = made
	}
	twin := func(it *Item) *Item {
		if it == nil {
			return nil
		}
		return out.items[it.path]
	}
	for _, it := range out.items {
		it.parent, it.source = twin(it.parent), twin(it.source)
		it.children, it.heirs = slices.Clone(it.children), slices.Clone(it.heirs)
		for i, child := range it.children {
			it.children[i] = twin(child)
		}
		for i, heir := range it.heirs {
			it.heirs[i] = twin(heir)
		}
	}
	out.root = out.items[Root]
	return out
}

// Digest identifies the content of the tree: paths, types, sources, properties and states. A plan made from a model is valid as long as the
// digest is the same (litp.md Q17).
func (t *Tree) Digest() string {
	h := sha256.New()
	for it := range t.All() {
		fmt.Fprintf(h, "%q %q %q %q %q %t\n", it.path, it.typ.ID, it.sourcePath(), it.state, it.previous, it.determinable)
		writeProperties(h, "own", it.own)
		writeProperties(h, "applied", it.applied)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (it *Item) sourcePath() Path {
	if it.source == nil {
		return ""
	}
	return it.source.path
}

func writeProperties(h hash.Hash, title string, properties map[string]string) {
	for _, name := range sortedKeys(properties) {
		fmt.Fprintf(h, " %s %q %q\n", title, name, properties[name])
	}
}
