package resources_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// A node that moves to another machine is looked at where the last apply left it. The warning says so, and the plan says which nodes the apply reaches
// otherwise.
func TestConnectionCorrected(t *testing.T) {
	s := newSandbox(t, "old", "new", "other")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	broken := func() { // no folder any more: the node cannot be looked at
		s.must(os.RemoveAll(s.path("old", "")))
		s.must(os.WriteFile(s.path("old", ""), nil, 0o600))
	}
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: s.on(motd, "", "a=old", "b=other"), Check: w.lack(".")},
		{
			PreConfig: broken, Config: s.on(motd, "", "a=new", "b=other"),
			Check: resource.ComposeTestCheckFunc(
				w.say(`(?s)1 of 2 nodes could not be checked.*through the connections of the last apply.*`+
					`Nodes that could not be checked are reached otherwise.*the apply and the next refresh use the new connections.*`+
					`a: the folder \S+/new, was the folder \S+/old`),
				s.has("new", "etc/motd", "one"),
			),
		},
		{Config: s.on(motd, "", "a=new", "b=other"), ConfigPlanChecks: nothingPlanned(), Check: w.lack("could not be checked")},
	}, s.gone("new", "other"))
}

// A typo in an address that was applied, where nobody answered, and is corrected then: no machine left, nothing is torn
// down or forgotten, and the refresh looks where the node is now.
func TestTypoOfAnAddressCorrected(t *testing.T) {
	for name, more := range map[string]string{
		"critical": "", "not critical": `groups = [{ name = "all", critical = false, selectors = [] }]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, "a", "b")
			motd := files("motd", map[string]string{"/etc/motd": "one"})
			at := func(folder string) string {
				return strings.Replace(s.config([]string{"a", "b"}, []string{"motd"}, motd, more), strconv.Quote(s.path("a", "")),
					strconv.Quote(s.path(folder, "")), 1)
			}
			var w warnings
			var before map[string]string
			failed := regexp.MustCompile(`not\s+rolled\s+out`)
			kept := func(*terraform.State) error {
				if after := s.ledger("a"); !maps.Equal(before, after) {
					return fmt.Errorf("the ledger was %v and is %v", before, after)
				}
				return nil
			}
			w.run(t, []resource.TestStep{
				{Config: at("a"), Check: func(*terraform.State) error { before = s.ledger("a"); return nil }},
				{Config: at("nope"), ExpectError: failed},
				{Config: at("nowhere"), ExpectError: failed},
				{
					PreConfig: func() { w.take() }, Config: at("a"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
					Check: resource.ComposeTestCheckFunc(kept, s.has("a", "etc/motd", "one"),
						w.lack(`leaves? the site|left the site|forgotten|tears down|nowhere|could not be checked`)),
				},
				{Config: at("a"), ConfigPlanChecks: nothingPlanned()},
			}, s.gone("a", "b"))
		})
	}
}

// The same where the first apply had the typo: there was no machine before.
func TestTypoInTheFirstApplyCorrected(t *testing.T) {
	s := newSandbox(t, "a", "b")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	at := func(folder string) string {
		return strings.Replace(s.config([]string{"a", "b"}, []string{"motd"}, motd,
			`groups = [{ name = "all", critical = false, selectors = [] }]`), strconv.Quote(s.path("a", "")),
			strconv.Quote(s.path(folder, "")), 1)
	}
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: at("nope"), ConfigStateChecks: []statecheck.StateCheck{status("degraded")}, ExpectNonEmptyPlan: true},
		{
			PreConfig: func() { w.take() }, Config: at("a"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check: resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"),
				w.lack(`leaves? the site|left the site|forgotten|tears down|nope|could not be checked`)),
		},
		{Config: at("a"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b"))
}
