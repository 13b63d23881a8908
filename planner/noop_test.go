package planner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
)

// A resource with noop changes nothing, so it notifies nobody; one that is notified is planned, to report that it would
// be refreshed.
func TestNoopNotifiesNobody(t *testing.T) {
	s := chain(true)
	s.Services[0].Configuration["exec"]["b"]["noop"] = true
	p := mustMake(t, s, planner.Applied{"n": {"exec[c]": allApplied(t, s)["n"]["exec[c]"]}}, nil)
	if d := cmp.Diff([]string{"create exec[a]", "create exec[b]"}, work(p)); d != "" {
		t.Error(d)
	}
}

// The step of a resource with noop says that it is only checked, and counts it as no change.
func TestStepsOfNoop(t *testing.T) {
	s := chain(false)
	s.Services[0].Configuration["exec"]["b"]["noop"] = true
	p := mustMake(t, s, planner.Applied{"n": {"exec[c]": allApplied(t, s)["n"]["exec[c]"]}}, nil)
	lines := p.Lines()
	if want := "node phase: 1 change on node n: run exec[a], check exec[b] (noop)"; !strings.HasSuffix(
		lines[len(lines)-1], want) {
		t.Errorf("%q, want %q at the end", lines, want)
	}
}
