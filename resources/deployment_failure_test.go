package resources_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// terraform.md 5.5, "Create: error, no state": nothing was touched, nothing is saved.
func TestCreateFailsBeforeAnyNode(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	blocker := filepath.Join(s.dir, "journal")
	run(t, []resource.TestStep{
		{
			PreConfig:   func() { s.must(os.WriteFile(blocker, nil, 0o600)) },
			Config:      config,
			ExpectError: regexp.MustCompile(`journal cannot be opened`),
		},
		{
			PreConfig: func() {
				s.must(os.Remove(blocker))
				if got := s.content("a", "etc/motd"); got != "-" {
					t.Errorf("a node was touched: %q", got)
				}
			},
			Config:           config,
			ConfigPlanChecks: planned(plancheck.ResourceActionCreate),
			Check:            s.has("a", "etc/motd", "one"),
		},
	}, s.gone("a"))
}

// terraform.md 5.5, "Create: error + state", and the rows of the private state: the tainted deployment is replaced,
// Delete touches no node, and Create goes on from the ledger.
func TestTaintedCreateGoesOnFromTheLedger(t *testing.T) {
	s := newSandbox(t, "a", "b")
	config := s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one", "/opt/app.conf": "x"}), "")
	s.mkdir("a", "opt") // b has none: its second file fails
	var before map[string]string
	run(t, []resource.TestStep{
		{Config: config, ExpectError: regexp.MustCompile(`(?s)not rolled out.*/opt.*plans\s.*to\s.*replace.*torn`)},
		{
			PreConfig: func() {
				before = s.ledger("a")
				if len(before) != 2 || s.content("b", "etc/motd") != "one" {
					t.Fatalf("the first run did not get as far as it should: %v", before)
				}
				s.mkdir("b", "opt")
			},
			Config:            config,
			ConfigPlanChecks:  planned(plancheck.ResourceActionReplace),
			ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check: resource.ComposeTestCheckFunc(s.has("b", "opt/app.conf", "x"), func(*terraform.State) error {
				if after := s.ledger("a"); fmt.Sprint(after) != fmt.Sprint(before) {
					return fmt.Errorf("node a was torn down or applied again: ledger was %v, is %v", before, after)
				}
				return nil
			}),
		},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b"))
}

// What a failed create applied and the mended configuration no longer wants is removed by the create that follows.
func TestTaintedCreateRemovesWhatIsNoLongerWanted(t *testing.T) {
	s := newSandbox(t, "a")
	run(t, []resource.TestStep{
		{
			Config:      s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/old": "one", "/opt/app.conf": "x"}), ""),
			ExpectError: regexp.MustCompile(`not rolled out`),
		},
		{
			PreConfig: func() {
				if got := s.content("a", "etc/old"); got != "one" {
					t.Fatalf("the first run did not get as far as it should: %q", got)
				}
			},
			Config: s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/new": "two"}), ""),
			Check:  resource.ComposeTestCheckFunc(s.has("a", "etc/new", "two"), s.has("a", "etc/old", "-")),
		},
	}, s.gone("a"))
}

// Private state, row 2: a tainted deployment that is destroyed tears down what it reached.
func TestTaintedThenDestroyed(t *testing.T) {
	s := newSandbox(t, "a")
	run(t, []resource.TestStep{{
		Config:      s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one", "/opt/app.conf": "x"}), ""),
		ExpectError: regexp.MustCompile(`not rolled out`),
	}}, s.has("a", "etc/motd", "-"), s.gone("a"))
}

// Private state, row 4: under create_before_destroy the Delete of the tainted object comes after the new Create, with
// private state.
func TestTaintedUnderCreateBeforeDestroy(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one", "/opt/app.conf": "x"}), "lifecycle { create_before_destroy = true }")
	run(t, []resource.TestStep{
		{Config: config, ExpectError: regexp.MustCompile(`not rolled out`)},
		{
			PreConfig: func() { s.mkdir("a", "opt") },
			Config:    config,
			Check:     resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("a", "opt/app.conf", "x")),
		},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"))
}

// Private state, row 1: a replacement that the configuration asks for tears the old site down.
func TestReplacedBySiteName(t *testing.T) {
	s := newSandbox(t, "a")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	first := s.config([]string{"a"}, []string{"motd"}, motd, "")
	s.name = "lon2"
	second := s.config([]string{"a"}, []string{"motd"}, motd, "")
	var before map[string]string
	run(t, []resource.TestStep{
		{Config: first},
		{
			PreConfig:        func() { before = s.ledger("a") },
			Config:           second,
			ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
			Check: func(*terraform.State) error {
				if after := s.ledger("a"); after["file[/etc/motd]"] == before["file[/etc/motd]"] {
					return fmt.Errorf("the old site was not torn down: %v", after)
				}
				return nil
			},
		},
	}, s.gone("a"))
}

// terraform.md 5.5, "Create/Update: warning only": the apply succeeds, and what is missing is work for the next plan.
func TestDegraded(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.mkdir("a", "opt")
	group := "resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = false\n  selectors = []\n}\n"
	config := s.config([]string{"a", "b"}, []string{"app"}, group+files("app", map[string]string{"/opt/app.conf": "x"}), "groups = [slipway_group.all]")
	run(t, []resource.TestStep{
		{
			Config:             config,
			ConfigStateChecks:  []statecheck.StateCheck{status("degraded"), statecheck.ExpectKnownValue(deployment, tfjsonpath.New("node_status").AtMapKey("b"), knownvalue.StringExact("FAILED"))},
			ExpectNonEmptyPlan: true,
		},
		{
			PreConfig: func() { s.mkdir("b", "opt") },
			Config:    config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				changedNodes("b"),
			}},
			ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check:             s.has("b", "opt/app.conf", "x"),
		},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
	})
}

// A node that failed though nothing is left to do on it is looked at again: the site does not stay degraded.
func TestDegradedWithoutWork(t *testing.T) {
	s := newSandbox(t, "a", "b")
	group := "resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = false\n  selectors = []\n}\n"
	config := func(trigger string) string {
		return s.config([]string{"a", "b"}, []string{"app"}, group+files("app", map[string]string{"/etc/app.conf": "x"}),
			"groups = [slipway_group.all]\n  drift_detection = \"off\"\n  triggers = { again = \""+trigger+"\" }")
	}
	release := func() {}
	run(t, []resource.TestStep{
		{Config: config("1"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")}},
		{
			PreConfig:          func() { release = s.spoil("b") },
			Config:             config("2"),
			ConfigStateChecks:  []statecheck.StateCheck{status("degraded")},
			ExpectNonEmptyPlan: true,
		},
		{
			PreConfig:         func() { release() },
			Config:            config("2"),
			ConfigPlanChecks:  planned(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
		},
		{Config: config("2"), ConfigPlanChecks: nothingPlanned()},
	})
}

// terraform.md 5.5, "Update: error, response untouched": nothing was touched, the same update is planned again.
func TestUpdateFailsBeforeAnyNode(t *testing.T) {
	s := newSandbox(t, "a")
	one := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	two := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "two"}), "")
	journal := filepath.Join(s.dir, "journal")
	run(t, []resource.TestStep{
		{Config: one},
		{
			PreConfig: func() {
				s.must(os.Rename(journal, journal+".away"))
				s.must(os.WriteFile(journal, nil, 0o600))
			},
			Config:      two,
			ExpectError: regexp.MustCompile(`journal cannot be opened`),
		},
		{
			PreConfig: func() {
				s.must(os.Remove(journal))
				s.must(os.Rename(journal+".away", journal))
				if got := s.content("a", "etc/motd"); got != "one" {
					t.Errorf("a node was touched: %q", got)
				}
			},
			Config:           two,
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check:            s.has("a", "etc/motd", "two"),
		},
	})
}

// terraform.md 5.5, "Update: error + honest partial state": not tainted, and the next plan shows only the rest. The
// same with a refresh that looks at no node ("drift is hidden if Read does not look at the node").
func TestUpdateFailsHalfWay(t *testing.T) {
	for _, detection := range []string{"full", "off"} {
		s := newSandbox(t, "a", "b")
		s.mkdir("a", "opt")
		more := fmt.Sprintf("drift_detection = %q", detection)
		one := s.config([]string{"a", "b"}, []string{"app"}, files("app", map[string]string{"/etc/motd": "one"}), more)
		two := s.config([]string{"a", "b"}, []string{"app"}, files("app", map[string]string{"/etc/motd": "two", "/opt/app.conf": "x"}), more)
		run(t, []resource.TestStep{
			{Config: one},
			{Config: two, ExpectError: regexp.MustCompile(`(?s)not rolled out.*/opt`)},
			{
				PreConfig: func() { s.mkdir("b", "opt") },
				Config:    two,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(deployment, plancheck.ResourceActionUpdate),
					changedNodes("b"),
					planContains("file[/opt/app.conf]"), planLacks("file[/etc/motd]"),
				}},
				ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
				Check:             resource.ComposeTestCheckFunc(s.has("b", "opt/app.conf", "x"), s.has("b", "etc/motd", "two")),
			},
			{Config: two, ConfigPlanChecks: nothingPlanned()},
		})
	}
}

