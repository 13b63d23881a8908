package command

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// TestMain makes local times those of UTC, as the golden files have them, before anything reads them.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	testscript.Main(m, map[string]func(){"slipway": companion})
}

// record writes a journal with one run per id and returns its directory.
func record(t *testing.T, site string, ids ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "journal")
	addRuns(t, dir, site, ids...)
	return dir
}

func addRuns(t *testing.T, dir, site string, ids ...string) {
	t.Helper()
	s, err := journal.Open(t.Context(), filepath.Join(dir, site+".db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		w, err := s.Start(t.Context(), journal.Run{ID: id, Site: site, Operation: "create",
			Steps: []string{"1. control: prepare ctl1"}})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Record(t.Context(),
			journal.Event{Kind: journal.TaskFinished, Group: "control", Node: "ctl1", Resource: "file[/a]",
				Status: "changed"},
			journal.Event{Kind: journal.TaskFinished, Group: "control", Node: "ctl1", Resource: "exec[b]",
				Status: "failed", Message: "exit status 3", Output: "boom"},
			// a callback of no node
			journal.Event{Kind: journal.TaskFinished, Resource: "command[app/bad]", Status: "failed",
				Message: "no answer"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(t.Context(), "failed", "control: FAILED"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := New("test", nil, "")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestRuns(t *testing.T) {
	dir := record(t, "lon1", "run-1", "run-2")
	out, err := run(t, "runs", "--journal-directory", dir)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "run-2") || !strings.Contains(lines[1], "failed") {
		t.Errorf("output:\n%s", out)
	}
	out, err = run(t, "runs", "--journal-directory", dir, "--limit", "1", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var runs []journal.Run
	if err := json.Unmarshal([]byte(out), &runs); err != nil || len(runs) != 1 || runs[0].ID != "run-2" ||
		runs[0].Ended.IsZero() {
		t.Errorf("%v in %s", err, out)
	}
}

// What is not in the journal is a question without an answer, of whatever command.
func TestNamesThatTheJournalDoesNotKnow(t *testing.T) {
	dir := record(t, "lon1", "run-1")
	for _, args := range [][]string{{"report", "zzz"}, {"watch", "zzz"}, {"services", "show", "nope"}} {
		if _, err := run(t, append(args, "--journal-directory", dir)...); ExitStatus(err) != statusInvalid {
			t.Errorf("%v ends with status %d (%v), want %d", args, ExitStatus(err), err, statusInvalid)
		}
	}
}

func TestReport(t *testing.T) {
	dir := record(t, "lon1", "run-1", "other")
	out, err := run(t, "report", "run", "--journal-directory", dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"run run-1: create of site lon1: failed", "1. control: prepare ctl1",
		"control: FAILED", "\nfailed: ctl1: exec[b]: exit status 3\n", "boom",
		"\nfailed: command[app/bad]: no answer\n", "1 task changed something, 2 failed"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	out, err = run(t, "report", "-o", "json", "--journal-directory", dir)
	var report struct {
		journal.Run
		Events []journal.Recorded
	}
	if err != nil || json.Unmarshal([]byte(out), &report) != nil || report.ID != "other" || len(report.Events) != 3 {
		t.Errorf("%v in %s", err, out)
	}
}

func TestWatchEndsWithTheRun(t *testing.T) {
	dir := record(t, "lon1", "run-1")
	out, err := run(t, "watch", "run-1", "--journal-directory", dir)
	if err != nil || !strings.Contains(out, "task finished  control  ctl1  exec[b]  failed  exit status 3") ||
		!strings.HasSuffix(out, "run run-1: failed\n") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// lines hands on each line that is written to it.
type lines struct {
	rest string
	out  chan string
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest += string(b)
	for {
		line, rest, whole := strings.Cut(l.rest, "\n")
		if !whole {
			return len(b), nil
		}
		l.rest = rest
		l.out <- line
	}
}

func TestWatchFollowsARun(t *testing.T) {
	dir := t.TempDir()
	s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // what it wrote is checked
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	told, ended := &lines{out: make(chan string)}, make(chan error, 1)
	go func() {
		cmd := New("test", nil, "")
		cmd.SetOut(told)
		cmd.SetArgs([]string{"watch", "--journal-directory", dir})
		ended <- cmd.ExecuteContext(t.Context())
		close(told.out)
	}()
	for _, node := range []string{"n1", "n2"} {
		if err := w.Record(t.Context(), journal.Event{Kind: journal.NodeFinished, Node: node,
			Status: "DEPLOYED"}); err != nil {
			t.Fatal(err)
		}
		if line := <-told.out; !strings.HasSuffix(line, "node finished  "+node+"  DEPLOYED") {
			t.Errorf("got %q for %s", line, node)
		}
	}
	if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
		t.Fatal(err)
	}
	if line := <-told.out; line != "run run-1: succeeded" {
		t.Errorf("got %q at the end", line)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWatchIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing is written after Begin
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := &lines{out: make(chan string, 1)}
	if err := w.Record(t.Context(), journal.Event{Kind: journal.Note}); err != nil {
		t.Fatal(err)
	}
	go func() { <-told.out; cancel() }()
	cmd := New("test", nil, "")
	cmd.SetOut(told)
	cmd.SetArgs([]string{"watch", "--journal-directory", dir})
	if err := cmd.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), "the run itself goes on") {
		t.Errorf("got %v", err)
	}
	if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
		t.Fatal(err)
	}
}

func TestWhichJournal(t *testing.T) {
	dir := record(t, "lon1", "run-1")
	addRuns(t, dir, "lon2", "run-1")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"runs", "--journal-directory", dir}, "choose one with --site: lon1, lon2"},
		{[]string{"runs", "--journal-directory", t.TempDir()}, "holds no journal"},
		{[]string{"runs", "--journal-directory", filepath.Join(dir, "no")}, "there is no journal directory"},
		{[]string{"runs", "--journal-directory", dir, "--site", "../lon1"}, "is not the name of a site"},
		{[]string{"report", "nope", "--site", "lon1", "--journal-directory", dir}, "no such run"},
		{[]string{"runs", "--site", "lon3", "--journal-directory", dir},
			"holds no journal of it; it holds those of lon1, lon2"},
		{[]string{"runs", "-o", "xml"}, "must be table or json"},
	} {
		if _, err := run(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.args, err, c.want)
		}
	}
	if out, err := run(t, "runs", "--site", "lon2", "--journal-directory", dir); err != nil ||
		!strings.Contains(out, "run-1") {
		t.Errorf("%v:\n%s", err, out)
	}
}
