package resources_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

const orderedCatalog = `
entities:
  repo:
    tasks: [{name: file, config: {type: file, title: /etc/repo, parameters: {content: r}}}]
  app:
    tasks: [{name: file, requires: [{service: repo}], config: {type: file, title: /etc/app, parameters: {content: a}}}]
`

// steps checks what a plan says.
func steps(want ...string) resource.ConfigPlanChecks {
	if len(want) == 0 {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(deployment, plancheck.ResourceActionUpdate), noWork()}}
	}
	list := make([]knownvalue.Check, len(want))
	for i, pattern := range want {
		list[i] = knownvalue.StringRegexp(wrapped(pattern))
	}
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction(deployment, plancheck.ResourceActionUpdate), plancheck.ExpectKnownValue(deployment, tfjsonpath.New("steps"), knownvalue.ListExact(list)),
	}}
}

// untouched checks that the nodes were not worked on since before.
func (s *sandbox) untouched(node string, before func() map[string]string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if now := s.ledger(node); len(now) == 0 || !maps.Equal(now, before()) {
			return fmt.Errorf("the ledger of %s has %v, want %v", node, now, before())
		}
		return nil
	}
}

func TestDeploymentOrdering(t *testing.T) {
	s := newSandbox(t, "a")
	const fromCatalog = "ordering = data.slipway_catalog.site.ordering"
	with := func(ordering, more string) string {
		return s.config([]string{"a"}, []string{"repo", "app"}, catalogs(orderedCatalog+ordering)+instance("repo", "repo", "{}")+instance("app", "app", "{}"), more)
	}
	const inClass = "ordering: {classes: [{name: first, tasks: {entities: [repo]}}]}"
	var ledger map[string]string
	run(t, []resource.TestStep{
		{Config: s.config([]string{"a"}, nil, "", "")},
		{Config: with(inClass, ""), ConfigPlanChecks: steps("^2.1 service app: create", "^2.2 service repo: create", "^2.3 .*prepare 1 node", `^2.4 .*2 changes on node a`)}, // without ordering, nothing is in order
		{Config: s.config([]string{"a"}, nil, "", "")},
		{Config: with(inClass, fromCatalog), ConfigPlanChecks: steps("service app: create", "service repo: create", "prepare 1 node", `create file\[/etc/repo\]`, `create file\[/etc/app\]`),
			ConfigStateChecks: []statecheck.StateCheck{
				status("deployed"),
				statecheck.ExpectKnownValue("data.slipway_catalog.site", tfjsonpath.New("ordering"), knownvalue.StringExact(`{"classes":[{"name":"first","tasks":{"entities":["repo"]}}]}`)),
			},
			Check: func(*terraform.State) error { ledger = s.ledger("a"); return nil }},
		{Config: with(inClass, fromCatalog), ConfigPlanChecks: nothingPlanned()},
		// Without work, other rules are another desire and no work.
		{Config: with("ordering: {waits: [{tasks: {entities: [app]}, for: {entities: [repo]}}]}", fromCatalog), ConfigPlanChecks: steps(),
			Check: s.untouched("a", func() map[string]string { return ledger })},
		{Config: with("", fromCatalog), ConfigPlanChecks: steps(), ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue(deployment, tfjsonpath.New("ordering"), knownvalue.Null()),
		}},
		{Config: with("ordering: {waits: [{tasks: {entities: [repo]}, for: {entities: [app]}}]}", fromCatalog), PlanOnly: true,
			ExpectError: wrapped(`ordering\.waits\[0\]: resources wait for each other: file\[/etc/repo\] requires file\[/etc/app\] requires file\[/etc/repo\]`)},
		{Config: with("ordering: {waits: [{tasks: {types: [fil]}, for: {entities: [app]}}]}", fromCatalog), PlanOnly: true,
			ExpectError: wrapped(`ordering\.waits\[0\]\.tasks\.types\[0\]: there is no type "fil" of tasks; did you mean "file"\?`)},
		{Config: with("", `ordering = "first things first"`), PlanOnly: true, ExpectError: wrapped(`ordering = "first things first"(.|\s)*ordering: is not the ordering of a catalog`)},
		{Config: with("", `ordering = jsonencode({ classes = [{ name = "c", tasks = {} }], waits = [] })`), PlanOnly: true, ExpectError: wrapped(`ordering\.classes\[0\]\.tasks: selects nothing`)},
		{Config: with("", "ordering = terraform_data.x.output") + "resource \"terraform_data\" \"x\" { input = jsonencode({ unordered = [\"file\"] }) }\n",
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownValue(deployment, tfjsonpath.New("steps"))}},
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(deployment, tfjsonpath.New("ordering"), knownvalue.StringExact(`{"unordered":["file"]}`)), status("deployed"),
			}},
		// The order is kept when what was applied goes, and when nothing of the catalog is left.
		{Config: s.config([]string{"a"}, nil, "", ""), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/app", "-"), s.has("a", "etc/repo", "-"))},
	}, s.gone("a"))
}

