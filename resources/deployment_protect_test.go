package resources_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
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
		{Config: typo, ExpectError: wrapped(`(?s)tears down 3 of 3 nodes: a, b, c.*max_torn_down_nodes = 3`)},
		{Config: s.selecting("web", motd, "", nodes...), Check: s.has("a", "etc/motd", "one"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b", "c"))
}

// Without protect, one node may go, and no more: whichever way they leave.
func TestProtectByDefault(t *testing.T) {
	s := newSandbox(t, "a", "b", "c", "d", "e")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	group := func(name, nodes string) string {
		return fmt.Sprintf("{ name = %q, critical = true, selectors = [{ node_names = [%s] }] }, ", name, nodes)
	}
	first, second := group("one", `"a", "b"`), group("two", `"c", "d", "e", "x", "y"`)
	site := func(groups string, nodes ...string) string { return s.on(motd, "groups = ["+groups+"]\n", nodes...) }
	all := []string{"a=a", "b=b", "c=c", "d=d", "e=e"}
	kept := resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("c", "etc/motd", "one"), s.has("d", "etc/motd", "one"))
	run(t, []resource.TestStep{
		{Config: site(first+second, all...)},
		{Config: site(first + second), ExpectError: wrapped(`(?s)tears down 5 of 5 nodes: a, b, c, d, e.*max_torn_down_nodes = 5`)},
		{Config: site(first, all...), ExpectError: wrapped(`(?s)tears down 3 of 5 nodes: c, d, e.*max_torn_down_nodes = 3`)},
		{Config: site(first+group("two", `"c", "f"`), all...), ExpectError: wrapped(`(?s)tears down 2 of 5 nodes: d, e`)},
		{Config: site(first+second, all[:3]...), ExpectError: wrapped(`(?s)tears down 2 of 5 nodes: d, e`)},
		{Config: site(first+second, all[:4]...), Check: resource.ComposeTestCheckFunc(kept, s.gone("e"))}, // one of five
		{Config: site(first+second, "a=a", "b=b", "x=c", "y=d"), Check: kept},                             // other names
		{Config: site(first+second, "a=a", "b=b", "c=c", "d=d"), ConfigPlanChecks: resource.ConfigPlanChecks{
			PreApply: []plancheck.PlanCheck{noWork()}}, Check: kept},
		{Config: site("", "a=a", "b=b", "c=c", "d=d"), ExpectError: wrapped(`(?s)tears down 4 of 4 nodes: a, b, c, d`)},
	}, s.gone("a", "b", "c", "d"))
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
				`a: removes 1 resource: file\[/etc/issue\].*b: removes 1 resource: file\[/etc/issue\].*c: undoes 2 resources: file\[/etc/motd\], file\[/etc/issue\]`),
		},
		{
			Config: s.on(one, "", "a=a", "b=b"), Destroy: true,
			Check: w.say(`(?s)undoes 2 resources on 2 nodes.*a: undoes 1 resource: file\[/etc/motd\].*b: undoes 1 resource: file\[/etc/motd\]`),
		},
	}, s.gone("a", "b", "c"))
}

// What another title of the same object takes over is not counted as removed.
func TestAnotherTitleIsNoRemoval(t *testing.T) {
	s := newSandbox(t, "a")
	under := func(title string) string {
		return strings.Replace(files("motd", map[string]string{"/etc/issue": "two", "/etc/motd": "one"}), "\"/etc/motd\" = {",
			fmt.Sprintf("%q = { path = \"/etc/motd\", ", title), 1)
	}
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: s.on(under("one"), "", "a=a")},
		{Config: s.on(under("two"), "protect = { max_removed_resources = 0 }\n", "a=a"), Check: resource.ComposeTestCheckFunc(
			s.has("a", "etc/motd", "one"), w.lack("removes"))},
		{Config: s.on(files("motd", map[string]string{"/etc/issue": "two"}), "", "a=a"), Check: resource.ComposeTestCheckFunc(
			s.has("a", "etc/motd", "-"), w.say("removes 1 resource"))},
	}, s.gone("a"))
}

