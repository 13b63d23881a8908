package resources_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// A returned secret of a service with defaults and values of pools does not make it look changed.
func TestServiceSecretWithDefaults(t *testing.T) {
	s, r := newSandbox(t, "a"), newRegister(t)
	text := strings.Replace(r.json(r.catalog(", sensitive: true")), "      peer:", "      size: {type: int, modifier: rw+, default: 1}\n      port: {type: int, modifier: r, allocate: {integer: {from: 1, to: 9}}}\n      peer:", 1)
	with := func(peer string) string {
		return s.config([]string{"a"}, []string{"t1"}, catalogs(text)+instance("t1", "tunnel", fmt.Sprintf("{ peer = %q }", peer)), "")
	}
	run(t, []resource.TestStep{
		{Config: with("x"), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/tunnel", "x 1\n"), r.called(1))},
		{Config: with("x"), ConfigPlanChecks: nothingPlanned(), Check: r.called(1)},
		{Config: with("y"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: s.has("a", "etc/tunnel", "y 2\n")},
		{Config: with("y"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"))
}

// A rollback calls callbacks again whose parameters it changes, also where nothing else of the service is to be done.
func TestServiceRollbackOfCallbacks(t *testing.T) {
	s := newSandbox(t, "a")
	text := fmt.Sprintf(`
entities:
  route:
    attributes:
      to: {type: string, modifier: rw+}
    tasks:
    - name: announce
      callback: {type: command, parameters: {argv: [sh, -c, 'echo "$1" >"$2"', sh, "${self.to}", %[1]q]}}
    - name: check
      requires: [{task: announce}]
      callback: {type: command, parameters: {argv: [sh, -c, 'test "$1" != bad', sh, "${self.to}"]}}
    - name: file
      requires: [{task: check}]
      config: {type: file, title: /etc/route, parameters: {content: "same\n"}}
`, filepath.Join(s.dir, "announced"))
	with := func(to string) string {
		return s.config([]string{"a"}, []string{"r1"}, catalogs(text)+strings.Replace(instance("r1", "route", fmt.Sprintf("{ to = %q }", to)), "selectors", "rollback_on_failure = true\n  selectors", 1), "")
	}
	announced := func(want string) resource.TestCheckFunc { return s.has("", "announced", want+"\n") }
	run(t, []resource.TestStep{
		{Config: with("good"), Check: announced("good")},
		{Config: with("bad"), ExpectError: wrapped(`The update of the service "r1" was rolled back`)},
		{PreConfig: func() { s.must(announced("good")(nil)) }, Config: with("good"), Check: announced("good")},
		{Config: with("good"), ConfigPlanChecks: nothingPlanned()},
		{Config: with("other"), Check: announced("other")},
	}, s.gone("a"))
}

// A creation that failed leaves a service in the journal whose identity another one has then.
func TestServiceOfAnotherNameAfterAFailure(t *testing.T) {
	s := newSandbox(t, "a")
	with := func(name, dir string) string {
		return webSite(s, []string{"a"}, map[string]string{"api": `{ name = "api" }`, name: fmt.Sprintf("{ name = \"x\", dir = %q }", dir)}, "")
	}
	run(t, []resource.TestStep{
		{Config: with("web", "opt"), ExpectError: wrapped(`/opt`)},
		{Config: with("app", "etc"), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/app.conf", "x 1\n"), s.has("a", "etc/web", "-"))},
		{Config: with("app", "etc"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"))
}

// A deployment that let go of its nodes is taken up again where its services are.
func TestServicesAfterRetain(t *testing.T) {
	s := newSandbox(t, "a")
	with := func(services map[string]string) string {
		return strings.Replace(webSite(s, []string{"a"}, services, ""), "  site = ", "  on_destroy = \"retain\"\n  site = ", 1)
	}
	both := with(map[string]string{"web": `{ name = "web" }`, "api": `{ name = "api" }`})
	run(t, []resource.TestStep{
		{Config: both, Check: s.has("a", "etc/web", "1 8001\n")},
		{Config: both, Destroy: true},
		{Config: with(map[string]string{"web": `{ name = "web" }`}), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/web", "1 8001\n"), s.has("a", "etc/api", "-")), ConfigStateChecks: serviceIs("web", "up", 3, "8001")},
		{Config: with(map[string]string{"web": `{ name = "web" }`}), ConfigPlanChecks: nothingPlanned()},
		{Config: both, Check: s.has("a", "etc/api", "1 8000\n"), ConfigStateChecks: serviceIs("api", "up", 3, "8000")},
		{Config: both, ConfigPlanChecks: nothingPlanned()},
	})
}

// In a group that is not critical a service may fail and the apply succeed; the plans after that converge.
func TestServiceFailsInAGroupThatIsNotCritical(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.mkdir("a", "opt")
	with := func(dir string) string {
		return notCritical(webSite(s, []string{"a", "b"}, map[string]string{"web": fmt.Sprintf(`{ name = "web", dir = %q }`, dir), "api": `{ name = "api" }`}, ""))
	}
	run(t, []resource.TestStep{
		{Config: with("etc")},
		{Config: with("opt"), ConfigStateChecks: serviceIs("web", "update_failed", 6, "8001"), ExpectNonEmptyPlan: true},
		{Config: with("opt"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), ExpectNonEmptyPlan: true},
		{PreConfig: func() { s.mkdir("b", "opt") }, Config: with("opt"), ConfigStateChecks: serviceIs("web", "up", 7, "8001"), Check: s.has("b", "opt/web.conf", "web 1\n")},
		{Config: with("opt"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b"))
}

// notCritical puts all nodes into a group that is not critical.
func notCritical(config string) string {
	return strings.Replace(config, "  site = ", "  groups = [slipway_group.all]\n  site = ", 1) + "resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = false\n  selectors = []\n}\n"
}

// A callback of a group that is not critical may fail and the apply succeed: the value that it would have returned is
// not known, then.
func TestServiceValueThatDidNotCome(t *testing.T) {
	s, r := newSandbox(t, "a"), newRegister(t)
	text := strings.Replace(r.json(r.catalog("")), "    - name: allocate\n", "    - name: allocate\n      tag: cluster\n", 1)
	text = strings.Replace(text, "${self.peer} ${self.vni}", "${self.peer}", 1)
	failing := strings.Replace(text, "'echo x", "'exit 3; echo x", 1)
	with := func(text string) string {
		return notCritical(s.config([]string{"a"}, []string{"t1"}, catalogs(text)+instance("t1", "tunnel", `{ peer = "x" }`), ""))
	}
	run(t, []resource.TestStep{
		{Config: with(failing), ConfigStateChecks: []statecheck.StateCheck{status("degraded")}, ExpectNonEmptyPlan: true},
		{Config: with(failing), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), ExpectNonEmptyPlan: true},
		{Config: with(text), Check: r.called(1)},
		{Config: with(text), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"))
}

// Two services are rolled back in one run, with their selectors.
func TestServicesAreRolledBackTogether(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.mkdir("a", "opt") // b has none
	with := func(attributes, nodes string) string {
		services := map[string]string{}
		for _, name := range []string{"web", "api"} {
			services[name] = fmt.Sprintf("{ name = %q%s }", name, attributes)
		}
		return strings.ReplaceAll(webSite(s, []string{"a", "b"}, services, "rollback_on_failure = true"), "selectors = []", "selectors = [{ node_names = "+nodes+" }]")
	}
	before := func() error {
		for file, want := range map[string]string{"a/etc/web": "1 8001\n", "a/etc/web.conf": "web 1\n", "a/etc/api.conf": "api 1\n", "a/opt/web.conf": "-", "b/etc/web": "-", "b/etc/api": "-", "b/opt/api.conf": "-"} {
			if got := s.content("", file); got != want {
				return fmt.Errorf("%s is %q, want %q", file, got, want)
			}
		}
		return nil
	}
	moved := with(`, size = 2, dir = "opt"`, `["a", "b"]`)
	run(t, []resource.TestStep{
		{Config: with("", `["a"]`), Check: func(*terraform.State) error { return before() }},
		{Config: moved, ExpectError: wrapped(`The update of the service "api" was rolled back(?s:.*)The update of the service "web" was rolled back`)},
		{PreConfig: func() { s.must(before()) }, Config: moved, PlanOnly: true, ExpectNonEmptyPlan: true},
		{Config: with("", `["a"]`), Check: func(*terraform.State) error { return before() }},
		{Config: with("", `["a"]`), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b"))
}