// terraform.md 5.5, "Delete: error": the deployment stays, not tainted, and can be destroyed again.
func TestDeleteFails(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	var release func()
	var before map[string]string
	run(t, []resource.TestStep{
		{Config: config},
		{
			PreConfig:   func() { release = s.spoil("a") },
			Config:      config,
			Destroy:     true,
			ExpectError: regexp.MustCompile(`not torn down`),
		},
		{
			// Terraform 1.11 forgets after a failed destroy which attributes are sensitive and plans an update for that
			// alone.
			PreConfig: func() { before = s.ledger("a"); release() },
			Config:    config,
			Check: func(*terraform.State) error {
				if after := s.ledger("a"); len(before) == 0 || fmt.Sprint(after) != fmt.Sprint(before) {
					return fmt.Errorf("the deployment was tainted or the node touched: ledger was %v, is %v", before, after)
				}
				return nil
			},
		},
	}, s.has("a", "etc/motd", "-"), s.gone("a"))
}

// A node that left the site and cannot be torn down stays in the state with its connection, until it is.
func TestDepartedNodeIsTriedAgain(t *testing.T) {
	s := newSandbox(t, "a", "b")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	alone := s.config([]string{"a"}, []string{"motd"}, motd, "")
	var release func()
	run(t, []resource.TestStep{
		{Config: s.config([]string{"a", "b"}, []string{"motd"}, motd, "")},
		{
			PreConfig:   func() { release = s.spoil("b") },
			Config:      alone,
			ExpectError: regexp.MustCompile(`(?s)not rolled out.*"b"`),
		},
		{
			PreConfig: func() { release() },
			Config:    alone,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				changedNodes("b"),
			}},
			Check: resource.ComposeTestCheckFunc(s.gone("b"), s.has("b", "etc/motd", "-")),
		},
		{Config: alone, ConfigPlanChecks: nothingPlanned()},
	})
}

