package resources_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// webCatalog has a service whose second file fails where its directory is missing.
const webCatalog = `
pools:
  ports: {integer: {from: 8000, to: 8001}}
entities:
  web:
    identity: name
    attributes:
      name: string
      size: {type: int, modifier: rw+, default: 1}
      dir: {type: string, modifier: rw+, default: etc}
      token: {type: string, modifier: rw+, default: t0, sensitive: true}
      port: {type: int, modifier: r, allocate: {pool: ports}}
    embedded:
      sites:
        modifier: rw+
        key: [host]
        attributes:
          host: string
          root: string
          index: {type: string, default: index.html, modifier: rw+}
    tasks:
    - name: first
      config: {type: file, title: "/etc/${service.name}", parameters: {content: "${self.size} ${self.port}\n"}}
    - name: second
      requires: [{task: first}]
      config: {type: file, title: "/${self.dir}/${service.name}.conf", parameters: {content: "${self.name} ${self.size}\n"}}
`

// webSite is a site with services of webCatalog, each with its attributes; more is written into each.
func webSite(s *sandbox, nodes []string, services map[string]string, more string) string {
	return webSiteWith(s, nodes, services, more, webCatalog)
}

func webSiteWith(s *sandbox, nodes []string, services map[string]string, more, catalog string) string {
	var b strings.Builder
	b.WriteString(catalogs(catalog))
	var names []string
	for _, name := range []string{"web", "api", "app"} {
		attributes, ok := services[name]
		if !ok {
			continue
		}
		names = append(names, name)
		fmt.Fprintf(&b, "resource \"slipway_service\" %q {\n  name = %q\n  selectors = []\n  entity = data.slipway_catalog.site.entities.web\n  attributes = %s\n  %s\n}\n", name, name, attributes, more)
	}
	return s.config(nodes, names, b.String(), "")
}

// serviceIs checks what the deployment tells of a service.
func serviceIs(name, state string, version int64, port string) []statecheck.StateCheck {
	return []statecheck.StateCheck{
		statecheck.ExpectKnownValue(deployment, tfjsonpath.New("service_status").AtMapKey(name), knownvalue.ObjectExact(map[string]knownvalue.Check{
			"entity": knownvalue.StringExact("web"), "identity": knownvalue.StringExact(name), "state": knownvalue.StringExact(state), "version": knownvalue.Int64Exact(version),
		})),
		statecheck.ExpectKnownValue(deployment, tfjsonpath.New("service_values").AtMapKey(name).AtMapKey("port"), knownvalue.StringExact(port)),
	}
}

func TestServicesLife(t *testing.T) {
	s := newSandbox(t, "a", "b")
	both := []string{"a", "b"}
	with := func(services map[string]string) string { return webSite(s, both, services, "") }
	one := with(map[string]string{"web": `{ name = "web" }`})
	grown := with(map[string]string{"web": `{ name = "web", size = 2 }`, "api": `{ name = "api" }`})
	run(t, []resource.TestStep{
		{Config: one, Check: s.has("b", "etc/web", "1 8000\n"), ConfigStateChecks: serviceIs("web", "up", 3, "8000")},
		{Config: one, ConfigPlanChecks: nothingPlanned()},
		{Config: grown, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectResourceAction("slipway_service.web", plancheck.ResourceActionUpdate),
			plancheck.ExpectKnownValue(deployment, tfjsonpath.New("steps").AtSliceIndex(0), knownvalue.StringExact("2.1 service api: create (version 2, creating)")),
			plancheck.ExpectKnownValue(deployment, tfjsonpath.New("steps").AtSliceIndex(1), knownvalue.StringExact("2.2 service web: update size (version 5, up to update_inprogress)")),
			plancheck.ExpectKnownValue(deployment, tfjsonpath.New("service_values").AtMapKey("api").AtMapKey("port"), knownvalue.StringExact("8001")),
			plancheck.ExpectKnownValue(deployment, tfjsonpath.New("service_values").AtMapKey("web").AtMapKey("port"), knownvalue.StringExact("8000")),
		}}, Check: s.has("a", "etc/web", "2 8000\n"), ConfigStateChecks: append(serviceIs("web", "up", 6, "8000"), serviceIs("api", "up", 3, "8001")...)},
		{Config: grown, ConfigPlanChecks: nothingPlanned()},
		{Config: with(map[string]string{"api": `{ name = "api" }`}), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/web", "-"), s.has("b", "etc/web.conf", "-"), s.has("b", "etc/api", "1 8001\n")),
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(deployment, tfjsonpath.New("service_status"), knownvalue.MapSizeExact(1))}},
		{Config: with(map[string]string{"api": `{ name = "api" }`, "web": `{ name = "web" }`}), Check: s.has("a", "etc/web", "1 8000\n"), ConfigStateChecks: serviceIs("web", "up", 3, "8000")},
	}, s.gone(both...))
}

