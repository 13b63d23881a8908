package command

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// activeRun returns a directory with the journal of the site lon1, in which run-1 is active.
func activeRun(t *testing.T) (dir string, s *journal.Store, w *journal.Writer) {
	t.Helper()
	dir = t.TempDir()
	s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if w, err = s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "update"}); err != nil {
		t.Fatal(err)
	}
	return dir, s, w
}

// runs and report say of a run that is active what it waits for, until it does not any more.
func TestRunsAndReportSayWhatARunWaitsFor(t *testing.T) {
	dir, _, w := activeRun(t)
	const closed = "the maintenance window is closed until 2030-03-28T22:00:00Z"
	for _, step := range []struct {
		event journal.Event
		waits string // empty: for nothing
	}{
		{journal.Event{Kind: journal.PhaseStarted, Group: "web", Phase: 1}, ""},
		{journal.Event{Kind: journal.Note, Group: "web", Message: "batch 1 of 3 soaks for 5s"}, ""},
		{journal.Event{Kind: journal.Paused, Group: "web", Phase: 1, Message: "batch 1 of 3 is done and waits for approval: slipway runs approve run-1"},
			"group web: batch 1 of 3 is done and waits for approval: slipway runs approve run-1"},
		{journal.Event{Kind: journal.Decided, Action: journal.Approve, Group: "web", Phase: 1, Message: "by ann"}, ""},
		{journal.Event{Kind: journal.Note, Group: "db", Message: closed}, "group db: " + closed},
		{journal.Event{Kind: journal.PhaseStarted, Group: "web", Phase: 2}, "group db: " + closed},
		{journal.Event{Kind: journal.PhaseStarted, Group: "db", Phase: 3}, ""},
		{journal.Event{Kind: journal.Decided, Action: journal.Hold, Message: "by bob: lunch"},
			"paused by bob: lunch: terraform-provider-slipway runs resume run-1"},
		{journal.Event{Kind: journal.Decided, Action: journal.Resume, Message: "by bob"}, ""},
		{journal.Event{Kind: journal.Note, Group: "db", Message: closed}, "group db: " + closed},
	} {
		if err := w.Record(t.Context(), step.event); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"runs"}, {"report"}, {"report", "--output", "markdown"}, {"report", "--output", "html"}} {
			out, err := run(t, append(args, "--journal-directory", dir)...)
			if err != nil {
				t.Fatal(err)
			}
			if args[len(args)-1] == "markdown" {
				out = strings.ReplaceAll(out, `\`, "")
			}
			state := "running"
			switch {
			case strings.HasPrefix(step.waits, "paused"):
				state = "paused"
			case strings.HasPrefix(step.waits, "group web"):
				state = "waiting"
			}
			if len(args) == 1 && !regexp.MustCompile(`(: |update +)`+state+`\b`).MatchString(out) {
				t.Errorf("%v after %+v: want the state %s in:\n%s", args, step.event, state, out)
			}
			if waits := strings.Contains(out, "waits since "); waits != (step.waits != "") || !strings.Contains(out, step.waits) {
				t.Errorf("%v after %+v: want %q in:\n%s", args, step.event, step.waits, out)
			}
		}
	}
	var listed []struct {
		State string                              `json:"state"`
		Holds []struct{ Why, Group, Text string } `json:"holds"`
	}
	if out, err := run(t, "runs", "--output", "json", "--journal-directory", dir); err != nil || json.Unmarshal([]byte(out), &listed) != nil ||
		len(listed) != 1 || listed[0].State != "running" || len(listed[0].Holds) != 1 || listed[0].Holds[0].Why != "window" || listed[0].Holds[0].Text != closed {
		t.Errorf("runs as JSON lack the maintenance window, error %v:\n%s", err, out)
	}
	opened := journal.Event{Kind: journal.Note, Group: "db", Message: "the maintenance window is closed until 2020-03-28T22:00:00Z"}
	if err := w.Record(t.Context(), opened); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, "runs", "--journal-directory", dir); err != nil || strings.Contains(out, "waits since ") {
		t.Errorf("a run waits for a window that has opened, error %v:\n%s", err, out)
	}
	if err := w.Finish(t.Context(), "interrupted", ""); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"runs", "report"} {
		if out, err := run(t, command, "--journal-directory", dir); err != nil || strings.Contains(out, "waits since ") {
			t.Errorf("a run that has ended waits, error %v:\n%s", err, out)
		}
	}
}
