package command

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What keeps a run from being handed over is named as the companion has it, also where the server says it.
func TestHandOverNamesFlags(t *testing.T) {
	t.Setenv("SLIPWAY_KEY", encryption.New())
	f := runFlags{journal: journalFlags{url: "postgres://slipway@db.example.org/slipway"},
		temporal: temporalFlags{address: "127.0.0.1:1"}}
	var e engine.Engine
	if err := f.handOver(&e); err != nil {
		t.Fatal(err)
	}
	const want = `--temporal: the Temporal server at "127.0.0.1:1" does not answer`
	if err := e.Handing.Ready(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error says %v, want %s", err, want)
	}
}

// A run whose outcome cannot be read, here because it is gone, is a warning, and the state file counts as it is.
func TestLastRunThatCannotBeRead(t *testing.T) {
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
	run := journal.Run{ID: "r1", Site: "lon1", Operation: "update", Workflow: "w"}
	if err := store.Hand(t.Context(), run, []byte(`{"Version": 2}`)); err != nil {
		t.Fatal(err)
	}
	w, err := store.Resume(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.FinishWith(t.Context(), "succeeded", "", "gone"); err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	d := deployment{notes: &printer{w: &notes}, site: site.Site{Name: "lon1"},
		engine: &engine.Engine{Journals: at, Now: time.Now, Handing: &engine.Handing{}}}
	c := stateContent{Run: "r0"}
	active, changed, err := d.adopt(t.Context(), &c)
	want := "warning: the last run is not known: run r1 ended: succeeded. Its outcome cannot be read: "
	if err != nil || active != "" || changed || c.Run != "r0" || !strings.HasPrefix(notes.String(), want) {
		t.Errorf("%q, %t, %v: %+v, %q", active, changed, err, c, notes.String())
	}
}
