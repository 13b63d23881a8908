package resources_test

import (
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
	"github.com/hashicorp/terraform-plugin-testing/tfversion"
)

// The life of a site: created, found in order, changed, reduced, destroyed.
func TestDeploymentLife(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.write("b", "etc/motd", "was here before")
	both := []string{"a", "b"}
	run(t, []resource.TestStep{
		{
			Config: s.config(both, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), ""),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				changedNodes("a", "b"),
				plancheck.ExpectKnownValue(deployment, tfjsonpath.New("digest"), knownvalue.StringRegexp(regexp.MustCompile(`^[0-9a-f]{64}$`))),
				plancheck.ExpectUnknownValue(deployment, tfjsonpath.New("status")),
			}},
			ConfigStateChecks: []statecheck.StateCheck{
				status("deployed"),
				statecheck.ExpectKnownValue(deployment, tfjsonpath.New("group_status").AtMapKey("default"), knownvalue.StringExact("DEPLOYED")),
				statecheck.ExpectKnownValue(deployment, tfjsonpath.New("node_status").AtMapKey("b"), knownvalue.StringExact("DEPLOYED")),
			},
			Check: resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("b", "etc/motd", "one")),
		},
		{
			Config:           s.config(both, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), ""),
			ConfigPlanChecks: nothingPlanned(),
		},
		{
			Config: s.config(both, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "two", "/etc/issue": "hello"}), ""),
			Check:  resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "two"), s.has("a", "etc/issue", "hello")),
		},
		{
			Config: s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "two"}), ""),
			Check: resource.ComposeTestCheckFunc(s.has("a", "etc/issue", "-"), s.has("a", "etc/motd", "two"),
				s.has("b", "etc/motd", "was here before"), s.has("b", "etc/issue", "-"), s.gone("b")),
		},
	}, s.has("a", "etc/motd", "-"), s.gone("a", "b"))
}

// terraform.md 5.6: drift is shown as the drift of exactly the resource, and repaired.
func TestDeploymentDrift(t *testing.T) {
	s := newSandbox(t, "a", "b")
	config := s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one", "/etc/issue": "hello"}), "")
	run(t, []resource.TestStep{
		{Config: config},
		{
			PreConfig: func() { s.write("b", "etc/motd", "changed by hand") },
			Config:    config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(deployment, plancheck.ResourceActionUpdate),
				plancheck.ExpectKnownValue(deployment, tfjsonpath.New("drift"), knownvalue.ListSizeExact(0)),
				changedNodes("b"),
				planContains("file[/etc/motd]"), planLacks("file[/etc/issue]"),
			}},
			Check: s.has("b", "etc/motd", "one"),
		},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
	})
}

// drift_detection = "off" looks at no node.
func TestDeploymentDriftDetectionOff(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), `drift_detection = "off"`)
	run(t, []resource.TestStep{
		{Config: config},
		{
			PreConfig:        func() { s.write("a", "etc/motd", "changed by hand") },
			Config:           config,
			ConfigPlanChecks: nothingPlanned(),
			Check:            s.has("a", "etc/motd", "changed by hand"),
		},
	})
}

// A trigger makes everything be checked again, also where refresh does not look.
func TestDeploymentTriggers(t *testing.T) {
	s := newSandbox(t, "a")
	with := func(v string) string {
		return s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}),
			fmt.Sprintf("drift_detection = \"off\"\n  triggers = { again = %q }", v))
	}
	run(t, []resource.TestStep{
		{Config: with("1")},
		{
			PreConfig:        func() { s.write("a", "etc/motd", "changed by hand") },
			Config:           with("2"),
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check:            s.has("a", "etc/motd", "one"),
		},
		{Config: with("2"), ConfigPlanChecks: nothingPlanned()},
	})
}

