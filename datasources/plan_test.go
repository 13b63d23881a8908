package datasources_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

const smallSite = `
locals {
  nodes     = [{ name = "b", roles = ["web"], address = "192.0.2.2" }, { name = "a", address = "192.0.2.1" }]
  services  = [{ name = "motd", selectors = [], configuration = { file = { "/etc/motd" = { content = "x" } } } }]
  overrides = [{ name = "tuning", roles = ["web"], configuration = { file = { "/etc/motd" = { mode = "0600" } } } }]
  plugins   = [{ name = "net", version = "1.0", tasks = [{ role = ["web"], stage = "pre_deployment/4000", type = "shell", parameters = { cmd = "true", timeout = 5 } }] }]
}
`

func TestPlan(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_plan.x"
	run(t, resource.TestStep{
		Config: smallSite + `
data "slipway_plan" "x" {
  site      = "lon1"
  nodes     = local.nodes
  services  = local.services
  overrides = local.overrides
  plugins   = local.plugins
}`,
		ConfigStateChecks: []statecheck.StateCheck{
			is(address, at("steps"), list(
				"1. default (critical): prepare 2 nodes (a, b)",
				"2. default (critical): pre_node: run shell net-1.0/1 on node b",
				"3. default (critical): node phase: 2 changes on 2 nodes: create file[/etc/motd] on a, file[/etc/motd] (by override tuning) on b",
			)),
			is(address, at("digest"), knownvalue.StringRegexp(regexp.MustCompile("^[0-9a-f]{64}$"))),
			is(address, at("changed_nodes"), list("a", "b")),
			is(address, at("order", 0, "owned"), list("a", "b")),
			is(address, at("order", 0, "max_parallel"), knownvalue.Null()),
			is(address, at("phases"), knownvalue.ListSizeExact(3)),
			is(address, at("phases", 1, "task_group"), exact("pre_node")),
			is(address, at("phases", 1, "tasks", 0), knownvalue.ObjectExact(map[string]knownvalue.Check{
				"node": exact("b"), "action": exact("run"), "resource": exact("shell[net-1.0/1]"), "service": knownvalue.Null(), "overrides": list(),
			})),
			is(address, at("phases", 2, "tasks", 1, "overrides"), list("tuning")),
		},
	})
	refused(t, smallSite+`
data "slipway_plan" "x" {
  site     = "lon1"
  nodes    = local.nodes
  services = [{ name = "s", selectors = [], configuration = { fiel = {} } }, { name = "t", selectors = [], configuration = { file = { "/x" = { ensure = "absent", owner = 5, modus = "x" } } } }]
}`, "did you mean")
}

// The data source and a deployment plan the same first run.
func TestPlanIsTheDeploymentsPlan(t *testing.T) {
	t.Parallel()
	run(t, resource.TestStep{PlanOnly: true, ExpectNonEmptyPlan: true, Config: smallSite + `
data "slipway_plan" "x" {
  site     = "lon1"
  nodes    = local.nodes
  services = local.services
  plugins  = local.plugins
}
resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = local.nodes
  services = local.services
  plugins  = local.plugins
}
output "same" { value = data.slipway_plan.x.digest == slipway_deployment.lon1.digest }
`, ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{plancheck.ExpectKnownOutputValue("same", knownvalue.Bool(true))}}})
}

const entitySite = `
data "slipway_catalog" "c" {
  documents = [<<-YAML
    entities:
      web:
        identity: name
        attributes:
          name: string
          port: {type: int, modifier: r, allocate: {integer: {from: 8000, to: 8001}}}
        tasks:
        - {name: file, config: {type: file, title: "/etc/web-$${self.name}", parameters: {content: "$${self.port}\n"}}}
  YAML
  ]
}
locals {
  nodes = [{ name = "a", address = "192.0.2.1" }]
  web   = { selectors = [], entity = data.slipway_catalog.c.entities.web }
}
`

// Services come first, as in a deployment: what they do is told, and they get the values that a deployment gives them.
func TestPlanOfServices(t *testing.T) {
	t.Parallel()
	const services = `[merge(local.web, { name = "one", attributes = { name = "one" }, service_lifecycle = "simple" }),
    merge(local.web, { name = "two", attributes = { name = "two" }, rollback_on_failure = true })]`
	run(t, resource.TestStep{PlanOnly: true, ExpectNonEmptyPlan: true, Config: entitySite + `
data "slipway_plan" "x" {
  site     = "lon1"
  nodes    = local.nodes
  services = ` + services + `
}
resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = local.nodes
  services = ` + services + `
}
output "same" { value = data.slipway_plan.x.digest == slipway_deployment.lon1.digest && [for s in data.slipway_plan.x.steps : replace(s, "/^[0-9]+[.] /", "")] == [for s in slipway_deployment.lon1.steps : replace(s, "/^1[.][0-9]+ /", "")] }
output "first" { value = data.slipway_plan.x.steps[0] }
`, ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
		plancheck.ExpectKnownOutputValue("same", knownvalue.Bool(true)),
		plancheck.ExpectKnownOutputValue("first", knownvalue.StringExact("service one: create (version 3, creating)")),
	}}})
	refused(t, entitySite+`
data "slipway_plan" "x" {
  site     = "lon1"
  nodes    = local.nodes
  services = [for name in ["one", "two", "three"] : merge(local.web, { name = name, attributes = { name = name } })]
}`, "attributes.port")
	refused(t, entitySite+`
data "slipway_plan" "x" {
  site     = "lon1"
  nodes    = local.nodes
  services = [merge(local.web, { name = "one", attributes = { name = "one" }, target_state = "maintenance" })]
}`, "has no state")
}
