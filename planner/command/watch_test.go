package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// watching is a watch that was started in the background.
type watching struct {
	out, notices *lines
	ended        chan error
	interrupt    context.CancelFunc
}

func startWatch(t *testing.T, dir string) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{out: &lines{out: make(chan string, 10)}, notices: &lines{out: make(chan string, 10)},
		ended: make(chan error, 1), interrupt: cancel}
	cmd := New("test", nil, "")
	cmd.SetOut(w.out)
	cmd.SetErr(w.notices)
	cmd.SetArgs([]string{"watch", "--journal-directory", dir})
	go func() { w.ended <- cmd.ExecuteContext(ctx) }()
	select {
	case line := <-w.notices.out:
		if !strings.HasPrefix(line, "waiting for a run: ") {
			t.Errorf("the notice is %q", line)
		}
	case err := <-w.ended:
		t.Fatalf("watch ended before a run was started: %v", err)
	}
	return w
}

// A person starts watch in one terminal, and then terraform apply in another.
func TestWatchStartedBeforeTheRunWaitsForIt(t *testing.T) {
	for name, dir := range map[string]func(t *testing.T) string{
		"no_directory": func(t *testing.T) string { return filepath.Join(t.TempDir(), ".slipway") },
		"no_journal":   func(t *testing.T) string { return t.TempDir() },
		"empty_journal": func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "lon1.db"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		},
		"earlier_run": func(t *testing.T) string { return record(t, "lon1", "run-1") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := dir(t)
			watch := startWatch(t, dir)
			s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // what it wrote is checked
			w, err := s.Start(t.Context(), journal.Run{ID: "new", Site: "lon1"})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Record(t.Context(), journal.Event{Kind: journal.NodeFinished, Node: "n1",
				Status: "DEPLOYED"}); err != nil {
				t.Fatal(err)
			}
			// Also a run that is over before watch looks again is the one that was waited for.
			if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
				t.Fatal(err)
			}
			if err := <-watch.ended; err != nil {
				t.Fatal(err)
			}
			if line := <-watch.out.out; !strings.HasSuffix(line, "node finished  n1  DEPLOYED") {
				t.Errorf("got %q for the node", line)
			}
			if line := <-watch.out.out; line != "run new: succeeded" {
				t.Errorf("got %q at the end", line)
			}
		})
	}
}

func TestWatchThatWaitsIsInterrupted(t *testing.T) {
	watch := startWatch(t, t.TempDir())
	watch.interrupt()
	if err := <-watch.ended; err == nil || !strings.Contains(err.Error(), "no run was started") {
		t.Errorf("got %v", err)
	}
}