// protect says how much a plan may take away; a limit that is not reached lets it pass.
func TestProtect(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	two := files("motd", map[string]string{"/etc/motd": "one", "/etc/issue": "two"})
	one := files("motd", map[string]string{"/etc/motd": "one"})
	limits := func(of string) string { return "protect = { " + of + " }\n" }
	run(t, []resource.TestStep{
		{Config: s.on(two, limits(`max_torn_down_nodes = "many"`), "a=a"), PlanOnly: true, ExpectError: wrapped(`must be a number of nodes, such as 1`)},
		{Config: s.on(two, limits(`max_torn_down_nodes = "110%"`), "a=a"), PlanOnly: true, ExpectError: wrapped(`must be a number of nodes, such as 1`)},
		{Config: s.on(two, limits(`max_removed_resources = -1`), "a=a"), PlanOnly: true, ExpectError: wrapped(`must be at least 0`)},
		{Config: s.on(two, limits(`max_torn_down_nodes = 0`), "a=a", "b=b", "c=c")},
		{Config: s.on(two, limits(`max_torn_down_nodes = 0`), "a=a", "b=b"), ExpectError: wrapped(`(?s)tears down 1 of 3 nodes: c.*max_torn_down_nodes is 0`)},
		{Config: s.on(two, limits(`max_torn_down_nodes = "33%"`), "a=a", "b=b"), ExpectError: wrapped(`(?s)tears down 1 of 3 nodes: c.*max_torn_down_nodes is 33%`)},
		{Config: s.on(one, limits(`max_removed_resources = 2`), "a=a", "b=b", "c=c"), ExpectError: wrapped(`(?s)removes 3 resources on 3 nodes: file\[/etc/issue\].*max_removed_resources is 2`)},
		{Config: s.on(two, limits(`max_removed_resources = 2`), "a=a", "b=b", "c=c"), Check: s.has("c", "etc/issue", "two")}, // nothing of it was touched
		{Config: s.on(one, limits(`max_removed_resources = 3`), "a=a", "b=b", "c=c"), Check: s.has("c", "etc/issue", "-")},
		{Config: s.on(one, limits(`max_torn_down_nodes = "67%"`), "a=a"), Check: s.has("c", "etc/motd", "-")},
	}, s.gone("a", "b", "c"))
}

// What two refusals of one plan say to write is all of it right: nothing else of protect is lost.
func TestProtectNamesWhatToSet(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	two := files("motd", map[string]string{"/etc/motd": "one", "/etc/issue": "two"})
	one := files("motd", map[string]string{"/etc/motd": "one"})
	all := "protect = { destroy = %v, max_torn_down_nodes = 0, max_removed_resources = 0 }\n"
	run(t, []resource.TestStep{
		{Config: s.on(two, fmt.Sprintf(all, true), "a=a", "b=b", "c=c")},
		{
			Config: s.on(one, fmt.Sprintf(all, true), "a=a", "b=b"),
			ExpectError: wrapped(`(?s)set max_torn_down_nodes = 1 in protect for this apply.*` +
				`set max_removed_resources = 2 in protect for this apply`),
		},
		{
			Config:      s.on(one, "protect = { max_removed_resources = 9 }\n", "a=a"),
			ExpectError: wrapped(`set max_torn_down_nodes = 2 in protect for this apply`),
		},
		{
			Config:      s.on(one, "", "a=a"),
			ExpectError: wrapped(`write protect = \{ max_torn_down_nodes = 2 \} for this apply`),
		},
		{Config: s.on(two, fmt.Sprintf(all, false), "a=a", "b=b", "c=c")},
	}, s.gone("a", "b", "c"))
}

// protect.destroy in the state refuses to destroy the deployment, and to replace it, until it is taken back.
func TestProtectedFromDestroy(t *testing.T) {
	s := newSandbox(t, "a")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	config := s.on(motd, "protect = { destroy = true }\n", "a=a")
	kept := resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"))
	refused := wrapped(`(?s)protected from being destroyed.*protect.destroy = false, apply`)
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

// A plan does not promise to undo anything on a node that it knows not to answer.
func TestDestroyWithASilentNode(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	silent := func() { // no folder any more
		s.must(os.RemoveAll(s.path("b", "")))
		s.must(os.WriteFile(s.path("b", ""), nil, 0o600))
	}
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: s.on(motd, "", "a=a", "b=b", "c=c")},
		{PreConfig: silent, Config: s.on(motd, "", "a=a", "b=b", "c=c")},
		{
			PreConfig: func() { w.take() }, Config: s.on(motd, "", "a=a", "b=b", "c=c"), Destroy: true,
			Check: w.say(`(?s)Destroying the deployment undoes 2 resources on 2 nodes, and forgets 1 node unless it answers: b.*` +
				`b: undoes 1 resource if it answers, else it stays there: file\[/etc/motd\]`),
		},
	}, s.gone("a", "c"))
}

