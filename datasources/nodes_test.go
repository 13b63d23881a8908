package datasources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

const someNodes = `
locals {
  nodes = {
    z = { name = "web2", tags = ["web"], rack = "r1", zone = "z1", address = "192.0.2.2", connect = { credentials = { private_key = "secret" } } }
    a = { name = "web1", tags = ["web"], rack = "r2", address = "192.0.2.1" }
    b = { name = "db1", labels = { tier = "data" } }
  }
}
`

func nodesConfig(nodes, selectors string) string {
	return someNodes + "data \"slipway_nodes\" \"x\" {\n  nodes = " + nodes + "\n  selectors = " + selectors + "\n}\n"
}

func TestNodes(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_nodes.x"
	web2 := map[string]knownvalue.Check{"name": exact("web2"), "rack": exact("r1"), "zone": exact("z1")}
	for name, tt := range map[string]struct {
		nodes, selectors string
		checks           []statecheck.StateCheck
	}{
		"all, of a map":     {"local.nodes", "[]", []statecheck.StateCheck{is(address, at("names"), list("db1", "web1", "web2")), is(address, at("selected", "web2"), knownvalue.ObjectPartial(web2))}},
		"a tag, of a list":  {"[local.nodes.z, local.nodes.b, local.nodes.a]", `[{ node_tags = ["web"] }]`, []statecheck.StateCheck{is(address, at("names"), list("web1", "web2")), is(address, at("selected", "web2"), knownvalue.ObjectPartial(web2)), is(address, at("selected"), knownvalue.MapSizeExact(2))}},
		"a tag and a rack":  {"local.nodes", `[{ node_tags = ["web"], rack_names = ["r1"] }]`, []statecheck.StateCheck{is(address, at("names"), list("web2"))}},
		"either of two":     {"local.nodes", `[{ rack_names = ["r1"] }, { node_labels = ["tier : data"] }]`, []statecheck.StateCheck{is(address, at("names"), list("db1", "web2"))}},
		"nothing":           {"local.nodes", `[{ node_names = ["web3"] }]`, []statecheck.StateCheck{is(address, at("names"), list()), is(address, at("selected"), knownvalue.MapSizeExact(0))}},
		"what is sensitive": {"local.nodes", "[]", []statecheck.StateCheck{statecheck.ExpectSensitiveValue(address, at("selected"))}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, resource.TestStep{Config: nodesConfig(tt.nodes, tt.selectors), ConfigStateChecks: tt.checks})
		})
	}
	refused(t, nodesConfig("local.nodes", `[{ node_labels = ["tier"] }]`), `selectors\[0\]\.node_labels\[0\]`)
	refused(t, nodesConfig("local.nodes", `[{ node_names = ["a", null] }]`), `An element is null; leave it out instead`)
	refused(t, nodesConfig("local.nodes", `[null]`), `An element is null; leave it out instead`)
	refused(t, nodesConfig(`[{ name = "a", rack = "r1" }, { name = "a", rack = "r2" }]`, "[]"), `node "a", name: there is more than one node of this name`)
	refused(t, nodesConfig(`[{ name = "a b" }]`, "[]"), `"a b" is not a usable name`)
	refused(t, nodesConfig(`[{ name = "a", adress = "x" }]`, "[]"), `there is no such attribute; did you mean "address"\?`)
}

// What is selected is what a deployment takes.
func TestDeploymentTakesSelectedNodes(t *testing.T) {
	t.Parallel()
	run(t, resource.TestStep{PlanOnly: true, ExpectNonEmptyPlan: true, Config: nodesConfig("local.nodes", `[{ node_tags = ["web"] }]`) + `
resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = data.slipway_nodes.x.selected
  services = [{ name = "motd", selectors = [], configuration = { file = { "/etc/motd" = { content = "x" } } } }]
}`, ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
		plancheck.ExpectKnownValue("slipway_deployment.lon1", at("changed_nodes"), knownvalue.MapExact(map[string]knownvalue.Check{"web1": knownvalue.Int64Exact(1), "web2": knownvalue.Int64Exact(1)}))}}})
}

// Facts are what the selected nodes say of themselves now, without anything being left there; those of a node that does
// not answer are null.
func TestFactsOfNodes(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_nodes.x"
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/os-release"), []byte("ID=alpine\nVERSION_ID=3.20.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := func(gather string) string {
		return fmt.Sprintf(`
data "slipway_nodes" "x" {
  nodes = {
    a = { name = "a", tags = ["web"], connect = { transport = "local", root = %q } }
    b = { name = "b", tags = ["web"], address = "127.0.0.1", connect = { port = 1, private_key = "no key", host_key_policy = "accept-new" } }
    c = { name = "c", tags = ["db"], address = "127.0.0.1", connect = { port = 1 } }
  }
  selectors = [{ node_tags = ["web"] }]
  %s
}`, root, gather)
	}
	system := knownvalue.ObjectPartial(map[string]knownvalue.Check{"family": exact("Alpine"), "release": exact("3.20.1"), "codename": knownvalue.Null()})
	run(t,
		resource.TestStep{Config: config(""), ConfigStateChecks: []statecheck.StateCheck{is(address, at("facts"), knownvalue.Null())}},
		resource.TestStep{Config: config("gather_facts = true"), ConfigStateChecks: []statecheck.StateCheck{
			is(address, at("facts", "a", "os"), system), is(address, at("facts", "a", "cpus"), knownvalue.NotNull()),
			is(address, at("facts", "b"), knownvalue.Null()), is(address, at("facts"), knownvalue.MapSizeExact(2)),
		}})
	left, err := filepath.Glob(filepath.Join(root, "var", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("on the node there is %q, %v", left, err)
	}
}
