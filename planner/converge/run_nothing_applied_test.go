package converge

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
)

// TestSessionThatAppliedNothingLeavesNothing: a node on which everything failed, or from which the last resource of the
// last site went, has nothing of slipway, whether or not it is torn down afterwards.
func TestSessionThatAppliedNothingLeavesNothing(t *testing.T) {
	unmade := item("file[/nowhere/x]", "content", "1")
	session := func(b *sandbox, site string, items ...Item) Summary {
		return Run(t.Context(), b.System, Manifest{Protocol: Protocol, Site: site, Run: "r", Mode: Apply, Owner: "o",
			Items: items}, func(Result) {})
	}
	t.Run("everything failed", func(t *testing.T) {
		b := nodeOf(t, nil)
		if s := session(b, "one", unmade); s.Error != nil || s.Identity.Ledger != "" {
			t.Errorf("%+v", s)
		}
		if left := b.tree(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	t.Run("the last resource is removed", func(t *testing.T) {
		b := nodeOf(t, nil)
		session(b, "one", item("file[/f]", "content", "1"))
		session(b, "one", removal("file[/f]"))
		if left := b.tree(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	t.Run("another site has something", func(t *testing.T) {
		b := nodeOf(t, nil)
		before := session(b, "other", item("file[/f]", "content", "1"))
		s := session(b, "one", unmade)
		if s.Identity.Ledger == "" || s.Identity.Ledger != before.Identity.Ledger {
			t.Errorf("%+v, before %+v", s, before)
		}
		l, err := ledger.Read(b.System)
		if err != nil || len(l.Digests("other")) != 1 || l.Owners["other"] != "o" {
			t.Errorf("%+v, %v", l, err)
		}
	})
	t.Run("something is only looked at", func(t *testing.T) {
		b := nodeOf(t, nil)
		session(b, "one", item("file[/f]", "content", "1", "noop", true))
		if !b.there(ledger.Path) {
			t.Error("the ledger is gone")
		}
	})
}
