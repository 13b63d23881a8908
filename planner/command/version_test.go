package command

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The version of the program comes with those of what it exchanges and keeps, as the guide shows them, and --version
// prints the same.
func TestVersion(t *testing.T) {
	out, errOut, status := answer(t, "", "version")
	const number = ` +\d+\n`
	want := regexp.MustCompile(`^terraform-provider-slipway version test\n(commit +[0-9a-f]{40}( with changes)?\n)?Go +go1\.\S+ \w+/\w+\n` +
		"manifest" + number + "ledger" + number + "journal" + number + "workflows" + number +
		"requests" + number + "state file" + number + "$")
	if status != 0 || errOut != "" || !want.MatchString(out) {
		t.Errorf("status %d, %q, output\n%s", status, errOut, out)
	}
	if flag, _, status := answer(t, "", "--version"); status != 0 || flag != out {
		t.Errorf("--version: status %d, output\n%s", status, flag)
	}
	guide, err := os.ReadFile("../../docs/guides/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	_, kept, _ := strings.Cut(out, "manifest")
	if !strings.Contains(string(guide), "\nmanifest"+kept+"```\n") {
		t.Errorf("the guide Beyond one machine does not show\nmanifest%s", kept)
	}
	if got := completed(t, "ver"); len(got) != 1 || !strings.HasPrefix(got[0], "version\t") {
		t.Errorf("offered %q", got)
	}
	if _, errOut, status := answer(t, "", "version", "x"); status != 2 || errOut == "" {
		t.Errorf("an argument: status %d, %q", status, errOut)
	}
}
