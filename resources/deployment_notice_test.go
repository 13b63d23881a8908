package resources_test

import (
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// What slipway ignores of a resource is a warning of the apply, once for all nodes.
func TestModeOfALinkIsIgnoredWithAWarning(t *testing.T) {
	s := newSandbox(t, "a", "b", "c", "d", "e", "f", "g")
	nodes := []string{"a", "b", "c", "d", "e", "f", "g"}
	for _, n := range nodes {
		s.mkdir(n, "etc")
		s.must(os.Symlink("x", s.path(n, "etc/l")))
	}
	config := s.config(nodes, []string{"svc"}, `
resource "slipway_service" "svc" {
  name          = "svc"
  selectors     = []
  configuration = { file = { "/etc/l" = { mode = "0600" } } }
}
`, "")
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: config, Check: w.say(`(?s)with remarks.*warnings:
  7 nodes \(a, b, c, d, e and 2 more\): file\[/etc/l\]: /etc/l is a link, and links have no mode of their own; mode is ignored\n`)},
		{Config: config, ConfigPlanChecks: nothingPlanned()},
	}, s.gone(nodes...))
}
