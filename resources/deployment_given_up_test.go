package resources_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

// An imported deployment does not know its nodes before the first apply: a destroy then says so, and releases nothing
// silently.
func TestDestroyAfterImport(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	retained := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), `on_destroy = "retain"`)
	run(t, []resource.TestStep{{Config: retained}}, s.has("a", "etc/motd", "one"))
	run(t, []resource.TestStep{
		{Config: config, ResourceName: deployment, ImportState: true, ImportStatePersist: true, ImportStateId: "lon1"},
		{Config: config, Destroy: true, ExpectError: regexp.MustCompile(`(?s)imported.*apply.*state\s+rm`)},
		{Config: config, Check: s.has("a", "etc/motd", "one")},
	}, s.gone("a"), s.has("a", "etc/motd", "-"))
}

// A node that is given up after a failed first apply is torn down by the plan after the creation, which says so; a
// destroy tears it down, too.
func TestNodeGivenUpAfterAFailedCreate(t *testing.T) {
	for _, destroyed := range []bool{false, true} {
		s := newSandbox(t, "a", "b")
		broken := map[string]string{"/etc/motd": "one", "/nowhere/x": "x"}
		s.mkdir("a", "nowhere")
		steps := []resource.TestStep{
			{Config: s.on(files("motd", broken), "", "a=a", "b=b"), ExpectError: regexp.MustCompile(`not\s+rolled\s+out`)},
			{
				Config: s.on(files("motd", broken), "", "a=a"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")}, ExpectNonEmptyPlan: true,
				Check: resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("b", "etc/motd", "one")),
			},
		}
		if !destroyed {
			steps = append(steps, resource.TestStep{
				Config: s.on(files("motd", broken), "", "a=a"),
				Check:  resource.ComposeTestCheckFunc(s.gone("b"), s.has("b", "etc/motd", "-"), s.has("a", "etc/motd", "one")),
			}, resource.TestStep{Config: s.on(files("motd", broken), "", "a=a"), ConfigPlanChecks: nothingPlanned()})
		}
		run(t, steps, s.gone("a", "b"), s.has("b", "etc/motd", "-"))
	}
}

// A creation that fails again keeps the node that it gave up in the state, so that the one after it knows the node,
// too.
func TestNodeGivenUpAfterTwoFailedCreates(t *testing.T) {
	s := newSandbox(t, "a", "b")
	broken, good := map[string]string{"/etc/motd": "one", "/nowhere/x": "x"}, map[string]string{"/etc/motd": "one"}
	failed := regexp.MustCompile(`not\s+rolled\s+out`)
	run(t, []resource.TestStep{
		{Config: s.on(files("motd", broken), "", "a=a", "b=b"), ExpectError: failed},
		{Config: s.on(files("motd", broken), "", "a=a"), ExpectError: failed},
		{Config: s.on(files("motd", good), "", "a=a"), ExpectNonEmptyPlan: true, Check: s.has("b", "etc/motd", "one")},
		{Config: s.on(files("motd", good), "", "a=a"), Check: resource.ComposeTestCheckFunc(s.gone("b"), s.has("b", "etc/motd", "-"))},
	}, s.gone("a", "b"))
}
