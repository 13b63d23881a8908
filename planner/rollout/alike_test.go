package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// A warning that many nodes have in common is reported once, with their number and the first names.
func TestWarningsOfManyNodesAreReportedOnce(t *testing.T) {
	r := rollout.Report{Site: "lon1", Run: "r1", Status: rollout.StatusSucceeded, Warnings: []string{"the run was slow"}}
	for i := range 100 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("node %q: file[/etc/motd] differs", fmt.Sprintf("web%02d", 99-i)))
	}
	r.Warnings = append(r.Warnings, `node "db1": is slow`, "the end")
	want := `warnings:
  the run was slow
  100 nodes (web00, web01, web02, web03, web04 and 95 more): file[/etc/motd] differs
  node "db1": is slow
  the end
`
	if got := r.String(); !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
