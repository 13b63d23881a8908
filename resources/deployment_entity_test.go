package resources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

const chrony = "etc/chrony.conf"

func TestDeploymentOfAnEntity(t *testing.T) {
	s := newSandbox(t, "a", "b")
	nodes := []string{"a", "b"}
	with := func(attributes string) string {
		return s.config(nodes, []string{"time"}, catalogs(ntpCatalog)+instance("time", "ntp", attributes), "")
	}
	first := with(`{ pool = "one", servers = [{ address = "10.0.0.1" }, { address = "10.0.0.2", stratum = 1 }] }`)
	second := with(`{ pool = "one", servers = [{ address = "10.0.0.3" }] }`)
	run(t, []resource.TestStep{
		{Config: first, ConfigPlanChecks: planned(plancheck.ResourceActionCreate), ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check: s.has("b", chrony, "pool one\nserver 10.0.0.1 3\nserver 10.0.0.2 1\n")},
		{Config: first, ConfigPlanChecks: nothingPlanned()},
		{Config: second, ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: s.has("a", chrony, "pool one\nserver 10.0.0.3 3\n")},
		{PreConfig: func() { s.write("a", chrony, "drifted") }, Config: second, ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check: s.has("a", chrony, "pool one\nserver 10.0.0.3 3\n")},
		{Config: s.config(nodes, nil, "", ""), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check: resource.ComposeTestCheckFunc(s.has("a", chrony, "-"), s.has("b", chrony, "-"))},
		{Config: first, Check: s.has("a", chrony, "pool one\nserver 10.0.0.1 3\nserver 10.0.0.2 1\n")},
	}, s.gone(nodes...), s.has("a", chrony, "-"))
}

// An entity of the data source goes into a service that is written by hand, too.
func TestDeploymentOfAnEntityByHand(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, nil, catalogs(ntpCatalog), "")
	config = strings.Replace(config, "services = []", `services = [{
    name       = "time"
    selectors  = []
    entity     = data.slipway_catalog.site.entities.ntp
    attributes = { pool = "one", servers = [{ address = "10.0.0.1" }] }
  }]`, 1)
	run(t, []resource.TestStep{
		{Config: config, Check: s.has("a", chrony, "pool one\nserver 10.0.0.1 3\n")},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
		{Config: strings.Replace(config, `pool = "one"`, `pools = "one", address = "x"`, 1), PlanOnly: true, ExpectError: wrapped(`service "time", attributes\.pool: is required; is "pools" meant to be it\?`)},
		{Config: strings.Replace(config, `pool = "one"`, `pool = "one", address = "x"`, 1), PlanOnly: true, ExpectError: wrapped(`service "time", attributes\.address: is set by slipway`)},
		{Config: strings.Replace(config, "entities.ntp", "entities.timed", 1), PlanOnly: true, ExpectError: wrapped(`service "time", entity: "timed" is abstract`)},
		{Config: strings.Replace(config, "    entity ", "    configuration = {}\n    entity ", 1), PlanOnly: true, ExpectError: wrapped(`service "time", configuration: stands beside entity`)},
	}, s.gone("a"))
}

func TestDeploymentOfAnEntityWithUnknownAttributes(t *testing.T) {
	s := newSandbox(t, "a")
	config := s.config([]string{"a"}, []string{"time"},
		"resource \"terraform_data\" \"x\" { input = \"one\" }\n"+catalogs(ntpCatalog)+instance("time", "ntp", `{ pool = terraform_data.x.output, servers = [{ address = "10.0.0.1" }] }`), "")
	run(t, []resource.TestStep{
		{Config: config, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectUnknownValue(deployment, tfjsonpath.New("steps")), plancheck.ExpectUnknownValue("slipway_service.time", tfjsonpath.New("attributes").AtMapKey("pool")),
		}}, Check: s.has("a", chrony, "pool one\nserver 10.0.0.1 3\n")},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"))
}

