package item

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// invariants tells what is broken in a tree, empty when nothing is.
func invariants(t *Tree) string {
	walked := 0
	for it := range t.All() {
		walked++
		if t.items[it.path] != it {
			return fmt.Sprintf("%s: not found by its path", it.path)
		}
		if it.parent != nil && (it.path.Parent() != it.parent.path || it.parent.Child(it.path.ID()) != it) {
			return fmt.Sprintf("%s: not below its parent", it.path)
		}
		if !slices.IsSortedFunc(it.children, byPath) {
			return fmt.Sprintf("%s: children are not in order", it.path)
		}
		if it.parent != nil && it.parent.goes() && !it.goes() {
			return fmt.Sprintf("%s: is %s, its parent goes", it.path, it.state)
		}
		if it.source != nil {
			switch {
			case t.items[it.source.path] != it.source:
				return fmt.Sprintf("%s: its source is not in the tree", it.path)
			case !slices.Contains(it.source.heirs, it):
				return fmt.Sprintf("%s: its source does not know it", it.path)
			case it.source.goes() && !it.goes():
				return fmt.Sprintf("%s: is %s, its source goes", it.path, it.state)
			case it.typ != it.source.typ:
				return fmt.Sprintf("%s: is not of the type of its source", it.path)
			case it.parent.source != nil && it.source.parent != it.parent.source:
				return fmt.Sprintf("%s: inherits from elsewhere than its parent", it.path)
			}
		}
		if it.IsCollection() {
			continue
		}
		for _, e := range it.typ.elements {
			if kinds[e.Kind].many && it.Child(e.Name) == nil {
				return fmt.Sprintf("%s: has no collection %s", it.path, e.Name)
			}
		}
		if it.state == Applied && it.determinable && !it.pristine() {
			return fmt.Sprintf("%s: is Applied with %v, has %v", it.path, it.applied, it.Properties())
		}
		if problems := checkProperties(it.path, it.typ, it.Properties()); len(problems) > 0 {
			return problems.Error()
		}
	}
	if walked != t.Len() {
		return fmt.Sprintf("%d items in the tree, %d below the root", t.Len(), walked)
	}
	return ""
}

// spots are where operations happen, with a type and a source that fit there.
var spots = []struct {
	path   Path
	typ    string
	source Path
}{
	{"/things/a", "thing", ""}, {"/things/b", "big", ""}, {"/things/a/core", "system", ""},
	{"/things/a/parts/p", "part", ""}, {"/things/a/parts/q", "part", ""}, {"/things/a/parts/p/bits/x", "bit", ""},
	{"/sites/s/clusters/c/nodes/n/links/a", "thing", "/things/a"},
	{"/sites/s/clusters/c/nodes/n/links/a/parts/p", "part", "/things/a/parts/p"},
	{"/sites/s/clusters/c/nodes/n/os", "thing", "/things/a"},
	{"/sites/s/clusters/c/nodes/m/links/l", "thing", "/sites/s/clusters/c/nodes/n/links/a"},
	{"/sites/s/clusters/c/nodes/m/links/l/parts/p", "part", "/sites/s/clusters/c/nodes/n/links/a/parts/p"},
	{"/sites/s/clusters/c/nodes/m/fixed/f", "thing", "/things/b"},
	{"/sites/s/clusters/c/nodes/m", "node", ""}, {"/sites/s/clusters/c", "cluster", ""}, {"/snapshots/x", "snapshot", ""},
	{"/things/a/parts", "part", ""}, {"/sites/s", "site", ""}, {"/", "root", ""},
}

// act does one operation that four numbers choose. Refusals are part of the game; panics and broken invariants are not.
func act(t *Tree, op, where, what, value byte) site.Problems {
	spot, other := spots[int(where)%len(spots)], spots[int(what)%len(spots)].path
	at, typ, source := spot.path, spot.typ, spot.source
	if what%8 == 0 {
		typ = []string{"thing", "part", "bit", "nosuch"}[what/8%4]
	}
	if what%8 == 1 || source == "" {
		source = other
	}
	words := []string{"", "x", "y", "3"}
	names := []string{"name", "note", "size", "once", "host"}
	name, word := names[int(value)%len(names)], words[int(value/16)%len(words)]
	switch op % 16 {
	case 0, 1:
		return t.Create(at, typ, map[string]string{})
	case 2:
		return t.Create(at, typ, map[string]string{name: word})
	case 3, 4:
		return t.Inherit(at, source, map[string]string{})
	case 5:
		return t.Inherit(at, source, map[string]string{name: word})
	case 6, 7:
		return t.Update(at, Changes{name: &word})
	case 8:
		return t.Update(at, Changes{name: nil})
	case 9:
		return t.UpdateByPlugin(at, Changes{"auto": &word})
	case 10, 11:
		return t.Remove(at)
	case 12:
		t.TasksSucceeded(at, other)
		for it := range t.All() { // cleanup tasks name all below
			if it.path.Below(at) && what%2 == 0 {
				it.on(tasksSucceeded)
			}
		}
	case 13:
		t.DeleteRemoved()
		t.PlanEnded(map[Path][]Outcome{at: {{Progress: Progress(what % 3)}, {Progress: Progress(value % 3), Lock: what%5 == 0}}})
	case 14:
		t.DeleteRemoved()
		t.PlanSucceeded()
	case 15:
		return t.MarkUndeterminable(at)
	}
	return nil
}

// play does operations in pairs of bytes taken as numbers and checks the tree after each.
func play(t testing.TB, moves []byte) string {
	tree := newTree(t)
	for i := 0; i+3 < len(moves); i += 4 {
		before := tree.Digest()
		twin := tree.Clone()
		if twin.Digest() != before {
			t.Fatalf("move %d: a clone differs", i/4)
		}
		problems := act(tree, moves[i], moves[i+1], moves[i+2], moves[i+3])
		if len(problems.Errors()) > 0 && tree.Digest() != before {
			t.Fatalf("move %d %v: refused with %v, and changed the tree", i/4, moves[i:i+4], problems)
		}
		if broken := invariants(tree); broken != "" {
			t.Fatalf("move %d %v: %s", i/4, moves[i:i+4], broken)
		}
		again := act(twin, moves[i], moves[i+1], moves[i+2], moves[i+3])
		if twin.Digest() != tree.Digest() {
			t.Fatalf("move %d %v: the same move gives another tree on a clone", i/4, moves[i:i+4])
		}
		if !slices.Equal(again, problems) {
			t.Fatalf("move %d %v: the same move is refused with %v on a clone, not with %v", i/4, moves[i:i+4], again, problems)
		}
		if here, there := tree.Validate(), twin.Validate(); !slices.Equal(here, there) || twin.Digest() != tree.Digest() {
			t.Fatalf("move %d %v: validation tells %v, and %v on a clone", i/4, moves[i:i+4], here, there)
		}
	}
	return tree.Digest()
}

func TestRandomOperations(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		moves := make([]byte, 4*80)
		for i := range moves {
			moves[i] = byte(rng.UintN(256))
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if first, again := play(t, moves), play(t, moves); first != again {
				t.Error("the same operations gave two trees")
			}
		})
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 3, 6, 0, 0, 14, 0, 0, 0, 10, 0, 0, 0, 12, 0, 0, 0, 14, 0, 0, 0})
	f.Fuzz(func(t *testing.T, moves []byte) {
		if len(moves) > 400 {
			moves = moves[:400]
		}
		play(t, moves)
	})
}
