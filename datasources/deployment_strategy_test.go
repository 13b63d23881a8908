package datasources_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

// airship is an Airship document (seed 001).
const airship = `
locals {
  airship = <<-EOT
    schema: shipyard/DeploymentStrategy/v1
    metadata: {schema: metadata/Document/v1, name: deployment-strategy, layeringDefinition: {abstract: false, layer: global}, storagePolicy: cleartext}
    data:
      groups:
        - name: control-nodes
          critical: true
          depends_on: [ntp-node]
          selectors: [{node_names: [], node_labels: [], node_tags: [control], rack_names: [rack03]}]
          success_criteria: {percent_successful_nodes: 90, minimum_successful_nodes: 1, maximum_failed_nodes: 1}
        - name: compute-nodes
          critical: false
          depends_on: [control-nodes]
          selectors: [{node_names: [], node_labels: [], node_tags: [compute], rack_names: []}]
        - name: ntp-node
          critical: true
          depends_on: []
          selectors: [{node_names: [ntp01], node_labels: [], node_tags: [], rack_names: []}]
  EOT
}
`

func TestDeploymentStrategy(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_deployment_strategy.x"
	groups := `[{ name = "b", critical = true, selectors = [], depends_on_groups = ["a"] }, { name = "a", critical = false, selectors = [], rolling = { lock = "l", unlock = "u", lock_new_nodes = false, node_order = ["*"], batches = ["1", "50%"], approve = ["1"], health_check = { command = "true", timeout = "5s" }, soak = "1m", on_failure = "rollback" }, maintenance = { start = "22:00", end = "04:00", timezone = "UTC" } }]`
	run(t, resource.TestStep{
		Config: airship + "data \"slipway_deployment_strategy\" \"x\" { documents = [local.airship] }",
		ConfigStateChecks: []statecheck.StateCheck{
			is(address, at("order"), list("ntp-node", "control-nodes", "compute-nodes")),
			is(address, at("levels"), knownvalue.ListExact([]knownvalue.Check{list("ntp-node"), list("control-nodes"), list("compute-nodes")})),
			is(address, at("groups"), knownvalue.ListSizeExact(3)),
			is(address, at("groups", 0, "depends_on_groups"), list("ntp-node")),
			is(address, at("groups", 0, "success_criteria", "percent_successful_nodes"), knownvalue.Int64Exact(90)),
			is(address, at("groups", 1, "success_criteria"), knownvalue.Null()),
			is(address, at("groups", 1, "critical"), knownvalue.Bool(false)),
		},
	})
	run(t, resource.TestStep{
		Config: "data \"slipway_deployment_strategy\" \"x\" { groups = " + groups + " }",
		ConfigStateChecks: []statecheck.StateCheck{
			is(address, at("order"), list("a", "b")), is(address, at("groups", 0, "name"), exact("b")), is(address, at("groups", 1, "rolling", "lock_new_nodes"), knownvalue.Bool(false)),
			is(address, at("groups", 1, "rolling", "node_order"), list("*")),
			is(address, at("groups", 1, "rolling", "batches"), list("1", "50%")), is(address, at("groups", 1, "rolling", "approve"), list("1")),
			is(address, at("groups", 1, "rolling", "soak"), exact("1m")), is(address, at("groups", 1, "rolling", "on_failure"), exact("rollback")),
			is(address, at("groups", 1, "rolling", "health_check", "timeout"), exact("5s")),
			is(address, at("groups", 1, "maintenance", "end"), exact("04:00")),
		},
	})
	for config, want := range map[string]string{
		"":                                  `\[documents,groups\]`,
		`documents = ["groups: {}"]`:        `documents\[0\]:1:9: groups: is a mapping, not a list`,
		`documents = ["groups: []\n---\n"]`: "",
		`groups = [{ name = "a", critical = true, selectors = [], depends_on_groups = ["b"] }]`:                                                                             `group "a": depends_on_groups\[0\]: there is no group "b"`,
		`groups = [{ name = "a", critical = true, selectors = [], depends_on_groups = ["b"] }, { name = "b", critical = true, selectors = [], depends_on_groups = ["a"] }]`: "circle|each other|cycle",
	} {
		if want == "" {
			run(t, resource.TestStep{Config: "data \"slipway_deployment_strategy\" \"x\" { " + config + " }", ConfigStateChecks: []statecheck.StateCheck{is(address, at("order"), list())}})
			continue
		}
		refused(t, "data \"slipway_deployment_strategy\" \"x\" { "+config+" }", want)
	}
}

// The groups of an Airship document feed a deployment as they are.
func TestDeploymentTakesAStrategy(t *testing.T) {
	t.Parallel()
	run(t, resource.TestStep{PlanOnly: true, ExpectNonEmptyPlan: true, Config: airship + `
data "slipway_deployment_strategy" "x" { documents = [local.airship] }
resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = [{ name = "ctl1", tags = ["control"], rack = "rack03", address = "192.0.2.1" }, { name = "ntp01", address = "192.0.2.2" }, { name = "cmp1", tags = ["compute"], address = "192.0.2.3" }]
  groups   = data.slipway_deployment_strategy.x.groups
  services = [{ name = "motd", selectors = [], configuration = { file = { "/etc/motd" = { content = "x" } } } }]
}`, ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
		plancheck.ExpectKnownValue("slipway_deployment.lon1", at("steps", 0), exact("1.1 ntp-node (critical): prepare 1 node (ntp01)")),
		plancheck.ExpectKnownValue("slipway_deployment.lon1", at("steps", 4), exact("1.5 compute-nodes: prepare 1 node (cmp1)")),
	}}})
}