// register is a callback that writes down that it was called, and returns a number that grows.
type register struct{ calls string }

func newRegister(t *testing.T) *register {
	t.Helper()
	return &register{filepath.Join(t.TempDir(), "calls")}
}

// catalog is an entity whose files hold what the register returns. more goes into the attribute that the callback sets.
func (r *register) catalog(more string) string {
	return fmt.Sprintf(`
entities:
  tunnel:
    attributes:
      peer: {type: string, modifier: rw+}
      vni: {type: int, modifier: r%s}
    tasks:
    - name: allocate
      callback:
        type: command
        parameters: {argv: [sh, -c, 'echo x >>"$1" && wc -l <"$1"', sh, %s, "${service.name}"]}
        returns: {vni: stdout}
    - name: configuration
      config: {type: file, title: /etc/tunnel, parameters: {content: "${self.peer} ${self.vni}\n"}}
`, more, r.calls)
}

// json makes the register return a number and not its text.
func (r *register) json(catalog string) string {
	return strings.NewReplacer(`wc -l <"$1"`, `printf "{\"n\": %d}" $(wc -l <"$1")`, `"${service.name}"]`, `"${service.name}"], output: json`, "vni: stdout", "vni: n").Replace(catalog)
}

// called checks how often the register was called.
func (r *register) called(want int) resource.TestCheckFunc {
	return func(*terraform.State) error {
		raw, err := os.ReadFile(r.calls)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if got := strings.Count(string(raw), "\n"); got != want {
			return fmt.Errorf("the callback was called %d times, want %d", got, want)
		}
		return nil
	}
}

