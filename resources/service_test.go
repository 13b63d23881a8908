package resources_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

func TestServiceLife(t *testing.T) {
	const address = "slipway_service.test"
	heldLife(t, address,
		`resource "slipway_service" "test" {
  name          = "motd"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = "welcome\n", mode = "0644" } } }
}`,
		`resource "slipway_service" "test" {
  name          = "motd"
  selectors     = [{ node_tags = ["a"] }]
  configuration = { file = { "/etc/motd" = { content = "bye\n", mode = null } }, package = { mc = {} } }
}`,
		`resource "slipway_service" "test" {
  name          = "renamed"
  selectors     = []
  configuration = tomap({ file = { "/etc/motd" = { content = "x" }, "/etc/issue" = { content = "y" } } })
}`,
		[]statecheck.StateCheck{statecheck.ExpectKnownValue(address, tfjsonpath.New("configuration").AtMapKey("file").AtMapKey("/etc/motd").AtMapKey("mode"), knownvalue.StringExact("0644"))},
		[]statecheck.StateCheck{statecheck.ExpectKnownValue(address, tfjsonpath.New("configuration").AtMapKey("package").AtMapKey("mc"), knownvalue.ObjectExact(nil))})
}

func TestServiceUnknownsPass(t *testing.T) {
	t.Parallel()
	const unknown = "resource \"terraform_data\" \"x\" { input = \"x\" }\n"
	for name, configuration := range map[string]string{
		"parameter":  `{ file = { "/etc/motd" = { content = terraform_data.x.output } } }`,
		"title":      `{ file = { "/etc/motd" = terraform_data.x.output == "x" ? { content = "x" } : { content = "y" } } }`,
		"everything": `{ for k in [terraform_data.x.output] : "file" => { "/etc/motd" = { content = k } } }`,
	} {
		t.Run(name, func(t *testing.T) {
			resource.UnitTest(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{{
					Config: unknown + "resource \"slipway_service\" \"test\" {\n  name = \"s\"\n  selectors = []\n  configuration = " + configuration + "\n}",
					ConfigStateChecks: []statecheck.StateCheck{
						statecheck.ExpectKnownValue("slipway_service.test", tfjsonpath.New("configuration").AtMapKey("file").AtMapKey("/etc/motd").AtMapKey("content"), knownvalue.StringExact("x")),
					},
				}},
			})
		})
	}
}

func TestServiceErrors(t *testing.T) {
	service := func(configuration string) string {
		return "name = \"s\"\nselectors = []\nconfiguration = " + configuration
	}
	errs(t, "slipway_service", `resource "terraform_data" "x" { input = "x" }`, map[string]wrong{
		"type":                 {service(`{ flie = { "/x" = {} } }`), `there is no configuration resource type "flie"; did you mean "file"`},
		"type_without_titles":  {service(`{ flie = {} }`), `configuration\.flie: there is no configuration resource type "flie"; did you mean "file"`},
		"parameter":            {service(`{ file = { "/x" = { contents = "x" } } }`), `configuration\.file\["/x"\]\.contents: the type file has no such parameter; did you mean "content"`},
		"parameter_of_unknown": {service(`{ file = { "/x" = { contents = terraform_data.x.output } } }`), `did you mean "content"`},
		"kind":                 {service(`{ exec = { "x" = { command = "/bin/true", timeout = "soon" } } }`), `must be a whole number`},
		"value":                {service(`{ file = { "/x" = { ensure = "gone" } } }`), `"gone" is not allowed`},
		"no_object":            {service(`{ file = { "/x" = "content" } }`), `write an object of parameters`},
		"no_types":             {service(`"file"`), `write an object of types`},
		"null":                 {service(`null`), `(?i)configuration`},
		"empty_title":          {service(`{ file = { "" = {} } }`), `a title is empty`},
		"beside_an_unknown":    {service(`{ file = { "/x" = { content = terraform_data.x.output, ensure = "gone" } } }`), `"gone" is not allowed`},
	})
}
