package journal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
)

// rows returns how many looks a journal has.
func rows(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM looks").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A look needs neither a run nor a lease. What is asked and answered is encrypted with the key of its zone, comes back
// whole, and is forgotten.
func TestLooks(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		at = withKeys(t, at, encryption.New())
		s := openSite(t, at)
		text, err := at.Keys.ForZone("rack1")
		if err != nil {
			t.Fatal(err)
		}
		worker := openSite(t, withKeys(t, at, text))
		large := bytes.Repeat([]byte("0123456789abcdef"), 5<<16)
		for range 2 { // as who does not know whether it was recorded
			if err := s.Ask(t.Context(), "look-1", Blob{"rack1", large}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Ask(t.Context(), "look-2", Blob{"rack2", []byte("for rack2")}); err != nil {
			t.Fatal(err)
		}
		var stored []byte
		if err := s.db.QueryRowContext(t.Context(), "SELECT request FROM looks WHERE id = 'look-1'").Scan(&stored); err != nil ||
			bytes.Contains(stored, large[:32]) {
			t.Errorf("%v, or the database has it in clear", err)
		}
		if got, err := worker.Asked(t.Context(), "look-1", "rack1"); err != nil || !bytes.Equal(got, large) {
			t.Errorf("%d bytes were asked, %v", len(got), err)
		}
		if got, err := worker.Asked(t.Context(), "look-2", "rack2"); err == nil || !strings.Contains(err.Error(), `of the zone "rack2"`) {
			t.Errorf("the worker of another zone reads %q, %v", got, err)
		}
		if got, err := s.Answered(t.Context(), "look-1", "rack1"); !errors.Is(err, ErrNoLook) {
			t.Errorf("the answer that is not there yet: %d bytes, %v", len(got), err)
		}
		if err := worker.Answer(t.Context(), "look-1", Blob{"rack1", large[1:]}); err != nil {
			t.Error(err)
		}
		if got, err := s.Answered(t.Context(), "look-1", "rack1"); err != nil || !bytes.Equal(got, large[1:]) {
			t.Errorf("%d bytes are the answer, %v", len(got), err)
		}
		if _, err := s.db.ExecContext(t.Context(), "UPDATE looks SET answer = request WHERE id = 'look-1'"); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Answered(t.Context(), "look-1", "rack1"); err == nil {
			t.Errorf("what was asked is the answer: %d bytes", len(got))
		}
		for range 2 {
			if err := s.Forget(t.Context(), "look-1"); err != nil {
				t.Error(err)
			}
		}
		_, asked := worker.Asked(t.Context(), "look-1", "rack1")
		for _, err := range []error{asked, worker.Answer(t.Context(), "look-1", Blob{"rack1", large})} {
			if !errors.Is(err, ErrNoLook) || !strings.Contains(err.Error(), "look look-1") {
				t.Errorf("a look that is forgotten: %v", err)
			}
		}
		if n := rows(t, s); n != 1 {
			t.Errorf("%d looks are left", n)
		}
	})
}

// A look whose process was killed is deleted by a later one, and one that may still be waited for is not.
func TestLooksOfKilledProcesses(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, withKeys(t, at, encryption.New()))
		c := &clock{t: time.UnixMilli(1e12)}
		c.use(s)
		for _, id := range []string{"look-1", "look-2", "look-3"} {
			if err := s.Ask(t.Context(), id, Blob{}); err != nil {
				t.Fatal(err)
			}
			c.add(looksKept * 2 / 3)
		}
		if _, err := s.Asked(t.Context(), "look-1", "rack1"); !errors.Is(err, ErrNoLook) || rows(t, s) != 2 {
			t.Errorf("the first is still there: %v, %d looks", err, rows(t, s))
		}
	})
}

// Without a key nothing is recorded, and an older journal has no looks.
func TestNoLooks(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		if err := s.Ask(t.Context(), "look-1", Blob{Content: []byte("x")}); err == nil ||
			!strings.Contains(err.Error(), encryption.Remedy) || rows(t, s) != 0 {
			t.Error(err)
		}
		s.schema = withLooks - 1
		if _, err := s.Asked(t.Context(), "look-1", "rack1"); !errors.Is(err, ErrNoLook) {
			t.Error(err)
		}
	})
}