func TestDeploymentCallbackReturnsAValue(t *testing.T) {
	s, r := newSandbox(t, "a", "b"), newRegister(t)
	with := func(nodes []string, peer string) string {
		return s.config(nodes, []string{"t1"}, catalogs(r.json(r.catalog("")))+instance("t1", "tunnel", fmt.Sprintf("{ peer = %q }", peer)), "")
	}
	one, both := []string{"a"}, []string{"a", "b"}
	run(t, []resource.TestStep{
		{Config: with(one, "x"), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/tunnel", "x 1\n"), r.called(1)), ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue(deployment, tfjsonpath.New("steps").AtSliceIndex(1), knownvalue.StringRegexp(wrapped("management: (.*)command"))),
		}},
		{Config: with(one, "x"), ConfigPlanChecks: nothingPlanned(), Check: r.called(1)},
		{PreConfig: func() { s.write("a", "etc/tunnel", "drifted") }, Config: with(one, "x"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: func(*terraform.State) error {
			if got := s.content("a", "etc/tunnel"); !strings.HasPrefix(got, "x ") {
				return fmt.Errorf("not repaired: %q", got)
			}
			return nil
		}},
		{Config: with(both, "y"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: func(*terraform.State) error {
			if a, b := s.content("a", "etc/tunnel"), s.content("b", "etc/tunnel"); a != b || !strings.HasPrefix(a, "y ") {
				return fmt.Errorf("%q and %q", a, b)
			}
			return nil
		}},
		{Config: with(both, "y"), ConfigPlanChecks: nothingPlanned()},
		{Config: s.config(both, nil, "", ""), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: s.has("a", "etc/tunnel", "-")},
		{Config: s.config(both, nil, "", ""), ConfigPlanChecks: nothingPlanned()},
	}, s.gone(both...))
}

// What a callback returns must be what the attribute can take.
func TestDeploymentCallbackReturnsAMisfit(t *testing.T) {
	s, r := newSandbox(t, "a"), newRegister(t)
	with := func(catalog string) string {
		return s.config([]string{"a"}, []string{"t1"}, catalogs(catalog)+instance("t1", "tunnel", `{ peer = "x" }`), "")
	}
	run(t, []resource.TestStep{
		{Config: with(r.catalog("")), ExpectError: wrapped(`vni`), Check: s.has("a", "etc/tunnel", "-")},
		{Config: with(r.json(r.catalog(""))), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/tunnel", "x 2\n"), r.called(2))},
		{Config: with(r.json(r.catalog(""))), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"))
}

// A callback that failed runs again, one that ran does not, also where the deployment was left tainted.
func TestDeploymentCallbackFails(t *testing.T) {
	s, r := newSandbox(t, "a"), newRegister(t)
	catalog := r.json(r.catalog(""))
	failing := strings.Replace(catalog, "'echo x", "'exit 3; echo x", 1)
	with := func(catalog string) string {
		return s.config([]string{"a"}, []string{"t1"}, catalogs(catalog)+instance("t1", "tunnel", `{ peer = "x" }`), "")
	}
	run(t, []resource.TestStep{
		{Config: with(failing), ExpectError: wrapped(`allocate(?s:.*)status 3`), Check: s.has("a", "etc/tunnel", "-")},
		{Config: with(catalog), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/tunnel", "x 1\n"), r.called(1))},
		{Config: with(catalog), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"))
}

// A changed type of an attribute makes what a callback returned worthless: it runs again.
func TestDeploymentValueOfAnAttributeThatChanged(t *testing.T) {
	s, r := newSandbox(t, "a"), newRegister(t)
	text := strings.Replace(r.catalog(""), "vni: {type: int", "vni: {type: string", 1)
	with := func(catalog string) string {
		return s.config([]string{"a"}, []string{"t1"}, catalogs(catalog)+instance("t1", "tunnel", `{ peer = "x" }`), "")
	}
	run(t, []resource.TestStep{
		{Config: with(text), Check: s.has("a", "etc/tunnel", "x 1\n")},
		{Config: with(text), ConfigPlanChecks: nothingPlanned()},
		{Config: with(r.json(r.catalog(""))), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: s.has("a", "etc/tunnel", "x 2\n")},
		{Config: with(r.json(r.catalog(""))), ConfigPlanChecks: nothingPlanned(), Check: r.called(2)},
	}, s.gone("a"))
}

// A returned value that is sensitive is in no state. What is made of it does not look changed for that.
func TestDeploymentCallbackReturnsASecret(t *testing.T) {
	s, r := newSandbox(t, "a", "b"), newRegister(t)
	with := func(peer string, nodes ...string) string {
		return s.config(nodes, []string{"t1"}, catalogs(r.json(r.catalog(", sensitive: true")))+instance("t1", "tunnel", fmt.Sprintf("{ peer = %q }", peer)), "")
	}
	run(t, []resource.TestStep{
		{Config: with("x", "a"), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/tunnel", "x 1\n"), r.called(1))},
		{Config: with("x", "a"), ConfigPlanChecks: nothingPlanned(), Check: r.called(1)},
		{Config: with("y", "a"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/tunnel", "y 2\n"), r.called(2))},
		{Config: with("y", "a", "b"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate), Check: s.has("b", "etc/tunnel", "y 3\n")},
		{Config: with("y", "a", "b"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b"))
}

// A callback may use what another one returned. Neither runs again without need.
func TestDeploymentCallbacksInARow(t *testing.T) {
	s, r := newSandbox(t, "a"), newRegister(t)
	second := `
    - name: announce
      requires: [{task: allocate}]
      callback: {type: command, parameters: {argv: [sh, -c, 'echo "$1" >"$2"', sh, "vni ${self.vni}", ` + filepath.Join(s.dir, "announced") + `]}}
`
	config := s.config([]string{"a"}, []string{"t1"}, catalogs(r.json(r.catalog(""))+strings.TrimLeft(second, "\n"))+instance("t1", "tunnel", `{ peer = "x" }`), "")
	run(t, []resource.TestStep{
		{Config: config, Check: resource.ComposeTestCheckFunc(s.has("", "announced", "vni 1\n"), r.called(1))},
		{Config: config, ConfigPlanChecks: nothingPlanned(), Check: r.called(1)},
	}, s.gone("a"))
}
