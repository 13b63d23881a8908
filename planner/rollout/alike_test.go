package rollout_test

import (
	"fmt"
	"slices"
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

// An error of many nodes that differs in their addresses only is one; an address that a command printed is not meant.
func TestErrorsThatDifferInTheAddressAreOne(t *testing.T) {
	reasons := map[string]string{
		"n1": `node "n1": 10.0.0.1:22 does not let the user "op" in`,
		"n2": `node "n2": [fd00::2]:2222 does not let the user "op" in`,
		"n3": `node "n3": no connection to n3.example:22 within 10s`,
		"n4": `node "n4": no connection to n4.example:22 within 10s`,
		"n5": `exec[a]: connecting to 10.0.0.1:80 failed`,
		"n6": `exec[a]: connecting to 10.0.0.2:80 failed`,
		"n7": `node "n7": 10.0.0.7:22 closed the connection`,
	}
	var got []string
	nodes := []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7"}
	for _, a := range rollout.SaidAlike(nodes, func(n string) string { return reasons[n] }) {
		got = append(got, a.Who()+": "+a.Reason)
	}
	want := []string{
		`2 nodes (n1, n2): the node does not let the user "op" in`,
		`2 nodes (n3, n4): no connection to the node within 10s`,
		"n5: " + reasons["n5"], "n6: " + reasons["n6"], "n7: " + reasons["n7"],
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
