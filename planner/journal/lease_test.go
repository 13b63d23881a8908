package journal

import (
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
)

// Numbers of leases rise when clocks go back, after a backup was restored and past a number that a person names. A new
// journal begins another line.
func TestFence(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		c := &clock{t: time.UnixMilli(1e12)}
		c.use(s)
		var last ledger.Fence
		lease := func(id string) ledger.Fence {
			t.Helper()
			w := start(t, s, id)
			finish(t, w)
			f := w.Fence()
			if f.Number <= last.Number || last.Line != "" && f.Line != last.Line {
				t.Errorf("%s: %+v after %+v", id, f, last)
			}
			last = f
			return f
		}
		lease("first")
		c.add(-time.Hour)
		lease("clock goes back")
		if _, err := s.db.ExecContext(t.Context(), "UPDATE leases SET fence = fence - 1"); err != nil {
			t.Fatal(err)
		}
		c.add(2 * time.Hour)
		lease("backup restored")
		last.Number = 3e12
		if _, err := s.Unlock(t.Context(), "lon1", false, last.Number); err != nil {
			t.Fatal(err)
		}
		lease("number of a person")
		if _, err := s.Unlock(t.Context(), "lon1", false, 5); err != nil {
			t.Fatal(err)
		}
		lease("lower number of a person")

		if _, err := s.db.ExecContext(t.Context(), "DELETE FROM leases"); err != nil { // as in a journal that is new
			t.Fatal(err)
		}
		w := start(t, s, "new journal")
		finish(t, w)
		if w.Fence().Line == last.Line {
			t.Errorf("the new journal has the line of the one before: %+v", w.Fence())
		}
	})
}