// A node that failed in the run that a trigger asked for is checked again by the next one.
func TestTriggersOutliveAFailedNode(t *testing.T) {
	s := newSandbox(t, "a", "b")
	group := "resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = false\n  selectors = []\n}\n"
	with := func(v string) string {
		return s.config([]string{"a", "b"}, []string{"motd"}, group+files("motd", map[string]string{"/etc/motd": "one"}),
			fmt.Sprintf("groups = [slipway_group.all]\n  drift_detection = \"off\"\n  triggers = { again = %q }", v))
	}
	var release func()
	run(t, []resource.TestStep{
		{Config: with("1")},
		{
			PreConfig:          func() { s.write("b", "etc/motd", "changed by hand"); release = s.spoil("b") },
			Config:             with("2"),
			ExpectNonEmptyPlan: true,
			Check:              s.has("b", "etc/motd", "changed by hand"),
		},
		{
			PreConfig: func() { release() },
			Config:    with("2"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				changedNodes("b"),
			}},
			Check: s.has("b", "etc/motd", "one"),
		},
		{Config: with("2"), ConfigPlanChecks: nothingPlanned()},
	})
}

// terraform.md 5.3, rows 1, 3 and 4: the removal of an item is a difference that the apply sees again.
func TestSilentSkipItemRemoved(t *testing.T) {
	for _, lifecycle := range []string{"", "lifecycle { create_before_destroy = true }"} {
		s := newSandbox(t, "a")
		motd := files("motd", map[string]string{"/etc/motd": "one"})
		issue := strings.Replace(files("issue", map[string]string{"/etc/issue": "hello"}), "selectors = []", "selectors = []\n  "+lifecycle, 1)
		run(t, []resource.TestStep{
			{Config: s.config([]string{"a"}, []string{"motd", "issue"}, motd+issue, ""), Check: s.has("a", "etc/issue", "hello")},
			{
				Config:           s.config([]string{"a"}, []string{"motd"}, motd, ""),
				ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
				Check:            s.has("a", "etc/issue", "-"),
			},
			{Config: s.config([]string{"a"}, []string{"motd"}, motd, ""), ConfigPlanChecks: nothingPlanned()},
		})
	}
}

// terraform.md 5.3, row 2: an item that is replaced by an equal one changes nothing, and none is promised.
func TestSilentSkipItemReplaced(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	run(t, []resource.TestStep{
		{Config: config},
		{Config: config, Taint: []string{"slipway_service.motd"}, ConfigPlanChecks: planned(plancheck.ResourceActionNoop)},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
	})
}

// Terraform keeps identities from 1.12 on; older versions must not mind them (terraform.md 5.8), which every other test
// here shows.
func TestDeploymentIdentity(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		Steps: []resource.TestStep{{Config: config, ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectIdentity(deployment, map[string]knownvalue.Check{"site": knownvalue.StringExact("lon1")}),
		}}},
	})
}

// A node that is in no group any more is torn down; it stays in the site, untouched.
func TestNodeInNoGroupAnyMore(t *testing.T) {
	s := newSandbox(t, "a", "b")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	grouped := func(names string) string {
		return s.config([]string{"a", "b"}, []string{"motd"}, motd+fmt.Sprintf("resource \"slipway_group\" \"g\" {\n  name = \"g\"\n  critical = true\n  selectors = [{ node_names = %s }]\n}\n", names), "groups = [slipway_group.g]")
	}
	run(t, []resource.TestStep{
		{Config: grouped(`["a", "b"]`), Check: s.has("b", "etc/motd", "one")},
		{
			Config: grouped(`["a"]`),
			Check:  resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("b", "etc/motd", "-"), s.gone("b")),
		},
		{Config: grouped(`["a"]`), ConfigPlanChecks: nothingPlanned()},
	})
}

// on_destroy = "retain" lets go of the nodes as they are.
func TestRetain(t *testing.T) {
	s := newSandbox(t, "a")
	run(t, []resource.TestStep{
		{Config: s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), `on_destroy = "retain"`)},
	}, s.has("a", "etc/motd", "one"))
}

// An imported deployment finds in the ledgers what is there already.
func TestImport(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	var before map[string]string
	run(t, []resource.TestStep{
		{Config: config},
		{
			PreConfig:     func() { before = s.ledger("a") },
			Config:        config,
			ResourceName:  deployment,
			ImportState:   true,
			ImportStateId: "lon1",
			ImportStateCheck: func(states []*terraform.InstanceState) error {
				if len(states) != 1 || states[0].Attributes["site"] != "lon1" {
					return fmt.Errorf("imported %v", states)
				}
				if after := s.ledger("a"); fmt.Sprint(after) != fmt.Sprint(before) {
					return fmt.Errorf("the import touched the node: %v", after)
				}
				return nil
			},
		},
	})
}

