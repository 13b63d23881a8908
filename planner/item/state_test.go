package item

import "testing"

// TestTransitions: every row of the table is the first that fits some item, leads somewhere else, and no event but a reset brings an item
// back that is on its way out, unless its removal is undone.
func TestTransitions(t *testing.T) {
	states := []State{Initial, Applied, Updated, ForRemoval, Removed}
	used := make(map[int]bool)
	for _, from := range states {
		for _, previous := range append(states, none) {
			for _, determinable := range []bool{true, false} {
				for e := changed; e <= reset; e++ {
					it := &Item{state: from, previous: previous, determinable: determinable}
					for i, row := range transitions {
						if row.fits(it, e) {
							used[i] = true
							break
						}
					}
					to := it.next(e)
					if it.goes() && to != ForRemoval && to != Removed && e != recovered && e != reset && (e != changed || from != ForRemoval) {
						t.Errorf("event %d brings %s back as %s", e, from, to)
					}
					if e == recovered && from == ForRemoval && previous == Removed && to != ForRemoval {
						t.Error("a removal that failed is undone")
					}
					if to == Applied && !determinable && e != tasksSucceeded && e != planSucceeded && from != Applied {
						t.Errorf("event %d makes %s Applied without knowing", e, from)
					}
				}
			}
		}
	}
	for i, row := range transitions {
		if !used[i] {
			t.Errorf("row %d never counts: %+v", i, row)
		}
		if row.from == row.to && row.event != recovered {
			t.Errorf("row %d leads nowhere: %+v", i, row)
		}
	}
}

func TestEnter(t *testing.T) {
	it := &Item{state: Applied, previous: Initial, own: map[string]string{"a": "x"}, determinable: false}
	it.enter(ForRemoval)
	it.enter(Updated)
	if it.previous != Applied {
		t.Errorf("previous is %s: leaving ForRemoval does not count", it.previous)
	}
	it.enter(Applied)
	if it.previous != Updated || it.applied["a"] != "x" || !it.determinable {
		t.Errorf("entering Applied: %+v", it)
	}
	it.determinable, it.own = false, map[string]string{"a": "y"}
	it.enter(Applied)
	if !it.determinable || it.applied["a"] != "x" {
		t.Error("staying Applied only makes it known")
	}
}

// TestOnWithoutTransition: an event that leaves the state as it is does not make known what was not.
func TestOnWithoutTransition(t *testing.T) {
	for e := changed; e <= reset; e++ {
		it := &Item{state: Applied, previous: Initial, own: map[string]string{"a": "x"}}
		if it.on(e); it.state == Applied && it.determinable {
			t.Errorf("event %d leaves the item Applied and makes it known", e)
		}
	}
}
