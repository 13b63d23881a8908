package journal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/hostiletest"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
)

// TestNothingInAJournalActsOnATerminal: whatever a run records, who reads its texts, from a database or through a command, gets text.
func TestNothingInAJournalActsOnATerminal(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { actsNot(t, journal.Location{Path: t.TempDir()}) })
	t.Run("PostgreSQL", func(t *testing.T) {
		actsNot(t, journal.Location{URL: postgrestest.Start(t).URL(t), Setting: "journal of the test"})
	})
}

func actsNot(t *testing.T, at journal.Location) {
	w := hostiletest.Record(t, at)
	if err := w.Finish(t.Context(), "failed", hostiletest.Text()); err != nil {
		t.Fatal(err)
	}
	store, err := at.OpenExisting(t.Context(), hostiletest.Site)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // read only
	run, err := store.Run(t.Context(), hostiletest.Run)
	if err != nil {
		t.Fatal(err)
	}
	events, err := store.AllEvents(t.Context(), hostiletest.Run)
	if err != nil {
		t.Fatal(err)
	}
	checks, err := store.Checks(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	services, err := store.ServiceEvents(t.Context(), hostiletest.Service, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range services {
		said = append(said, e.Message)
	}
	if len(events) < 10 || len(checks) == 0 || len(said) == 0 || !strings.Contains(run.Report, hostiletest.Mark) {
		t.Fatalf("the journal has %d events, %d checks, %d events of the service and the report %.40q", len(events), len(checks), len(said), run.Report)
	}
	for what, of := range map[string]any{"the run": run, "the events": events, "the checks": checks, "the service": said} {
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		plain(t, what, value)
	}
}

// TestRawTextsAreRaw: the journal with which outputs are tested has what they must not show.
func TestRawTextsAreRaw(t *testing.T) {
	at := journal.Location{Path: t.TempDir()}
	hostiletest.Finish(t, at, hostiletest.RecordRaw(t, at))
	store, err := at.OpenExisting(t.Context(), hostiletest.Site)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // read only
	events, err := store.AllEvents(t.Context(), hostiletest.Run, journal.TaskFinished)
	if err != nil || len(events) == 0 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for _, text := range []string{events[0].Node, events[0].Message, events[0].Output} {
		if !strings.ContainsAny(text, "\x1b\u009b\u202e") {
			t.Errorf("the journal has %.300q", text)
		}
	}
}

// plain fails the test when a text of a value could act on a terminal. A text that is JSON has the escapes of that.
func plain(t *testing.T, what string, value any) {
	t.Helper()
	switch v := value.(type) {
	case string:
		hostiletest.Plain(t, what, v)
	case []any:
		for _, e := range v {
			plain(t, what, e)
		}
	case map[string]any:
		for key, e := range v {
			plain(t, what+"."+key, e)
		}
	}
}