// A change of what is fixed makes a new service, and Terraform shows it; so does one in an embedded entity.
func TestServiceReplacement(t *testing.T) {
	s := newSandbox(t, "a")
	with := func(attributes string) string {
		return webSite(s, []string{"a"}, map[string]string{"web": attributes}, "")
	}
	action := func(a plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("slipway_service.web", a)}}
	}
	run(t, []resource.TestStep{
		{Config: with(`{ name = "web", sites = [{ host = "a", root = "/a" }] }`), Check: s.has("a", "etc/web.conf", "web 1\n")},
		{Config: with(`{ name = "web", sites = [{ host = "b", root = "/b" }, { host = "a", root = "/a", index = "x" }] }`), ConfigPlanChecks: action(plancheck.ResourceActionUpdate)},
		{Config: with(`{ name = "web", sites = [{ host = "b", root = "/c" }] }`), ConfigPlanChecks: action(plancheck.ResourceActionDestroyBeforeCreate), ConfigStateChecks: serviceIs("web", "up", 3, "8000")},
		{Config: with(`{ name = "other", sites = [] }`), ConfigPlanChecks: action(plancheck.ResourceActionDestroyBeforeCreate), Check: s.has("a", "etc/web.conf", "other 1\n")},
		{Config: with(`{ name = "other", sites = [], size = 2, token = "t1" }`), ConfigPlanChecks: action(plancheck.ResourceActionUpdate)},
	}, s.gone("a"))
}

func TestServiceRollback(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.mkdir("a", "opt") // b has none, so that an update to it fails there
	both := []string{"a", "b"}
	with := func(attributes, more string) string {
		return webSite(s, both, map[string]string{"web": attributes}, more)
	}
	const back = "rollback_on_failure = true"
	moved := with(`{ name = "web", size = 2, dir = "opt", token = "hunter2" }`, back)
	restored := func(*terraform.State) error {
		for _, node := range both {
			for file, want := range map[string]string{"etc/web": "1 8000\n", "etc/web.conf": "web 1\n", "opt/web.conf": "-"} {
				if got := s.content(node, file); got != want {
					return fmt.Errorf("%s on %s is %q, want %q", file, node, got, want)
				}
			}
		}
		return nil
	}
	run(t, []resource.TestStep{
		{Config: with(`{ name = "web" }`, back), Check: restored},
		{Config: moved, ExpectError: wrapped(`The update of the service "web" was rolled back(?s:.*)Version 5 failed: file\[/opt/web\.conf\] on b: (?s:.*)What version 2 had is deployed again, as version 8`)},
		{PreConfig: func() { s.must(restored(nil)) }, Config: moved, PlanOnly: true, ExpectNonEmptyPlan: true},
		{Config: with(`{ name = "web" }`, back), Check: restored, ConfigStateChecks: serviceIs("web", "up", 8, "8000")},
		{PreConfig: func() { s.mkdir("b", "opt") }, Config: moved, Check: resource.ComposeTestCheckFunc(s.has("b", "opt/web.conf", "web 2\n"), s.has("b", "etc/web.conf", "-")),
			ConfigStateChecks: serviceIs("web", "up", 11, "8000")},
		{Config: moved, ConfigPlanChecks: nothingPlanned()},
	}, s.gone(both...))
}

