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

// A selector with a typo takes every node out of its group: Terraform shows "0 to destroy", and everything on the nodes would be undone.
func TestSelectorWithTypo(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	nodes := []string{"a=a", "b=b", "c=c"}
	typo := s.selecting("wbe", motd, "", nodes...)
	run(t, []resource.TestStep{
		{Config: s.selecting("web", motd, "", nodes...)},
		{Config: typo, ExpectError: told(`tears down 3 of 3 nodes: a, b, c.*max_torn_down_nodes = 3`)},
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
