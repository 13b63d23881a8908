package resources_test

import (
	"os"
	"regexp"
	"syscall"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
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
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(deployment,
					tfjsonpath.New("changed_nodes"), knownvalue.MapSizeExact(1))},
			}, resource.TestStep{Config: s.on(files("motd", broken), "", "a=a"), ConfigPlanChecks: nothingPlanned()})
		}
		run(t, steps, s.gone("a", "b"), s.has("b", "etc/motd", "-"))
	}
}

// A node on which a failed first apply applied nothing has nothing of slipway, so it can be given up without a word.
func TestNodeGivenUpOnWhichNothingIsApplied(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.mkdir("a", "nowhere")
	var w warnings
	config := func(nodes ...string) string {
		return s.on(files("motd", map[string]string{"/nowhere/x": "x"}), "", nodes...)
	}
	w.run(t, []resource.TestStep{
		{Config: config("a=a", "b=b"), ExpectError: regexp.MustCompile(`not\s+rolled\s+out`)},
		{Config: config("a=a"), Check: resource.ComposeTestCheckFunc(s.gone("b"), s.has("a", "nowhere/x", "x"))},
		{Config: config("a=a"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b"))
}

// A creation that fails again keeps the node that it gave up in the state, so that the one after it knows the node,
// too.
func TestNodeGivenUpAfterTwoFailedCreates(t *testing.T) {
	s := newSandbox(t, "a", "b")
	broken, good := map[string]string{"/etc/motd": "one", "/nowhere/x": "x"}, map[string]string{"/etc/motd": "one"}
	failed := regexp.MustCompile(`not\s+rolled\s+out`)
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: s.on(files("motd", broken), "", "a=a", "b=b"), ExpectError: failed},
		{Config: s.on(files("motd", broken), "", "a=a"), ExpectError: failed},
		{
			Config: s.on(files("motd", good), "", "a=a"), ExpectNonEmptyPlan: true,
			Check: resource.ComposeTestCheckFunc(s.has("b", "etc/motd", "one"),
				w.say(`(?s)Leave site as it is until the creation has finished.*node "b" stays in the state, but for the secrets of its own connect`)),
		},
		{Config: s.on(files("motd", good), "", "a=a"), Check: resource.ComposeTestCheckFunc(s.gone("b"), s.has("b", "etc/motd", "-"))},
	}, s.gone("a", "b"))
}

// With create_before_destroy Terraform deletes the tainted deployment after the new one was created, which cannot learn of the node that is given up: a warning names it.
func TestNodeGivenUpWithCreateBeforeDestroy(t *testing.T) {
	s := newSandbox(t, "a", "b")
	before := "lifecycle {\n create_before_destroy = true\n}"
	config := func(nodes ...string) string {
		return s.on(files("motd", map[string]string{"/etc/motd": "one", "/nowhere/x": "x"}), before, nodes...)
	}
	s.mkdir("a", "nowhere")
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: config("a=a", "b=b"), ExpectError: regexp.MustCompile(`not\s+rolled\s+out`)},
		{
			Config: config("a=a"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check: resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("b", "etc/motd", "one"),
				w.say(`(?s)Nodes of the replaced deployment.*node "b": 1 resource`)),
		},
		{Config: config("a=a"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"), s.has("b", "etc/motd", "one"))
}

// A node that is given up after a failed first apply and on which another session is active is not forgotten.
func TestBusyNodeGivenUpAfterAFailedCreate(t *testing.T) {
	s := newSandbox(t, "a", "b")
	broken := map[string]string{"/etc/motd": "one", "/nowhere/x": "x"}
	s.mkdir("a", "nowhere")
	var lock *os.File
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: s.on(files("motd", broken), "", "a=a", "b=b"), ExpectError: regexp.MustCompile(`not\s+rolled\s+out`)},
		{
			PreConfig: func() {
				var err error
				if lock, err = os.OpenFile(s.path("b", "var/lib/slipway/lock"), os.O_RDWR, 0); err != nil {
					t.Fatal(err)
				}
				if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
					t.Fatal(err)
				}
			},
			Config: s.on(files("motd", broken), "", "a=a"), ExpectNonEmptyPlan: true,
			Check: resource.ComposeTestCheckFunc(s.has("b", "etc/motd", "one"), w.say(`(?s)node "b" is torn down by the next plan.*another\s+session`)),
		},
		{
			PreConfig: func() { _ = lock.Close() },
			Config:    s.on(files("motd", broken), "", "a=a"),
			Check:     resource.ComposeTestCheckFunc(s.gone("b"), s.has("b", "etc/motd", "-")),
		},
	}, s.gone("a", "b"), s.has("b", "etc/motd", "-"))
}