// groupsOfOne is a group for each node.
func groupsOfOne(nodes ...string) (text, list string) {
	for _, n := range nodes {
		text += fmt.Sprintf("resource \"slipway_group\" %q {\n  name = %q\n  critical = true\n  selectors = [{ node_names = [%q] }]\n  success_criteria = { maximum_failed_nodes = 0 }\n}\n", n, n, n)
		list += "slipway_group." + n + ", "
	}
	return text, "groups = [" + list + "]\n"
}

func TestDeploymentParallelGroups(t *testing.T) {
	s := newSandbox(t, "a", "b")
	groups, list := groupsOfOne("a", "b")
	with := func(more string) string {
		return s.config([]string{"a", "b"}, []string{"motd"}, groups+files("motd", map[string]string{"/etc/motd": "one"}), list+more)
	}
	is := func(n int64) []statecheck.StateCheck {
		return []statecheck.StateCheck{statecheck.ExpectKnownValue(deployment, tfjsonpath.New("parallel_groups"), knownvalue.Int64Exact(n)), status("deployed")}
	}
	var ledger map[string]string
	run(t, []resource.TestStep{
		{Config: with(""), ConfigStateChecks: is(1), Check: func(*terraform.State) error { ledger = s.ledger("a"); return nil }},
		{Config: with("parallel_groups = 2"), ConfigPlanChecks: steps(), ConfigStateChecks: is(2), Check: s.untouched("a", func() map[string]string { return ledger })},
		{Config: with("parallel_groups = 2"), ConfigPlanChecks: nothingPlanned()},
		{Config: with("parallel_groups = 0"), PlanOnly: true, ExpectError: wrapped(`parallel_groups value must be between 1 and 100`)},
		{Config: with("parallel_groups = 101"), PlanOnly: true, ExpectError: wrapped(`parallel_groups value must be between 1 and 100`)},
		{Config: with("parallel_groups = 1"), ConfigPlanChecks: steps(), ConfigStateChecks: is(1)},
	}, s.gone("a", "b"))
}

// A group does not begin before the callback of another one has returned what it reads, however many groups may be
// worked on at once: neither when nobody knows the value yet, nor when an earlier run returned another one.
func TestParallelGroupsWaitForValues(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	nodes := []string{"a", "b", "c"}
	groups, list := groupsOfOne(nodes...)
	with := func(answer string) string {
		return s.config(nodes, []string{"tunnel"}, groups+catalogs(fmt.Sprintf(`
entities:
  tunnel:
    attributes: {vni: {type: string, modifier: r}}
    tasks:
    - name: allocate
      tag: pre_node
      callback: {type: command, parameters: {argv: [sh, -c, "sleep 1; echo %s"]}, returns: {vni: stdout}}
    - name: configuration
      config: {type: file, title: /etc/tunnel, parameters: {content: "%s ${self.vni}"}}
`, answer, answer))+instance("tunnel", "tunnel", "{}"), list+"parallel_groups = 3")
	}
	all := func(want string) resource.TestCheckFunc {
		return resource.ComposeTestCheckFunc(s.has("a", "etc/tunnel", want), s.has("b", "etc/tunnel", want), s.has("c", "etc/tunnel", want))
	}
	run(t, []resource.TestStep{
		{Config: with("one"), Check: all("one one"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")}},
		{Config: with("two"), Check: all("two two"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")}},
	}, s.gone(nodes...))
}
