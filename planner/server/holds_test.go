package server

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// The page of a run and /v1/runs/{id} say why a run starts nothing more for now, since when, and what ends it: a person
// who paused it, a batch that waits for approval, and a maintenance window that is closed. What has ended is not said any
// more.
func TestWhatARunWaitsFor(t *testing.T) {
	t.Parallel()
	f, w := started(t)
	h := New(Options{Journals: f, Poll: 10 * time.Millisecond})
	opens := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	closed := "the maintenance window is closed until " + opens.Format(time.RFC3339)
	window := journal.Event{Kind: journal.Note, Group: "db", Message: closed}
	asks := journal.Event{Kind: journal.Paused, Group: "web", Phase: 1, Output: "d",
		Message: "batch 1 of 2 is done and waits for approval: terraform-provider-slipway runs approve run-1"}
	said := func(action, message string) journal.Event {
		return journal.Event{Kind: journal.Decided, Action: action, Message: message}
	}
	approved := said(journal.Approve, "by anna")
	approved.Group, approved.Phase = "web", 1
	at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		event journal.Event
		page  []string // what it says, and nothing else
		json  string
	}{
		{journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":2,"batches":[1,1]},{"name":"db","nodes":1}]}`}, nil, ""},
		{said(journal.Hold, "by anna: the switch is replaced"), []string{"<strong>Paused</strong> since 2026-11-01 10:01:00 UTC", "by anna: the switch is replaced", "until a person resumes it"}, "person"},
		{asks, []string{"<strong>Paused</strong>", "batch 1 of group <bdi>web</bdi>", "since 2026-11-01 10:02:00 UTC", "until a person approves it"}, "person approval"},
		{said(journal.Resume, "by anna"), []string{"batch 1 of group <bdi>web</bdi>"}, "approval"},
		{window, []string{"batch 1 of group <bdi>web</bdi>", "group <bdi>db</bdi>", "since 2026-11-01 10:04:00 UTC", "until " + opens.Format(time.DateTime) + " UTC, when it opens"}, "approval window"},
		{approved, []string{"group <bdi>db</bdi>"}, "window"},
		{journal.Event{Kind: journal.Note, Group: "db", Message: "another note"}, []string{"group <bdi>db</bdi>"}, "window"},
		{journal.Event{Kind: journal.PhaseStarted, Group: "db", Phase: 1}, nil, ""},
		{asks, []string{"batch 1 of group <bdi>web</bdi>"}, "approval"},
		{journal.Event{Kind: journal.GroupFinished, Group: "web", Status: "FAILED"}, nil, ""}, // the failure budget was spent
		{said(journal.Hold, "by anna"), []string{"<strong>Paused</strong>"}, "person"},
		{journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":1}]}`}, []string{"<strong>Paused</strong>"}, "person"}, // another pass
	} {
		step.event.Time = at.Add(time.Duration(i) * time.Minute)
		if err := w.Record(t.Context(), step.event); err != nil {
			t.Fatal(err)
		}
		_, body := look(t, h, "/runs/run-1")
		for _, want := range step.page {
			if !strings.Contains(body, want) {
				t.Errorf("step %d: the page lacks %s:\n%s", i, want, body)
			}
		}
		if n := strings.Count(body, `<p class="notice">`); n != len(strings.Fields(step.json)) {
			t.Errorf("step %d: the page has %d notices, want one for each of %q", i, n, step.json)
		}
		_, _, answer := ask(t, h, "/v1/runs/run-1")
		holds, _ := answer["holds"].([]any)
		var why []string
		for _, hold := range holds {
			of, _ := hold.(map[string]any)
			why = append(why, of["why"].(string))
			if of["since"] == nil || of["text"] == "" || of["ends"] == "" {
				t.Errorf("step %d: %v", i, of)
			}
			if until, _ := of["until"].(string); (of["why"] == "window") != (until == opens.Format(time.RFC3339)) {
				t.Errorf("step %d: %v", i, of)
			}
		}
		if got := strings.Join(why, " "); answer["holds"] == nil || got != step.json {
			t.Errorf("step %d: /v1/runs/run-1 has %v, want %q", i, answer["holds"], step.json)
		}
	}
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
	if _, body := look(t, h, "/runs/run-1"); strings.Contains(body, `class="notice"`) {
		t.Error("the page of a run that ended says that it waits")
	}
	if _, _, answer := ask(t, h, "/v1/runs/run-1"); len(answer["holds"].([]any)) != 0 {
		t.Errorf("a run that ended waits for %v", answer["holds"])
	}
}

// Holds are described: the answer has what the document says, and no more.
func TestHoldsAreDescribed(t *testing.T) {
	t.Parallel()
	h, w := planned(t, "", 1)
	err := w.Record(t.Context(), journal.Event{Kind: journal.Paused, Group: "web", Phase: 1, Message: "batch 1 of 2 is done"},
		journal.Event{Kind: journal.Note, Group: "db", Message: "the maintenance window is closed until " +
			time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:8642/v1/runs/run-1", nil))
	var body map[string]any
	var d openAPIDocument
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	d.check(t, "/v1/runs/{id}", d.Paths["/v1/runs/{id}"].Get.Responses["200"].Content["application/json"].Schema, body)
	if holds, _ := body["holds"].([]any); len(holds) != 2 {
		t.Errorf("the answer has %v", body)
	}
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
}
