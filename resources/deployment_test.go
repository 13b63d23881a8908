package resources_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"
)

const deployment = "slipway_deployment.test"

// sandbox is a site on nodes that are folders.
type sandbox struct {
	t    *testing.T
	dir  string
	name string
}

func newSandbox(t *testing.T, nodes ...string) *sandbox {
	t.Helper()
	s := &sandbox{t: t, dir: t.TempDir(), name: "lon1"}
	for _, n := range nodes {
		s.mkdir(n, "etc")
	}
	return s
}

func (s *sandbox) path(node, file string) string { return filepath.Join(s.dir, node, file) }

func (s *sandbox) mkdir(node, dir string) {
	s.t.Helper()
	if err := os.MkdirAll(s.path(node, dir), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) write(node, file, content string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(node, file), []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// content returns a file of a node, and "-" where there is none.
func (s *sandbox) content(node, file string) string {
	raw, err := os.ReadFile(s.path(node, file))
	if err != nil {
		return "-"
	}
	return string(raw)
}

// has is a check of a file's content; "-" is no file.
func (s *sandbox) has(node, file, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if got := s.content(node, file); got != want {
			return fmt.Errorf("%s on %s is %q, want %q", file, node, got, want)
		}
		return nil
	}
}

// ledger returns the run that applied each resource of a node, as its ledger tells.
func (s *sandbox) ledger(node string) map[string]string {
	raw, err := os.ReadFile(s.path(node, "var/lib/slipway/ledger.json"))
	if err != nil {
		return nil
	}
	var l struct {
		Entries []struct{ Type, Title, Run string }
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range l.Entries {
		out[e.Type+"["+e.Title+"]"] = e.Run
	}
	return out
}

// gone checks that nothing of slipway is left on a node.
func (s *sandbox) gone(nodes ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		for _, n := range nodes {
			if _, err := os.Stat(s.path(n, "var/lib/slipway")); err == nil {
				return fmt.Errorf("node %s still has slipway's directory", n)
			}
		}
		return nil
	}
}

// lock takes a node's lock, as another controller would, and returns what gives it back.
func (s *sandbox) lock(node string) (release func()) {
	s.t.Helper()
	f, err := os.OpenFile(s.path(node, "var/lib/slipway/lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := f.Close(); err != nil {
			s.t.Error(err)
		}
	}
}

// files is a service that brings a file with its path as name: {"/etc/a": "content"}.
func files(name string, of map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "resource \"slipway_service\" %q {\n  name = %q\n  selectors = []\n  configuration = { file = {\n", name, name)
	paths := make([]string, 0, len(of))
	for p := range of {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		fmt.Fprintf(&b, "    %q = { content = %q }\n", p, of[p])
	}
	return b.String() + "  } }\n}\n"
}

// config returns the configuration of a site. services are resource names; more goes into the deployment as it is.
func (s *sandbox) config(nodes, services []string, resources, more string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "provider \"slipway\" {\n  journal_directory = %q\n}\n", filepath.Join(s.dir, "journal"))
	list := make([]string, len(nodes))
	for i, n := range nodes {
		fmt.Fprintf(&b, "resource \"slipway_node\" %q {\n  name = %q\n  connect = { transport = \"local\", root = %q }\n}\n", n, n, filepath.Join(s.dir, n))
		list[i] = "slipway_node." + n
	}
	refs := make([]string, len(services))
	for i, n := range services {
		refs[i] = "slipway_service." + n
	}
	b.WriteString(resources)
	fmt.Fprintf(&b, "resource \"slipway_deployment\" \"test\" {\n  site = %q\n  nodes = [%s]\n  services = [%s]\n%s\n}\n", s.name, strings.Join(list, ", "), strings.Join(refs, ", "), more)
	return b.String()
}

func status(want string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(deployment, tfjsonpath.New("status"), knownvalue.StringExact(want))
}

func planned(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(deployment, action)}}
}

func nothingPlanned() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
}

func run(t *testing.T, steps []resource.TestStep, after ...resource.TestCheckFunc) {
	t.Helper()
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps:                    steps,
		CheckDestroy:             resource.ComposeTestCheckFunc(after...),
	})
}

// The life of a site: created, found in order, changed, reduced, destroyed.
func TestDeploymentLife(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.write("b", "etc/motd", "was here before")
	both := []string{"a", "b"}
	run(t, []resource.TestStep{
		{
			Config: s.config(both, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), ""),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectKnownValue(deployment, tfjsonpath.New("changed_nodes"), knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("a"), knownvalue.StringExact("b")})),
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
				plancheck.ExpectKnownValue(deployment, tfjsonpath.New("changed_nodes"), knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("b")})),
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
			PreConfig:          func() { s.write("b", "etc/motd", "changed by hand"); release = s.lock("b") },
			Config:             with("2"),
			ExpectNonEmptyPlan: true,
			Check:              s.has("b", "etc/motd", "changed by hand"),
		},
		{
			PreConfig: func() { release() },
			Config:    with("2"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectKnownValue(deployment, tfjsonpath.New("changed_nodes"), knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("b")})),
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

// terraform.md 5.5, "Create: error + state", and the rows of the private state: the tainted deployment is replaced, Delete touches no node, and Create
// goes on from the ledger.
func TestTaintedCreateGoesOnFromTheLedger(t *testing.T) {
	s := newSandbox(t, "a", "b")
	config := s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one", "/opt/app.conf": "x"}), "")
	s.mkdir("a", "opt") // b has none: its second file fails
	var before map[string]string
	run(t, []resource.TestStep{
		{Config: config, ExpectError: regexp.MustCompile(`(?s)not rolled out.*/opt`)},
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

// Private state, row 4: under create_before_destroy the Delete of the tainted object comes after the new Create, with private state.
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
				plancheck.ExpectKnownValue(deployment, tfjsonpath.New("changed_nodes"), knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("b")})),
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
			PreConfig:          func() { release = s.lock("b") },
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

// terraform.md 5.5, "Update: error + honest partial state": not tainted, and the next plan shows only the rest. The same with a refresh that
// looks at no node ("drift is hidden if Read does not look at the node").
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
					plancheck.ExpectKnownValue(deployment, tfjsonpath.New("changed_nodes"), knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("b")})),
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
			PreConfig:   func() { release = s.lock("a") },
			Config:      config,
			Destroy:     true,
			ExpectError: regexp.MustCompile(`not torn down`),
		},
		{
			// Terraform 1.11 forgets after a failed destroy which attributes are sensitive and plans an update for that alone.
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
			PreConfig:   func() { release = s.lock("b") },
			Config:      alone,
			ExpectError: regexp.MustCompile(`(?s)not rolled out.*"b"`),
		},
		{
			PreConfig: func() { release() },
			Config:    alone,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectKnownValue(deployment, tfjsonpath.New("changed_nodes"), knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("b")})),
			}},
			Check: resource.ComposeTestCheckFunc(s.gone("b"), s.has("b", "etc/motd", "-")),
		},
		{Config: alone, ConfigPlanChecks: nothingPlanned()},
	})
}

// Terraform keeps identities from 1.12 on; older versions must not mind them (terraform.md 5.8), which every other test here shows.
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

// A site that cannot be planned touches nothing, and every problem is told at once.
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

func (s *sandbox) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
