package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

func TestUnlock(t *testing.T) {
	dir := record(t, "lon1", "run-1")
	out, err := run(t, "runs", "unlock", "lon1", "--journal-directory", dir)
	if err != nil || out != "site lon1: no run holds it\n" {
		t.Errorf("a free site: %q, %v", out, err)
	}
	s, err := journal.Open(t.Context(), journal.File(dir, "lon1"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // temporary
	w, err := s.Start(t.Context(), journal.Run{ID: "run-2", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	var busy *journal.BusyError
	if _, err := run(t, "runs", "unlock", "lon1", "--journal-directory", dir); !errors.As(err, &busy) ||
		ExitStatus(err) != statusFailed || !strings.Contains(err.Error(), "runs unlock lon1 --force") {
		t.Errorf("a run that lives: %v", err)
	}
	out, err = run(t, "runs", "unlock", "lon1", "--journal-directory", dir, "--force")
	if err != nil || !strings.HasPrefix(out, "site lon1: free. It was held by run run-2 of ") ||
		!strings.Contains(out, "process") {
		t.Errorf("with force: %q, %v", out, err)
	}
	if err := w.Finish(t.Context(), "succeeded", ""); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("the run goes on: %v", err)
	}
	if _, err := run(t, "runs", "unlock", "lon1", "--fence", "3000000000000", "--journal-directory", dir); err != nil {
		t.Error(err)
	}
	if w, err = s.Start(t.Context(), journal.Run{ID: "run-3", Site: "lon1"}); err != nil {
		t.Fatal(err)
	}
	if n := w.Fence().Number; n <= 3000000000000 {
		t.Errorf("fence %d", n)
	}
	if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"unlock"}, {"unlock", "a", "b"}, {"unlock", "nope"},
		{"unlock", "lon1", "--site", "lon2"}} {
		if _, err := run(t, append(append([]string{"runs"}, args...), "--journal-directory",
			dir)...); ExitStatus(err) != statusInvalid {
			t.Errorf("%v: %v, want status %d", args, err, statusInvalid)
		}
	}
}
