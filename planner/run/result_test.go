package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestResultIsBounded checks that a result takes at most 2 KB as JSON, its error as text, whatever the node reports, and
// that the error is still found.
func TestResultIsBounded(t *testing.T) {
	cause := errors.New(strings.Repeat("\x01<\"é", 10000))
	for name, r := range map[string]Result{
		"all of it": {Outcome: NotStarted, Sent: true, Lock: IsUnlocked, Removal: Unreachable, Err: fmt.Errorf("broken: %w", cause),
			Counts: Counts{1e9, 1e9, 1e9, 1e9, 1e9}, Boot: strings.Repeat("b", 5000), Digest: strings.Repeat("d", 64)},
		"little": {Outcome: Succeeded},
	} {
		if name == "all of it" {
			for i := range 100 {
				r.Failures = append(r.Failures, fmt.Sprintf("file[/%d/%s]", i, strings.Repeat("<", i*i)))
			}
		}
		got := r.Bounded()
		text := ""
		if got.Err != nil {
			text = got.Err.Error()
		}
		if !errors.Is(got.Err, r.Err) || (r.Err != nil) != strings.HasPrefix(text, "broken: ") {
			t.Errorf("%s: the error is %q", name, text)
		}
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", name, len(data))
		if len(data) > MostResult {
			t.Errorf("%s: %d bytes, want at most %d:\n%s", name, len(data), MostResult, data)
		}
		if len(got.Failures) > MostFailures || len(r.Failures) > 0 && (len(got.Failures) < 10 || got.Failures[0] != "file[/0/]") {
			t.Errorf("%s: failed are %q", name, got.Failures)
		}
	}
	short := Result{Err: errors.New("short"), Failures: []string{"package[nginx]"}}
	if got := short.Bounded(); got.Err != short.Err || got.Failures[0] != "package[nginx]" {
		t.Errorf("a short result is changed: %+v", got)
	}
}
