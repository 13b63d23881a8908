package command

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// What check finds is in the journal, for the page: drift, what the last run did not finish, and that there is none of it
// any more.
func TestCheckIsRecorded(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, "a", "b")
	s.write("site.yaml", "x", "a", "b")
	s.expect(0, "deployed", "yes\n", "apply", s.path("site.yaml"))
	s.must(os.WriteFile(s.path("a", "etc", "motd"), []byte("hand-made\n"), 0o600))
	s.run("", "check", s.path("site.yaml"))
	s.must(os.Remove(s.path("a", "etc", "motd")))
	s.must(os.MkdirAll(s.path("a", "etc", "motd", "folder"), 0o755))
	s.expect(statusFailed, "directory", "yes\n", "apply", s.path("site.yaml"))
	s.expect(statusDrift, `"unfinished": true`, "", "check", s.path("site.yaml"), "-o", "json")
	s.must(os.RemoveAll(s.path("a", "etc", "motd")))
	s.expect(0, "deployed", "yes\n", "apply", s.path("site.yaml"))
	s.expect(0, "no drift", "", "check", s.path("site.yaml"))
	store, err := journal.OpenExisting(t.Context(), s.path("journal", "lon1.db"))
	s.must(err)
	defer store.Close() //nolint:errcheck // read only
	all, err := store.Checks(t.Context(), 10)
	s.must(err)
	if len(all) < 3 {
		t.Fatalf("the journal has %d checks: %+v", len(all), all)
	}
	newest, first := all[0], all[len(all)-1]
	if len(newest.Drift) != 0 || newest.Nodes != 2 || newest.Owner == "" {
		t.Errorf("the newest check is %+v", newest)
	}
	isUnfinished := func(c journal.Check) bool {
		return len(c.Drift) > 0 && c.Drift[0] == journal.Drift{Node: "a", Resource: "file[/etc/motd]", Change: "was begun and not finished", Unfinished: true}
	}
	if !slices.ContainsFunc(all, isUnfinished) {
		t.Errorf("no check has what was not finished: %+v", all)
	}
	if len(first.Drift) != 1 || first.Drift[0].Unfinished || first.Drift[0].Node != "a" || first.Drift[0].Resource != "file[/etc/motd]" ||
		!strings.Contains(first.Drift[0].Change, "-hand-made") {
		t.Errorf("the first check is %+v", first)
	}
}
