package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// The pages of a run, the overview, /v1/runs, /v1/sites and /v1/runs/{id} say why a run starts nothing more for now,
// since when, and what ends it: a person who paused it, a batch that waits for approval, and a maintenance window that
// is closed. What has ended is not said any more. The state of a run says that it is paused, or that all its groups
// wait.
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
		state string
	}{
		{journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":2,"batches":[1,1]},{"name":"db","nodes":1}]}`}, nil, "", "running"},
		{said(journal.Hold, "by anna: the switch is replaced"), []string{"<strong>Paused</strong> since 2026-11-01 10:01:00 UTC", "by anna: the switch is replaced", "until a person resumes it"}, "person", "paused"},
		{asks, []string{"<strong>Paused</strong>", "batch 1 of group <bdi>web</bdi>", "since 2026-11-01 10:02:00 UTC", "until a person approves it"}, "person approval", "paused"},
		{said(journal.Resume, "by anna"), []string{"batch 1 of group <bdi>web</bdi>"}, "approval", "waiting"},
		{window, []string{"batch 1 of group <bdi>web</bdi>", "group <bdi>db</bdi>", "since 2026-11-01 10:04:00 UTC", "until " + opens.Format(time.DateTime) + " UTC, when it opens"}, "approval window", "waiting"},
		{approved, []string{"group <bdi>db</bdi>"}, "window", "running"},
		{journal.Event{Kind: journal.Note, Group: "db", Message: "another note"}, []string{"group <bdi>db</bdi>"}, "window", "running"},
		{journal.Event{Kind: journal.PhaseStarted, Group: "db", Phase: 1}, nil, "", "running"},
		{asks, []string{"batch 1 of group <bdi>web</bdi>"}, "approval", "running"},
		{journal.Event{Kind: journal.GroupFinished, Group: "web", Status: "FAILED"}, nil, "", "running"}, // the failure budget was spent
		{said(journal.Hold, "by anna"), []string{"<strong>Paused</strong>"}, "person", "paused"},
		{journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":1}]}`}, []string{"<strong>Paused</strong>"}, "person", "paused"}, // another pass
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
		_, overview := look(t, h, "/")
		if n := strings.Count(overview, `<bdi>`+step.state+`</bdi>`); n != 2 { // of the site and of the run
			t.Errorf("step %d: the overview says %q %d times, want 2:\n%s", i, step.state, n, overview)
		}
		for _, want := range step.page {
			if _, after, _ := strings.Cut(overview, "<h2>Runs"); !strings.Contains(after, want) {
				t.Errorf("step %d: the overview lacks %s:\n%s", i, want, after)
			}
		}
		for _, view := range []string{"/runs/run-1", "/runs/run-1/plan", "/runs/run-1/drift", "/runs/run-1/approval", "/runs/run-1/timeline"} {
			if _, body := look(t, h, view); !strings.Contains(body, `</code></a>: <span class="state running"><bdi>`+step.state) {
				t.Errorf("step %d: %s does not say %q:\n%s", i, view, step.state, body)
			}
		}
		_, _, answer := ask(t, h, "/v1/runs/run-1")
		holds, _ := answer["holds"].([]any)
		_, _, list := ask(t, h, "/v1/runs")
		_, _, sites := ask(t, h, "/v1/sites")
		inList, _ := list["runs"].([]any)[0].(map[string]any)
		last, _ := sites["sites"].([]any)[0].(map[string]any)["last_run"].(map[string]any)
		if answer["state"] != step.state || inList["state"] != step.state || last["state"] != step.state {
			t.Errorf("step %d: the state is %v, in /v1/runs %v, in /v1/sites %v, want %s", i, answer["state"], inList["state"], last["state"], step.state)
		}
		if want := fmt.Sprint(holds); fmt.Sprint(inList["holds"]) != want || fmt.Sprint(last["holds"]) != want {
			t.Errorf("step %d: /v1/runs has %v, /v1/sites %v, want %s", i, inList["holds"], last["holds"], want)
		}
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

// The page of a run shows that a maintenance window opens, by the clock: nothing may happen for long after it.
func TestAWindowOpensByTheClock(t *testing.T) {
	t.Parallel()
	f, w := started(t)
	h := New(Options{Journals: f, Poll: 10 * time.Millisecond})
	opens := time.Now().Add(2 * time.Second).UTC().Truncate(time.Second) // the text has seconds
	err := w.Record(t.Context(), journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"db","nodes":1}]}`},
		journal.Event{Kind: journal.Note, Group: "db", Message: "the maintenance window is closed until " + opens.Format(time.RFC3339)})
	if err != nil {
		t.Fatal(err)
	}
	_, body := look(t, h, "/runs/run-1")
	if !strings.Contains(body, `<p class="notice">`) {
		t.Fatalf("the page does not say that the window is closed:\n%s", body)
	}
	_, address, _ := strings.Cut(body, `data-live="`)
	address, _, _ = strings.Cut(address, `"`)
	_, size, _ := strings.Cut(body, `data-size="`)
	size, _, _ = strings.Cut(size, `"`)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // a test
	for lines := bufio.NewScanner(answer.Body); ; {
		if !lines.Scan() {
			t.Fatalf("the page does not show that the window opened: %v", lines.Err())
		}
		update, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		var got changed
		if err := json.Unmarshal([]byte(update), &got); err != nil || time.Now().Before(opens) {
			t.Fatalf("an update before the window opened: %s, %v", update, err)
		}
		if got.Size == size || strings.Contains(got.Counts+fmt.Sprint(got.Groups), "closed") {
			t.Errorf("the update of the size %q is %s", size, update)
		}
		break
	}
	if _, body := look(t, h, "/runs/run-1"); strings.Contains(body, `"notice"`) || strings.Contains(body, "finished, the maintenance window") {
		t.Errorf("the window is open, and the page says:\n%s", body)
	}
}
