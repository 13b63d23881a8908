package command

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// completed returns what a shell is offered after these words.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	out, _, status := answer(t, "", append([]string{cobra.ShellCompRequestCmd}, words...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if directive := lines[len(lines)-1]; status != 0 || !strings.HasPrefix(directive, ":") {
		t.Fatalf("%q: status %d, output %q", words, status, out)
	}
	return lines[:len(lines)-1]
}

// TestCompletion: a shell completes runs, services, sites and formats from the journals that the flags name.
func TestCompletion(t *testing.T) {
	dir := recordHistory(t)
	of := func(words ...string) []string { return append(words, "--journal-directory", dir, "") }
	for _, tt := range []struct {
		words []string
		want  string // one of the lines, a beginning of it
	}{
		{of("report"), "run-3\t"}, {of("watch"), "run-1\t"},
		{of("runs", "unlock"), "lon1"},
		{of("services", "show"), "ntp\tntp, "}, {of("services", "log"), "ntp\t"}, {of("services", "diagnose"), "ntp\t"},
		{[]string{"report", "--journal-directory", dir, "--site", ""}, "lon1"},
		{[]string{"report", "--output", ""}, "junit"}, {[]string{"graph", "--format", ""}, "dot"},
		{[]string{"lifecycle", "show", ""}, "slipway_default"},
		{[]string{"re"}, "report\t"},
	} {
		got := completed(t, tt.words...)
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, tt.want) }) {
			t.Errorf("%q: offered %q, want %q", tt.words, got, tt.want)
		}
	}
	if got := completed(t, of("report", "run-1")...); len(got) > 0 {
		t.Errorf("a second run is offered: %q", got)
	}
	store, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // of a test
	if _, err := store.Start(t.Context(), journal.Run{ID: "run-4", Site: "lon1"}); err != nil {
		t.Fatal(err)
	}
	for _, decision := range []string{"approve", "cancel", "pause", "resume"} {
		got := completed(t, of("runs", decision)...)
		if len(got) != 1 || !strings.HasPrefix(got[0], "run-4\t") {
			t.Errorf("runs %s: offered %q, want the active run alone", decision, got)
		}
	}
	if got := completed(t, "report", "--journal-directory", t.TempDir(), ""); len(got) > 0 {
		t.Errorf("offered without a journal: %q", got)
	}
}

// TestEveryNameIsCompleted: no argument that the journals know, and no format, is left to the names of files.
func TestEveryNameIsCompleted(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		_, argument, _ := strings.Cut(cmd.Use, " ")
		argument, _, _ = strings.Cut(strings.Trim(argument, "[]"), " ")
		if slices.Contains([]string{"RUN", "SITE", "SERVICE", "NAME|FILE"}, argument) && cmd.ValidArgsFunction == nil {
			t.Errorf("%s: %s is not completed", cmd.CommandPath(), argument)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, known := cmd.GetFlagCompletionFunc(f.Name)
			if _, isFormat := f.Value.(*formatFlag); isFormat && !known {
				t.Errorf("%s: --%s is not completed", cmd.CommandPath(), f.Name)
			}
		})
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(New("test", nil, ""))
}
