package item

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// unique checks that no value occurs twice in a set of unique values. The problem is the first owner's, in path order, and names the others.
// Items marked for removal count: until a plan took them away they have their values (litp.md 23).
func (t *Tree) unique() site.Problems {
	type claim struct{ set, value string }
	type owner struct {
		it   *Item
		name string
	}
	owners := make(map[claim][]owner)
	var order []claim
	for it := range t.All() {
		if it.IsCollection() {
			continue
		}
		for _, e := range it.typ.elements {
			value := it.Property(e.Name)
			if e.Unique == "" || value == "" {
				continue
			}
			if e.FoldCase {
				value = strings.ToLower(value)
			}
			c := claim{e.Unique, value}
			if owners[c] == nil {
				order = append(order, c)
			}
			owners[c] = append(owners[c], owner{it, e.Name})
		}
	}
	var problems site.Problems
	for _, c := range order {
		first, rest := owners[c][0], owners[c][1:]
		if len(rest) == 0 {
			continue
		}
		paths := make([]string, len(rest))
		for i, o := range rest {
			paths[i] = string(o.it.path)
		}
		problems = append(problems, problem(first.it.path, first.name, ValidationFailed, "%s has the same value, which must be unique; choose another one",
			strings.Join(paths, ", ")))
	}
	return problems
}

// lists checks properties that list ids (litp.md 23, 76).
func (t *Tree) lists() site.Problems {
	var problems site.Problems
	cyclic := make(map[*Item]map[string]bool) // collections whose items depend on each other, by property
	for it := range t.All() {
		if it.IsCollection() || it.goes() {
			continue
		}
		for _, e := range it.typ.elements {
			if e.IDsOf == "" || it.Property(e.Name) == "" {
				continue
			}
			in := it.listed(e)
			problems = append(problems, it.list(e, in)...)
			if in != nil && in == it.parent && !cyclic[in][e.Name] {
				if cycle := in.cycle(e.Name); cycle != nil {
					problems = append(problems, problem(in.path, e.Name, ValidationFailed, "the items depend on each other in a cycle: %s; take one of these out",
						strings.Join(cycle, " depends on ")))
				}
				if cyclic[in] == nil {
					cyclic[in] = make(map[string]bool)
				}
				cyclic[in][e.Name] = true
			}
		}
	}
	return problems
}

// listed is the collection that a list of ids is about; nil when the item's surroundings have none.
func (it *Item) listed(e *element) *Item {
	if it.parent == nil || it.parent.parent == nil {
		return nil
	}
	in := it.parent.parent.Child(e.IDsOf)
	if in == nil || !in.IsCollection() {
		return nil
	}
	return in
}

// IDs is the value of a property as a list of ids, as written, without empty ones.
func (it *Item) IDs(name string) []string {
	var ids []string
	for id := range strings.SplitSeq(it.Property(name), ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func (it *Item) list(e *element, in *Item) site.Problems {
	var problems site.Problems
	add := func(format string, args ...any) {
		problems = append(problems, problem(it.path, e.Name, ValidationFailed, format, args...))
	}
	if in == nil {
		add("there is no collection %q whose items could be listed; leave the property out", e.IDsOf)
		return problems
	}
	ids := it.IDs(e.Name)
	if most := in.hangs.limit() - 1; in == it.parent && len(ids) > most {
		add("lists %d items; it has at most %d beside it", len(ids), most)
	}
	seen := make(map[string]int)
	for _, id := range ids {
		if seen[id]++; seen[id] == 2 {
			add("%q is listed more than once; list it once", id)
		}
		if seen[id] > 1 {
			continue
		}
		switch other := in.Child(id); {
		case other == nil:
			add("there is no item %s%s", in.path.Join(id), meant(resource.Nearest(id, in.ids())))
		case other == it:
			add("the item depends on itself; take %q out", id)
		case other.goes():
			add("%s is marked for removal; take %q out, or undo the removal", other.path, id)
		}
	}
	return problems
}

func (it *Item) ids() []string {
	ids := make([]string, len(it.children))
	for i, child := range it.children {
		ids[i] = child.path.ID()
	}
	return ids
}

// cycle is a way through the lists of a collection's items back to where it began, as short as there is one from the first such
// item; nil when there is none. An item that lists itself is another mistake.
func (it *Item) cycle(property string) []string {
	for _, start := range it.children {
		from := map[*Item]*Item{}
		queue := []*Item{start}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, id := range at.IDs(property) {
				next := it.Child(id)
				if next == nil || next == at {
					continue
				}
				if next == start {
					way := []string{start.path.ID()}
					for ; at != start; at = from[at] {
						way = append(way, at.path.ID())
					}
					slices.Reverse(way[1:])
					return append(way, start.path.ID())
				}
				if from[next] == nil {
					from[next] = at
					queue = append(queue, next)
				}
			}
		}
	}
	return nil
}