// TestServiceWaitsBesideARollback: a service whose tasks wait, because another one failed on the node, is not up when
// that one is rolled back.
func TestServiceWaitsBesideARollback(t *testing.T) {
	s := newSandbox(t, "a", "b")
	checked := strings.ReplaceAll(webCatalog, "    tasks:\n", fmt.Sprintf(`    tasks:
    - name: check
      requires: [{task: first}]
      callback: {type: command, per_node: true, parameters: {argv: [test, "!", -e, "%s/${node.name}/broken-${service.name}-${self.size}"]}}
`, s.dir))
	with := func(size int) string {
		services := map[string]string{"api": fmt.Sprintf(`{ name = "api", size = %d }`, size), "web": fmt.Sprintf(`{ name = "web", size = %d }`, size)}
		return webSiteWith(s, []string{"a", "b"}, services, "rollback_on_failure = true", checked)
	}
	is := func(name, state string) resource.TestCheckFunc {
		return resource.TestCheckResourceAttr(deployment, "service_status."+name+".state", state)
	}
	run(t, []resource.TestStep{
		{Config: with(1)},
		{PreConfig: func() { s.write("b", "broken-api-2", "") }, Config: with(2), ExpectError: wrapped(`The update of the service "api" was rolled back`)},
		{RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.ComposeTestCheckFunc(is("api", "up"), is("web", "update_inprogress"))},
		{PreConfig: func() { s.must(os.Remove(s.path("b", "broken-api-2"))) }, Config: with(2), Check: resource.ComposeTestCheckFunc(is("api", "up"), is("web", "up"))},
		{Config: with(2), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b"))
}

// Without a rollback what was reached stays, and the next apply goes on from there.
func TestServiceFailsAndIsMended(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.mkdir("a", "opt")
	both := []string{"a", "b"}
	with := func(attributes string) string { return webSite(s, both, map[string]string{"web": attributes}, "") }
	moved := with(`{ name = "web", dir = "opt" }`)
	run(t, []resource.TestStep{
		{Config: moved, ExpectError: wrapped(`/opt`)},
		{PreConfig: func() { s.mkdir("b", "opt") }, Config: moved, Check: s.has("b", "opt/web.conf", "web 1\n"), ConfigStateChecks: serviceIs("web", "up", 4, "8000")},
		{Config: with(`{ name = "web", dir = "srv" }`), ExpectError: wrapped(`/srv`)},
		{Config: with(`{ name = "web", dir = "etc" }`), Check: s.has("a", "etc/web.conf", "web 1\n"), ConfigStateChecks: serviceIs("web", "up", 10, "8000")},
	}, s.gone(both...))
}

// TestDeploymentServiceErrors are all reported at plan time, at the attribute.
func TestDeploymentServiceErrors(t *testing.T) {
	s := newSandbox(t, "a")
	for name, tt := range map[string]struct {
		services map[string]string
		more     string
		want     string
	}{
		"identity twice":    {map[string]string{"web": `{ name = "x" }`, "api": `{ name = "x" }`}, "", `service "web", attributes\.name: (?s:.*)api`},
		"exhausted pool":    {map[string]string{"web": `{ name = "web" }`, "api": `{ name = "api" }`, "app": `{ name = "app" }`}, "", `service "web", attributes\.port: (?s:.*)ports`},
		"unknown gate":      {map[string]string{"web": `{ name = "web" }`}, `gates = { auto_rolback = true }`, `gates\["auto_rolback"\]: the lifecycle "slipway_default" has no gate "auto_rolback"; did you mean "auto_rollback"`},
		"unknown state":     {map[string]string{"web": `{ name = "web" }`}, `target_state = "down"`, `target_state: the lifecycle "slipway_default" has no state "down"; its states are`},
		"unknown lifecycle": {map[string]string{"web": `{ name = "web" }`}, `service_lifecycle = "slipway_defaul"`, `service_lifecycle: there is no lifecycle "slipway_defaul"; did you mean "slipway_default"\?`},
		"unsound lifecycle": {map[string]string{"web": `{ name = "web" }`}, `service_lifecycle = "lifecycles: {x: {initial: a, states: {a: {}}, transfers: []}}"`, `service_lifecycle: (?s:.*)deleted`},
	} {
		t.Run(name, func(t *testing.T) {
			resource.UnitTest(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: webSite(s, []string{"a"}, tt.services, tt.more), PlanOnly: true, ExpectError: wrapped(tt.want)}},
			})
		})
	}
}

