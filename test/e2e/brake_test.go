package e2e

import (
	"slices"
	"testing"
)

// TestBrake: a rolling group of six that may lose one loses two at work, and so starts no further node. Every lock is
// undone, and the next apply has the work again.
func TestBrake(t *testing.T) {
	t.Parallel()
	six := takeForRolling(t, 6)
	w := rollingSite(t, "brake", six)
	defer w.mustDestroy()
	w.set("success_criteria", map[string]int{"maximum_failed_nodes": 1})
	onEach(t, six, "touch /run/broken")
	w.must(w.apply(), 1, "not started: the group could no longer meet maximum_failed_nodes", "rolling (critical): FAILED")
	moments := momentsOf(t, six...)
	assertLocked(t, moments)
	begun := 0
	for _, n := range six {
		got := happened(moments, n)
		if slices.Contains(got, "locked begun") {
			begun++
		}
		if slices.Contains(got, "after") {
			t.Errorf("%s: %v, and the group failed", n.Name, got)
		}
	}
	if begun < 2 || begun > 3 { // one more may be at work when the second one fails
		t.Errorf("%d nodes were locked, want 2 or 3: %v", begun, moments)
	}
	onEach(t, six, "rm /run/broken")
	w.must(w.apply(), 0)
	w.assertStatus("deployed")
	assertLocked(t, momentsOf(t, six...))
	w.must(w.plan(), 0, "No changes")
}
