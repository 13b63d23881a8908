package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// TestOutcomeWithTheKeyOfAZoneIsRefused: an older slipway encrypted the outcome of a run with the key of nodes without a
// zone, and so may a worker for these nodes that was broken into. It is refused by name.
func TestOutcomeWithTheKeyOfAZoneIsRefused(t *testing.T) {
	keys, err := encryption.Parse(encryption.New())
	if err != nil {
		t.Fatal(err)
	}
	at := journal.Location{Path: t.TempDir(), Keys: keys}
	store, err := at.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // of a test
	if err := store.Hand(t.Context(), journal.Run{ID: "r1", Site: "lon1", Operation: "update", Workflow: "w"},
		[]byte(`{"Version": 2}`)); err != nil {
		t.Fatal(err)
	}
	w, err := store.Resume(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := w.Put(t.Context(), journal.UseOutcome, journal.Blob{Content: []byte(`{"Version": 2, "Status": "deployed"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.FinishWith(t.Context(), "succeeded", "", addresses[0]); err != nil {
		t.Fatal(err)
	}
	e := &engine.Engine{Journals: at, Now: time.Now, Handing: &engine.Handing{}}
	h, err := e.LastHanded(t.Context(), "lon1", "")
	if err == nil || !strings.Contains(err.Error(), "run r1 ended: succeeded. Its outcome cannot be read: ") || !strings.Contains(err.Error(),
		`of the zone "", and must be with that of who hosts runs: an older slipway wrote it, or`) {
		t.Errorf("%+v, %v", h, err)
	}
}
