package resources_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

func TestOverrideLife(t *testing.T) {
	const address = "slipway_override.test"
	heldLife(t, address,
		`resource "slipway_override" "test" {
  name          = "tuning"
  configuration = { package = { mc = { ensure = "absent" } } }
}`,
		`resource "slipway_override" "test" {
  name          = "tuning"
  roles         = ["compute", "/ctl.*/"]
  merge         = "title"
  configuration = { package = { mc = { ensure = "absent" } } }
  options = {
    create                  = false
    types_filter            = []
    titles_filter           = ["mc"]
    types_create_exception  = ["file"]
    titles_create_exception = []
    defaults                = { package = { ensure = "present" } }
  }
}`,
		`resource "slipway_override" "test" {
  name          = "renamed"
  groups        = ["control"]
  configuration = {}
}`,
		[]statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("merge"), knownvalue.StringExact("parameter")),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("options"), knownvalue.Null()),
		},
		[]statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("merge"), knownvalue.StringExact("title")),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("options").AtMapKey("defaults").AtMapKey("package").AtMapKey("ensure"), knownvalue.StringExact("present")),
		})
}

func TestOverrideUnknownsPass(t *testing.T) {
	t.Parallel()
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: `
resource "terraform_data" "x" { input = { text = "absent", list = ["a"] } }
resource "slipway_override" "test" {
  name          = "o"
  nodes         = terraform_data.x.output.list
  configuration = { package = { mc = { ensure = terraform_data.x.output.text } } }
  options       = { defaults = { package = { ensure = terraform_data.x.output.text } } }
}`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("slipway_override.test", tfjsonpath.New("configuration").AtMapKey("package").AtMapKey("mc").AtMapKey("ensure"), knownvalue.StringExact("absent")),
			},
		}},
	})
}

func TestOverrideErrors(t *testing.T) {
	override := func(attributes string) string { return "name = \"o\"\n" + attributes }
	none := "configuration = {}\n  "
	errs(t, "slipway_override", "", map[string]wrong{
		"two_scopes":         {override(none + `groups = ["a"]` + "\n  " + `nodes = ["b"]`), `cannot be specified when`},
		"empty_scope":        {override(none + `groups = []`), `at least 1`},
		"role_pattern":       {override(none + `roles = ["/(/"]`), `is not a regular expression`},
		"merge":              {override(none + `merge = "deep"`), `"parameter" "title"`},
		"no_configuration":   {override(""), `The argument "configuration" is required`},
		"null_parameter":     {override(`configuration = { package = { mc = { ensure = null } } }`), `an override cannot take anything away`},
		"type":               {override(`configuration = { packge = { mc = {} } }`), `did you mean "package"`},
		"parameter":          {override(`configuration = { file = { "/x" = { contents = "" } } }`), `did you mean "content"`},
		"default_type":       {override(none + `options = { defaults = { packge = { ensure = "present" } } }`), `options\.defaults\.packge`},
		"default_name":       {override(none + `options = { defaults = { file = { contents = "x" } } }`), `options\.defaults\.file\.contents`},
		"default_form":       {override(none + `options = { defaults = { file = "x" } }`), `write an object of parameters`},
		"null_among_filters": {override(none + `options = { types_filter = [null] }`), `(?i)null`},
	})
}

// The plan that takes an override away names it (fuel.md F-10).
func TestOverrideTakenAway(t *testing.T) {
	s := newSandbox(t, "a")
	with := func(overrides string) string {
		return s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"})+`
resource "slipway_override" "loud" {
  name          = "loud"
  configuration = { file = { "/etc/motd" = { content = "loud" } } }
}
`, "overrides = ["+overrides+"]")
	}
	says := func(text string) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{planContains(text)}}
	}
	run(t, []resource.TestStep{
		{Config: with("slipway_override.loud"), ConfigPlanChecks: says("create file[/etc/motd] (by override loud)"), Check: s.has("a", "etc/motd", "loud")},
		{Config: with(""), ConfigPlanChecks: says("update file[/etc/motd] (no longer by override loud)"), Check: s.has("a", "etc/motd", "one")},
		{Config: with(""), ConfigPlanChecks: nothingPlanned()},
	})
}
