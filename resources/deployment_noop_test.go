package resources_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

// A resource with noop is only looked at: the run succeeds whether it differs or not, later plans are empty, and what
// was applied before noop was set is undone when the resource goes, no more.
func TestNoopIsReportedAndPlansNothing(t *testing.T) {
	s := newSandbox(t, "a")
	s.write("a", "etc/noop", "have")
	s.write("a", "etc/equal", "same")
	config := func(noop, applied string) string {
		return s.config([]string{"a"}, []string{"svc"}, fmt.Sprintf(`
resource "slipway_service" "svc" {
  name      = "svc"
  selectors = []
  configuration = { file = {
    %s
    "/etc/equal" = { content = "same", noop = true }
    "/etc/real"  = { content = "real", noop = %s }
  } }
}
`, noop, applied), "")
	}
	watched := `"/etc/noop" = { content = "want", noop = true }`
	run(t, []resource.TestStep{
		{
			Config: config(watched, "false"), ConfigPlanChecks: planned(plancheck.ResourceActionCreate),
			ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check:             resource.ComposeTestCheckFunc(s.has("a", "etc/noop", "have"), s.has("a", "etc/real", "real")),
		},
		{Config: config(watched, "false"), ConfigPlanChecks: nothingPlanned()},
		{
			Config: config(watched, "true"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
		},
		{PreConfig: func() { s.write("a", "etc/real", "drifted") }, Config: config(watched, "true"), ConfigPlanChecks: nothingPlanned()},
		{
			Config: config(`"/etc/noop" = { content = "want" }`, "false"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check: resource.ComposeTestCheckFunc(s.has("a", "etc/noop", "want"), s.has("a", "etc/real", "real")),
		},
		{
			Config: config("", "true"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check: s.has("a", "etc/noop", "have"),
		},
	}, s.gone("a"), s.has("a", "etc/equal", "same"), s.has("a", "etc/real", "-"))
}

// What was only looked at leaves the node as it is when it is removed.
func TestNoopRemovedLeavesTheNode(t *testing.T) {
	s := newSandbox(t, "a")
	s.write("a", "etc/noop", "have")
	config := func(file string) string {
		return s.config([]string{"a"}, []string{"svc"}, fmt.Sprintf(`
resource "slipway_service" "svc" {
  name          = "svc"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = "one" }, %s } }
}
`, file), "")
	}
	run(t, []resource.TestStep{
		{Config: config(`"/etc/noop" = { ensure = "absent", noop = true }`), Check: s.has("a", "etc/noop", "have")},
		{
			PreConfig: func() { s.write("a", "etc/noop", "changed by hand") },
			Config:    config(""), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: s.has("a", "etc/noop", "changed by hand"),
		},
		{Config: config(""), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"), s.has("a", "etc/noop", "changed by hand"))
}

// What was only looked at is forgotten, not removed: neither a plan that drops it nor the one that tears it down counts it.
func TestTextOfAForgottenNoop(t *testing.T) {
	s := newSandbox(t, "a")
	s.write("a", "etc/noop", "have")
	c := newCommandLine(t)
	config := func(file string) string {
		return s.config([]string{"a"}, []string{"svc"}, fmt.Sprintf(`
resource "slipway_service" "svc" {
  name          = "svc"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = "one" }, %s } }
}
`, file), "")
	}
	c.configure(config(`"/etc/noop" = { content = "want", noop = true }`))
	c.apply()
	c.empty()
	text := c.changes("-destroy")
	if !strings.Contains(text, "undoes 1 resource on node a") {
		t.Errorf("the tear-down counts what was only looked at:\n%s", text)
	}
	c.configure(config(""))
	text = c.changes()
	if !strings.Contains(text, "forget file[/etc/noop] (noop) on node a") || strings.Contains(text, "removes 1 resource") {
		t.Errorf("what was only looked at counts as removed:\n%s", text)
	}
	c.apply()
	c.empty()
	c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve")
}
