package resources_test

import (
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
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