// TestServiceSecretsStayOut looks for the value of a sensitive attribute that no task uses.
func TestServiceSecretsStayOut(t *testing.T) {
	s := newSandbox(t, "a")
	run(t, []resource.TestStep{
		{Config: webSite(s, []string{"a"}, map[string]string{"web": `{ name = "web", token = "hunter2" }`}, "")},
		{Config: webSite(s, []string{"a"}, map[string]string{"web": `{ name = "web", token = "hunter3" }`}, ""), Check: func(*terraform.State) error {
			for _, file := range []string{"journal/lon1.db", "journal/lon1.db-wal", "a/var/lib/slipway/ledger.json"} {
				if text := s.content(".", file); strings.Contains(text, "hunter") {
					return fmt.Errorf("%s holds the secret", file)
				}
			}
			if text := s.content(".", "journal/lon1.db") + s.content(".", "journal/lon1.db-wal"); !strings.Contains(text, "update_inprogress") {
				return fmt.Errorf("the journal does not tell of the service")
			}
			return nil
		}},
	}, s.gone("a"))
}

// TestServiceLifecycleOfItsOwn drives a service through a lifecycle that a user wrote.
func TestServiceLifecycleOfItsOwn(t *testing.T) {
	s := newSandbox(t, "a")
	const own = `service_lifecycle = <<-EOT
    lifecycles:
      parked:
        initial: start
        states:
          start: {self: candidate}
          parked: {self: candidate}
          creating: {export: true, self: active, others: active}
          up: {export: true, self: active, others: active, label: success}
          out: {self: active, others: active, label: warning}
          deleting: {export: true, self: active, others: active, purge: true}
          gone: {deleted: true}
        transfers:
        - {from: start, to: parked, trigger: auto, validate: true, error: parked}
        - {from: parked, to: creating, trigger: api_set_state, op: promote}
        - {from: parked, to: gone, trigger: on_delete}
        - {from: creating, to: up, trigger: resource_based, error: creating}
        - {from: creating, to: deleting, trigger: on_delete}
        - {from: up, to: up, trigger: resource_based, error: up}
        - {from: up, to: out, trigger: api_set_state}
        - {from: up, to: deleting, trigger: on_delete}
        - {from: out, to: up, trigger: api_set_state}
        - {from: out, to: deleting, trigger: on_delete}
        - {from: deleting, to: gone, trigger: resource_based, error: deleting}
  EOT
`
	with := func(more string) string {
		return webSite(s, []string{"a"}, map[string]string{"web": `{ name = "web" }`}, own+more)
	}
	run(t, []resource.TestStep{
		{Config: with(""), Check: s.has("a", "etc/web", "-"), ConfigStateChecks: serviceIs("web", "parked", 2, "8000")},
		{Config: with(""), ConfigPlanChecks: nothingPlanned()},
		{Config: with(`target_state = "creating"`), Check: s.has("a", "etc/web", "1 8000\n"), ConfigStateChecks: serviceIs("web", "up", 4, "8000")},
		{Config: with(`target_state = "out"`), Check: s.has("a", "etc/web", "-"), ConfigStateChecks: serviceIs("web", "out", 5, "8000")},
		{Config: with(`target_state = "up"`), Check: s.has("a", "etc/web", "1 8000\n"), ConfigStateChecks: serviceIs("web", "up", 6, "8000")},
		{Config: with(`target_state = "parked"`), PlanOnly: true, ExpectError: wrapped(`target_state: the lifecycle "parked" has no way from the state up, in which the service is, to parked on request; what can be asked for there is out`)},
	}, s.gone("a"))
}
