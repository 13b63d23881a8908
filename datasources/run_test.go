package datasources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

func TestRun(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_run.x"
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "web1", "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
provider "slipway" { journal_directory = %q }
resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = [{ name = "web1", connect = { transport = "local", root = %q } }]
  services = [{ name = "motd", selectors = [], configuration = { file = { "/etc/motd" = { content = "x" } } } }]
}
`, filepath.Join(dir, "journal"), filepath.Join(dir, "web1"))
	data := func(more string) string {
		return config + "data \"slipway_run\" \"x\" {\n  site = \"lon1\"\n" + more + "\n}\n"
	}
	run(t,
		resource.TestStep{Config: data(""), ConfigStateChecks: []statecheck.StateCheck{ // read before the first run
			is(address, at("id"), knownvalue.Null()), is(address, at("groups"), knownvalue.Null()), is(address, at("steps"), knownvalue.Null()),
		}},
		resource.TestStep{Config: data(""), ConfigStateChecks: []statecheck.StateCheck{
			is(address, at("id"), knownvalue.NotNull()),
			is(address, at("operation"), exact("create")),
			is(address, at("status"), exact("succeeded")),
			is(address, at("started"), knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:]+Z$`))),
			is(address, at("ended"), knownvalue.NotNull()),
			is(address, at("steps"), knownvalue.ListSizeExact(2)),
			is(address, at("groups"), knownvalue.MapExact(map[string]knownvalue.Check{"default": exact("DEPLOYED")})),
			is(address, at("nodes"), knownvalue.MapExact(map[string]knownvalue.Check{"web1": exact("DEPLOYED")})),
		}},
		resource.TestStep{Config: data(`run = "none"`), ExpectError: told(`run "none": no such run`)},
	)
	refused(t, "data \"slipway_run\" \"x\" { site = \"../lon1\" }", "site")
}
