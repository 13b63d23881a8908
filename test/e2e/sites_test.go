package e2e

import (
	"strings"
	"testing"
)

// TestTwoSites has two sites on one node: neither takes over a resource of the other, and each leaves without a trace of its own.
func TestTwoSites(t *testing.T) {
	t.Parallel()
	one := nodes.Take(t, 1)
	n := one[0]
	before := fingerprints(t, n)
	first := newWorkspace(t, config{site: "first", nodes: one}.hcl(t))
	first.must(first.apply(), 0)

	second := newWorkspace(t, config{site: "second", nodes: one, more: []string{"own"}, services: `
resource "slipway_service" "own" {
  name          = "own"
  selectors     = []
  configuration = { file = { "/etc/slipway-own" = { content = "own\n" } } }
}
`}.hcl(t))
	second.set("content", "stolen")
	r := second.must(second.apply(), 1, n.Name, "file["+testFile+"]", `site "first"`)
	if got := strings.Count(r.out, "Error: "); got != 1 {
		t.Errorf("%d errors, want one:\n%s", got, r.out)
	}
	if got := n.On(t, "cat "+testFile); got != "first" {
		t.Errorf("the second site took the first one's file: %q", got)
	}
	first.must(first.plan(), 0, "No changes")
	second.mustDestroy()
	if got := n.On(t, "cat "+testFile+"; ls /etc/slipway-own 2>/dev/null || true"); got != "first" {
		t.Errorf("after the second site's end there is %q", got)
	}
	first.must(first.plan(), 0, "No changes")

	// Side by side, in the order in which they came.
	third := newWorkspace(t, strings.ReplaceAll(config{site: "third", nodes: one}.hcl(t), testFile, "/etc/slipway-third"))
	third.must(third.apply(), 0)
	first.mustDestroy()
	third.must(third.plan(), 0, "No changes")
	third.mustDestroy()
	assertUntouched(t, before, n)
}