// unseen is a check that a plan has a text nowhere: not in what was, nor in what will be.
type unseen struct{ text string }

func (u unseen) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, c := range req.Plan.ResourceChanges {
		raw, err := json.Marshal(c.Change)
		switch {
		case err != nil:
			resp.Error = err
		case c.Address == deployment && strings.Contains(string(raw), u.text):
			resp.Error = fmt.Errorf("the plan of %s has %q", c.Address, u.text)
		}
	}
}

// Terraform does not know any more that the secrets of a node are sensitive after it left the configuration; so they
// are not in the state.
func TestDepartedNodeTellsNoSecrets(t *testing.T) {
	s := newSandbox(t, "a", "b")
	config := func(nodes string) string {
		return fmt.Sprintf(`
resource "slipway_node" "a" {
  name    = "a"
  connect = { transport = "local", root = %q }
}
resource "slipway_node" "b" {
  name    = "b"
  connect = { transport = "local", root = %q, credentials = { sudo_password = "tell-nobody" }, bastions = [{ host = "jump", credentials = { private_key = "tell-nobody" } }] }
}
provider "slipway" { journal_directory = %q }
resource "slipway_deployment" "test" {
  site     = "lon1"
  nodes    = [%s]
  services = [{ name = "motd", selectors = [], configuration = { file = { "/etc/motd" = { content = "one" } } } }]
}
`, s.path("a", ""), s.path("b", ""), s.path(".slipway", ""), nodes)
	}
	var release func()
	run(t, []resource.TestStep{
		{Config: config("slipway_node.a, slipway_node.b")},
		{PreConfig: func() { release = s.spoil("b") }, Config: config("slipway_node.a"), ExpectError: regexp.MustCompile(`(?s)not rolled out.*"b"`)},
		{
			PreConfig: func() { release() },
			Config:    config("slipway_node.a"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				unseen{"tell-nobody"},
				changedNodes("b"),
			}},
			Check: resource.ComposeTestCheckFunc(s.gone("b"), s.has("b", "etc/motd", "-")),
		},
		{Config: config("slipway_node.a"), ConfigPlanChecks: nothingPlanned()},
	})
}