// Machines that stay while nodes get new addresses are no losses: two of three nodes are renumbered without protect.
func TestRenumbering(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	kept := resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("b", "etc/motd", "one"))
	renumbered := s.on(motd, "", "a=a2", "b=b2", "c=c")
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: s.on(motd, "", "a=a", "b=b", "c=c"), Check: kept},
		{Config: renumbered, ExpectError: wrapped(`not rolled out`)}, // nobody answers there yet
		{
			PreConfig: func() { w.take(); s.link("a2", "a"); s.link("b2", "b") },
			Config:    renumbered, ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check: resource.ComposeTestCheckFunc(kept, w.say(`(?s)may tear down 2 nodes: a.old, b.old.*`+
				`a.old: undoes 1 resource unless it is node "a" at its new address: file\[/etc/motd\]`)),
		},
		{Config: renumbered, ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b", "c"))
}

// When other machines answer at the new addresses, the old ones are torn down up to the limit only.
func TestRenumberingToOtherMachines(t *testing.T) {
	s := newSandbox(t, "a", "b", "c", "x", "y")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	kept := resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("b", "etc/motd", "one"))
	moved := func(more string) string { return s.on(motd, more, "a=x", "b=y", "c=c") }
	run(t, []resource.TestStep{
		{Config: s.on(motd, "", "a=a", "b=b", "c=c"), Check: kept},
		{Config: moved(""), ExpectError: wrapped(`(?s)a.old: failed.*is another machine than node "a".*max_torn_down_nodes = 2`)},
		{Config: moved(""), ExpectError: wrapped(`(?s)tears down 2 of 5 nodes: a.old, b.old.*max_torn_down_nodes = 2`)},
		{Config: s.on(motd, "", "a=a", "b=b", "c=c", "x=x", "y=y"), Check: resource.ComposeTestCheckFunc(kept, s.has("x", "etc/motd", "one"))},
		{Config: moved("protect = { max_torn_down_nodes = 2 }"), Check: s.has("x", "etc/motd", "one")},
	}, s.gone("a", "b", "c", "x", "y"))
	s = newSandbox(t, "a", "b", "x")
	run(t, []resource.TestStep{
		{Config: s.on(motd, "protect = { max_torn_down_nodes = 0 }", "a=a", "b=b")},
		{Config: s.on(motd, "protect = { max_torn_down_nodes = 0 }", "a=x", "b=b"), ExpectError: wrapped(`(?s)a.old: failed.*max_torn_down_nodes = 1`)},
		{Config: s.on(motd, "protect = { max_torn_down_nodes = 1 }", "a=x", "b=b"), Check: resource.ComposeTestCheckFunc(s.gone("a"), s.has("a", "etc/motd", "-"))},
	}, s.gone("b", "x"))
}

// Terraform plans the configuration before it destroys, so protect refuses that plan, too; the error says how to destroy all the same.
func TestTextOfADestroyWithARefusedPlan(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	c := newCommandLine(t)
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	c.configure(s.selecting("web", motd, "", "a=a", "b=b", "c=c"))
	c.apply()
	c.configure(s.selecting("wbe", motd, "", "a=a", "b=b", "c=c"))
	assertText(t, c.run(1, "destroy", "-input=false", "-no-color", "-auto-approve"), "tears down 3 of 3 nodes: a, b, c", "terraform destroy -refresh=false")
	c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve", "-refresh=false")
	for _, node := range []string{"a", "b", "c"} {
		if err := s.gone(node)(nil); err != nil {
			t.Error(err)
		}
	}
}
