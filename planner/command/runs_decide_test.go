package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/server"
)

// Who decided about a run, when and why, is in the journal, in every form of its report, in what watch prints and on
// its page, for each decision with a reason and without one.
func TestDecisionsAreRecordedWithWhoWhenAndWhy(t *testing.T) {
	dir, s, w := activeRun(t)
	pages := server.New(server.Options{Journals: journal.Location{Path: dir}})
	started := time.Now().Add(-time.Second)
	for i, d := range []struct{ action, why string }{
		{journal.Approve, ""}, {journal.Approve, "the canary works"}, {journal.Hold, ""}, {journal.Resume, "lunch is over"},
		{journal.Hold, "INC-7"}, {journal.Resume, ""}, {journal.Cancel, ""}, {journal.Cancel, "INC-8"},
	} {
		what := d.action
		if d.action == journal.Approve {
			what = fmt.Sprintf("%s batch %d of group web", d.action, i+1)
			if err := w.Record(t.Context(), journal.Event{Kind: journal.Paused, Group: "web", Phase: i + 1}); err != nil {
				t.Fatal(err)
			}
		}
		args := []string{"runs", d.action, "run-1", "--journal-directory", dir}
		by := "by " + person()
		if d.why != "" {
			args, by = append(args, "--why", d.why), by+": "+d.why
		}
		out, err := run(t, args...)
		if err != nil || out != "run run-1: "+what+", "+by+"\n" {
			t.Fatalf("%v: %q, %v", args, out, err)
		}
		events, err := s.AllEvents(t.Context(), "run-1", journal.Decided)
		if err != nil {
			t.Fatal(err)
		}
		e := events[len(events)-1]
		if e.Action != d.action || e.Message != by || e.Time.Before(started) || e.Time.After(time.Now().Add(time.Second)) {
			t.Errorf("%v: the journal has %+v", args, e)
		}
		for _, form := range []string{"table", "markdown", "html", "json"} {
			out, err := run(t, "report", "run-1", "--output", form, "--journal-directory", dir)
			if err != nil {
				t.Fatal(err)
			}
			out = strings.ReplaceAll(out, `\`, "")
			when := e.Time.UTC().Format(time.DateTime)
			if form == "table" {
				when = e.Time.Local().Format(time.DateTime)
			}
			if form == "json" || form == "markdown" {
				when = strings.Replace(when, " ", "T", 1)
			}
			if !strings.Contains(out, by) || !strings.Contains(out, when) {
				t.Errorf("%v: the report in %s has no %q or no %q:\n%s", args, form, by, when, out)
			}
		}
		answer := httptest.NewRecorder()
		pages.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://127.0.0.1/runs/run-1/approval", nil))
		row := regexp.MustCompile(`(?s)<tr><td>[^<]*\d\d:\d\d:\d\d[^<]*</td><td><bdi>` + d.action + `</bdi></td>.{0,80}<bdi>` +
			regexp.QuoteMeta(by) + `</bdi>`)
		if !row.MatchString(answer.Body.String()) {
			t.Errorf("%v: the page does not have it:\n%s", args, answer.Body)
		}
		answer = httptest.NewRecorder()
		pages.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://127.0.0.1/v1/runs/run-1/events", nil))
		if !json.Valid(answer.Body.Bytes()) || !strings.Contains(answer.Body.String(), `"`+by+`"`) {
			t.Errorf("%v: the answer of the server does not have it:\n%s", args, answer.Body)
		}
	}
	if err := w.Finish(t.Context(), "cancelled", ""); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, "watch", "run-1", "--journal-directory", dir); err != nil ||
		!strings.Contains(out, "resume  by "+person()+": lunch is over") {
		t.Errorf("watch does not say who resumed the run, and why: %v\n%s", err, out)
	}
}