// Unknown inputs make the preview unknown as a whole, and the apply then does what it would have shown.
func TestUnknownInput(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"motd"}, `
resource "terraform_data" "later" {
  input = "secret of the day"
}
resource "slipway_service" "motd" {
  name          = "motd"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = terraform_data.later.output } } }
}
`, "")
	run(t, []resource.TestStep{
		{
			Config: config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectUnknownValue(deployment, tfjsonpath.New("steps")),
				plancheck.ExpectUnknownValue(deployment, tfjsonpath.New("digest")),
				plancheck.ExpectUnknownValue(deployment, tfjsonpath.New("changed_nodes")),
			}},
			Check: s.has("a", "etc/motd", "secret of the day"),
		},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
	})
}

// A site that cannot be planned touches nothing, and every error is reported at once.
func TestBadSites(t *testing.T) {
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	group := func(name, more string) string {
		return fmt.Sprintf("resource \"slipway_group\" %q {\n  name = %q\n  critical = true\n%s\n}\n", name, name, more)
	}
	for name, c := range map[string]struct {
		resources, more string
		want            string
	}{
		"unknown group": {group("g", `selectors = []
  depends_on_groups = ["nope"]`), "groups = [slipway_group.g]", `(?s)Unknown group.*group "g", depends_on_groups\[0\].*nope`},
		"cycle": {group("g", `selectors = []
  depends_on_groups = ["h"]`) + group("h", `selectors = []
  depends_on_groups = ["g"]`), "groups = [slipway_group.g, slipway_group.h]", `(?s)circle.*(g.*h|h.*g)`},
		"duplicate group":  {group("g", "selectors = []"), "groups = [slipway_group.g, slipway_group.g]", `(?s)twice.*"g"`},
		"minimum of none":  {group("g", "selectors = [{ rack_names = [\"nowhere\"] }]\n  success_criteria = { minimum_successful_nodes = 1 }"), "groups = [slipway_group.g]", `(?s)cannot be met.*"g"`},
		"unknown type":     {strings.Replace(motd, "file =", "fill =", 1), "", `(?s)fill`},
		"wrong parameter":  {strings.Replace(motd, "content =", "contents =", 1), "", `(?s)contents.*content`},
		"wrong value kind": {strings.Replace(motd, `content = "one"`, `content = ["one"]`, 1), "", `(?s)content`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			s := newSandbox(t, "a")
			resources := c.resources
			if !strings.Contains(resources, "slipway_service") {
				resources += motd
			}
			run(t, []resource.TestStep{{Config: s.config([]string{"a"}, []string{"motd"}, resources, c.more), ExpectError: regexp.MustCompile(c.want)}},
				s.has("a", "etc/motd", "-"), s.gone("a"))
		})
	}
}

// Secrets that a user marks as such are in no journal and no ledger.
func TestSecretsStayOut(t *testing.T) {
	s := newSandbox(t, "a")
	s.write("a", "etc/app.ini", "[db]\npassword = old-hunter2\n")
	config := s.config([]string{"a"}, []string{"app"}, `
resource "slipway_service" "app" {
  name      = "app"
  selectors = []
  configuration = {
    ini_setting = { "db password" = { path = "/etc/app.ini", section = "db", setting = "password", value = "new-hunter2", sensitive = true } }
    file        = { "/etc/token" = { content = "token-hunter2", mode = "0600", sensitive = true } }
  }
}
`, "")
	run(t, []resource.TestStep{{
		Config: config,
		Check: func(*terraform.State) error {
			for _, dir := range []string{"journal", "a/var/lib/slipway"} {
				err := filepath.WalkDir(filepath.Join(s.dir, dir), func(path string, d os.DirEntry, err error) error {
					if err != nil || d.IsDir() || strings.Contains(path, "/backup/") || strings.Contains(path, "/kept/") {
						return err
					}
					raw, err := os.ReadFile(path)
					if err == nil && strings.Contains(string(raw), "hunter2") {
						err = fmt.Errorf("%s holds a secret", path)
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	}})
}
