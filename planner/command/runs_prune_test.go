package command

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
)

func TestPrune(t *testing.T) {
	dir := record(t, "lon1", "run-1")
	for _, age := range []string{"", "x", "0h", "-3d", "d", "999999d"} {
		if _, err := run(t, "runs", "prune", "--older-than", age, "--journal-directory", dir); ExitStatus(err) != statusInvalid ||
			!strings.Contains(err.Error(), "must be a time such as 90d or 12h") {
			t.Errorf("%q: %v", age, err)
		}
	}
	out, err := run(t, "runs", "prune", "--older-than", "90d", "--journal-directory", dir)
	if err != nil || out != "site lon1: 0 runs deleted\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// The companion reads a journal in PostgreSQL as one in SQLite, by flag or by environment.
func TestJournalInPostgres(t *testing.T) {
	url := postgrestest.Start(t).URL(t)
	at := journal.Location{URL: url}
	if _, err := run(t, "runs", "--journal", url); err == nil || !strings.Contains(err.Error(), "holds no journal") ||
		strings.Contains(err.Error(), postgrestest.Password) {
		t.Errorf("an empty database: %v", err)
	}
	s, err := at.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "create"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context(), "succeeded", "it went well"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"runs", "run-1"}, {"report", "it went well"}, {"watch run-1", "run run-1: succeeded"}, {"services", ""},
		{"runs unlock lon1", "no run holds it"}, {"runs prune --older-than 1d", "0 runs deleted"},
	} {
		out, err := run(t, append(strings.Fields(tt.args), "--journal", url)...)
		if err != nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %q, %v", tt.args, out, err)
		}
	}
	if _, err := run(t, "runs", "--journal", url, "--journal-directory", "x"); ExitStatus(err) != statusInvalid {
		t.Errorf("two places: %v", err)
	}
	var out strings.Builder
	cmd := New("test", nil, url)
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"runs"})
	if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "run-1") {
		t.Errorf("by the environment: %q, %v", out.String(), err)
	}
}
