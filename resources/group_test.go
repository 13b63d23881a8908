package resources_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

func TestGroupLife(t *testing.T) {
	const address = "slipway_group.test"
	heldLife(t, address,
		`resource "slipway_group" "test" {
  name      = "control"
  critical  = true
  selectors = []
}`,
		`resource "slipway_group" "test" {
  name              = "control"
  critical          = false
  depends_on_groups = ["ntp", "base"]
  selectors         = [{ node_tags = ["control"], rack_names = ["r3"] }, { node_labels = ["a:b"] }, { node_names = [] }]
  success_criteria  = { percent_successful_nodes = 90, minimum_successful_nodes = 3, maximum_failed_nodes = 1 }
  rolling           = { lock = "/usr/local/sbin/drain", unlock = "/usr/local/sbin/undrain" }
  prepare_timeout   = "10m"
  deploy_timeout    = "1h30m"
}`,
		`resource "slipway_group" "test" {
  name      = "renamed"
  critical  = true
  selectors = []
  rolling   = { max_parallel = 2, unlock = "undrain", lock_new_nodes = false, node_order = ["n2", "*"] }
}`,
		[]statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("selectors"), knownvalue.ListSizeExact(0)),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("rolling"), knownvalue.Null()),
		},
		[]statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("rolling").AtMapKey("max_parallel"), knownvalue.Int64Exact(1)),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("rolling").AtMapKey("lock_new_nodes"), knownvalue.Null()),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("depends_on_groups").AtSliceIndex(0), knownvalue.StringExact("ntp")),
		})
}

func TestGroupUnknownsPass(t *testing.T) {
	t.Parallel()
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: `
resource "terraform_data" "x" { input = { text = "a:b", duration = "10m", list = ["a"], yes = true } }
resource "slipway_group" "test" {
  name              = "g"
  critical          = terraform_data.x.output.yes
  depends_on_groups = terraform_data.x.output.list
  selectors         = [{ node_tags = terraform_data.x.output.list }, { node_labels = [terraform_data.x.output.text] }]
  prepare_timeout   = terraform_data.x.output.duration
}`,
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue("slipway_group.test", tfjsonpath.New("prepare_timeout"), knownvalue.StringExact("10m"))},
		}},
	})
}

func TestGroupErrors(t *testing.T) {
	group := func(attributes string) string { return "name = \"g\"\ncritical = true\n" + attributes }
	all := "selectors = []\n  "
	errs(t, "slipway_group", "", map[string]wrong{
		"critical_left_out":  {"name = \"g\"\nselectors = []", `The argument "critical" is required`},
		"selectors_left_out": {group(""), `The argument "selectors" is required`},
		"empty_selector":     {group(`selectors = [{}]`), `rack_names. Write selectors = \[\] for all nodes`},
		"null_selector":      {group(`selectors = [{ node_tags = ["a"] }, null]`), `An element is null; leave it out instead`},
		"label":              {group(`selectors = [{ node_labels = ["a"] }]`), `has no colon`},
		"label_of_two":       {group(`selectors = [{ node_labels = ["a:b:c"] }]`), `has 2 colons`},
		"percent":            {group(all + `success_criteria = { percent_successful_nodes = 101 }`), `between 0 and 100`},
		"minimum":            {group(all + `success_criteria = { minimum_successful_nodes = -1 }`), `minimum_successful_nodes`},
		"no_criterion":       {group(all + `success_criteria = {}`), `leave success_criteria out`},
		"max_parallel":       {group(all + `rolling = { max_parallel = 0 }`), `max_parallel`},
		"lock_alone":         {group(all + `rolling = { lock = "drain" }`), `"rolling.unlock" must be specified`},
		"node_order_twice":   {group(all + `rolling = { node_order = ["a", "a"] }`), `(?i)duplicate`},
		"time_limit":         {group(all + `deploy_timeout = "1 hour"`), `is not a duration`},
		"dependency_twice":   {group(all + `depends_on_groups = ["a", "a"]`), `(?i)duplicate`},
		"dependency_name":    {group(all + `depends_on_groups = [""]`), `must begin with a letter or digit`},
	})
}
