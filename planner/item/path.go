package item

import (
	"cmp"
	"strings"
)

// Path is the place of an item in the tree and its identity: "/" for the root, "/sites/s1" for an item two levels below it.
type Path string

// Root is the path of the root item.
const Root Path = "/"

// Parent is the path one level up; empty for the root.
func (p Path) Parent() Path {
	switch i := strings.LastIndexByte(string(p), '/'); {
	case p == Root || i < 0:
		return ""
	case i == 0:
		return Root
	default:
		return p[:i]
	}
}

// ID is the last segment: the item's id among its siblings; empty for the root.
func (p Path) ID() string { return string(p[strings.LastIndexByte(string(p), '/')+1:]) }

// Join is the path of the item id below p.
func (p Path) Join(id string) Path {
	if p == Root {
		return Root + Path(id)
	}
	return p + "/" + Path(id)
}

// Within reports whether p is ancestor itself or below it. Whole segments count: "/a/bc" is not within "/a/b" (litp.md Q4).
func (p Path) Within(ancestor Path) bool {
	return p == ancestor || p.Below(ancestor)
}

// Below reports whether p is a descendant of ancestor.
func (p Path) Below(ancestor Path) bool {
	if ancestor == Root {
		return len(p) > 1
	}
	return len(p) > len(ancestor) && p[len(ancestor)] == '/' && p[:len(ancestor)] == ancestor
}

// Compare orders paths as the tree is walked: a parent before its children, siblings by id, each with all that is below it.
func (p Path) Compare(q Path) int {
	for p != "" && q != "" {
		var a, b string
		a, p = cut(p)
		b, q = cut(q)
		if c := cmp.Compare(a, b); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(q))
}

func cut(p Path) (string, Path) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(string(p), "/"), "/")
	return first, Path(rest)
}
