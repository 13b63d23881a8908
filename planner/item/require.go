package item

import "slices"

// Required lists the paths that the structure of the types puts before the item: the siblings that its element, and that of each
// ancestor, requires, directly or through others (litp.md 90). There need not be items at these paths. Items within them come first. The
// list is in path order; it is empty for an unknown item.
func (t *Tree) Required(path Path) []Path {
	var out []Path
	for it := t.items[path]; it != nil; it = it.parent {
		if it.hangs == nil {
			continue
		}
		for _, name := range it.hangs.require {
			out = append(out, it.parent.path.Join(name))
		}
	}
	slices.SortFunc(out, Path.Compare)
	return out
}

// Requires reports whether the model puts other before the item at path (litp.md 91).
func (t *Tree) Requires(path, other Path) bool {
	return slices.ContainsFunc(t.Required(path), other.Within)
}
