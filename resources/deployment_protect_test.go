package resources_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// selecting is a site whose only group selects nodes by tag.
func (s *sandbox) selecting(tag, files, more string, nodes ...string) string {
	group := fmt.Sprintf("groups = [{ name = \"web\", critical = true, selectors = [{ node_tags = [%q] }] }]\n", tag)
	config := s.on(files, group+more, nodes...)
	return strings.ReplaceAll(config, "connect = {", `tags = ["web"], connect = {`)
}

// A selector with a typo takes every node out of its group: Terraform shows "0 to destroy", and everything on the nodes
// would be undone.
func TestSelectorWithTypo(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	nodes := []string{"a=a", "b=b", "c=c"}
	typo := s.selecting("wbe", motd, "", nodes...)
	run(t, []resource.TestStep{
		{Config: s.selecting("web", motd, "", nodes...)},
		{Config: typo, ExpectError: told(`(?s)tears down 3 of 3 nodes: a, b, c.*max_torn_down_nodes = 3`)},
		{Config: s.selecting("web", motd, "", nodes...), Check: s.has("a", "etc/motd", "one"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b", "c"))
}

// What a plan takes away is counted in a warning, with the nodes and what is undone on each.
func TestRemovalsStandOut(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	two := files("motd", map[string]string{"/etc/motd": "one", "/etc/issue": "two"})
	one := files("motd", map[string]string{"/etc/motd": "one"})
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: s.on(two, "", "a=a", "b=b", "c=c"), Check: w.lack("tears down|removes")},
		{
			Config: s.on(one, "", "a=a", "b=b"),
			Check: w.say(`(?s)tears down 1 node: c; removes 2 resources on 2 nodes.*` +
				`a: removes 1 resource: file\[/etc/issue\].*b: removes 1 resource: file\[/etc/issue\].*c: undoes 2 resources: file\[/etc/issue\], file\[/etc/motd\]`),
		},
		{
			Config: s.on(one, "", "a=a", "b=b"), Destroy: true,
			Check: w.say(`(?s)undoes 2 resources on 2 nodes.*a: undoes 1 resource: file\[/etc/motd\].*b: undoes 1 resource: file\[/etc/motd\]`),
		},
	}, s.gone("a", "b", "c"))
}

// protect says how much a plan may take away; a limit that is not reached lets it pass.
func TestProtect(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	two := files("motd", map[string]string{"/etc/motd": "one", "/etc/issue": "two"})
	one := files("motd", map[string]string{"/etc/motd": "one"})
	limits := func(of string) string { return "protect = { " + of + " }\n" }
	run(t, []resource.TestStep{
		{Config: s.on(two, limits(`max_torn_down_nodes = "many"`), "a=a"), PlanOnly: true, ExpectError: told(`must be a number of nodes, such as 1`)},
		{Config: s.on(two, limits(`max_torn_down_nodes = "110%"`), "a=a"), PlanOnly: true, ExpectError: told(`must be a number of nodes, such as 1`)},
		{Config: s.on(two, limits(`max_removed_resources = -1`), "a=a"), PlanOnly: true, ExpectError: told(`must be at least 0`)},
		{Config: s.on(two, limits(`max_torn_down_nodes = 0`), "a=a", "b=b", "c=c")},
		{Config: s.on(two, limits(`max_torn_down_nodes = 0`), "a=a", "b=b"), ExpectError: told(`(?s)tears down 1 of 3 nodes: c.*max_torn_down_nodes is 0`)},
		{Config: s.on(two, limits(`max_torn_down_nodes = "33%"`), "a=a", "b=b"), ExpectError: told(`(?s)tears down 1 of 3 nodes: c.*max_torn_down_nodes is 33%`)},
		{Config: s.on(one, limits(`max_removed_resources = 2`), "a=a", "b=b", "c=c"), ExpectError: told(`(?s)removes 3 resources on 3 nodes: file\[/etc/issue\].*max_removed_resources is 2`)},
		{Config: s.on(two, limits(`max_removed_resources = 2`), "a=a", "b=b", "c=c"), Check: s.has("c", "etc/issue", "two")}, // nothing of it was touched
		{Config: s.on(one, limits(`max_removed_resources = 3`), "a=a", "b=b", "c=c"), Check: s.has("c", "etc/issue", "-")},
		{Config: s.on(one, limits(`max_torn_down_nodes = "67%"`), "a=a"), Check: s.has("c", "etc/motd", "-")},
	}, s.gone("a", "b", "c"))
}

// protect.destroy in the state refuses to destroy the deployment, and to replace it, until it is taken back.
func TestProtectedFromDestroy(t *testing.T) {
	s := newSandbox(t, "a")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	config := s.on(motd, "protect = { destroy = true }\n", "a=a")
	kept := resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"))
	refused := told(`(?s)protected from being destroyed.*protect.destroy = false, apply`)
	run(t, []resource.TestStep{
		{Config: config},
		{Config: config, Destroy: true, ExpectError: refused},
		{Config: strings.Replace(config, `site = "lon1"`, `site = "lon2"`, 1), ExpectError: refused},
		{Config: config, Check: kept, ConfigPlanChecks: nothingPlanned()},
		{Config: config, Taint: []string{deployment}, Check: kept}, // touches no node
		{Config: config, Destroy: true, ExpectError: refused},
		{Config: s.on(motd, "protect = { destroy = false }\n", "a=a"), Check: kept},
	}, s.gone("a"))
}
