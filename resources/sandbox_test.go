package resources_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

const deployment = "slipway_deployment.test"

// sandbox is a site on nodes that are folders.
type sandbox struct {
	t    *testing.T
	dir  string
	name string
	// journal is the URL of a database in place of the folder journal
	journal string
}

// parallel has the tests that run in parallel: one may have several sandboxes.
var parallel sync.Map

// newSandbox makes one. The test runs in parallel with others from here on: each has folders, state and journal of its
// own.
func newSandbox(t *testing.T, nodes ...string) *sandbox {
	t.Helper()
	if _, already := parallel.LoadOrStore(t, true); !already {
		t.Parallel()
	}
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

// ledger returns the run that applied each resource of a node, as its ledger says.
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

// spoil makes every session on a node fail, until release: another version of slipway has written the log of its
// ledger.
func (s *sandbox) spoil(node string) (release func()) {
	s.t.Helper()
	log := s.path(node, "var/lib/slipway/ledger.log")
	if err := os.WriteFile(log, []byte("{\"version\":99}\n{}\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(log); err != nil {
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
	attribute, value := "journal_directory", filepath.Join(s.dir, "journal")
	if s.journal != "" {
		attribute, value = "journal", s.journal
	}
	fmt.Fprintf(&b, "provider \"slipway\" {\n  %s = %q\n}\n", attribute, value)
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

func (s *sandbox) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
