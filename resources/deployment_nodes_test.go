package resources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// on returns the configuration of a site on nodes given as "name=folder".
func (s *sandbox) on(resources, more string, nodes ...string) string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		name, folder, _ := strings.Cut(n, "=")
		list[i] = fmt.Sprintf("{ name = %q, connect = { transport = \"local\", root = %q } }", name, filepath.Join(s.dir, folder))
	}
	return strings.Replace(s.config(nil, []string{"motd"}, resources, more), "nodes = []", "nodes = ["+strings.Join(list, ", ")+"]", 1)
}

// A machine that gets another name keeps what is applied on it: the old name is not torn down under the new one's feet.
func TestNodeRenamed(t *testing.T) {
	s := newSandbox(t, "a", "b")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	renamed := s.on(motd, "", "a=a", "c=b")
	both := resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("b", "etc/motd", "one"))
	swapped := s.on(motd, "", "a=b", "c=a")
	run(t, []resource.TestStep{
		{Config: s.on(motd, "", "a=a", "b=b"), Check: both},
		{
			Config: renamed, Check: both,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				noWork(),
			}},
		},
		{Config: renamed, ConfigPlanChecks: nothingPlanned()},
		{Config: swapped, Check: both},
		{Config: swapped, ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a", "b"))
}

// A node that is found at another address is brought into order there by the same apply, also when no refresh looks at
// it. The machine at the old address is torn down, unless it is the same one under another address.
func TestNodeAtAnotherAddress(t *testing.T) {
	for _, detection := range []string{"full", "off"} {
		s := newSandbox(t, "old", "new")
		more := fmt.Sprintf("drift_detection = %q", detection)
		motd := files("motd", map[string]string{"/etc/motd": "one"})
		var w warnings
		w.run(t, []resource.TestStep{
			{Config: s.on(motd, more, "a=old"), Check: w.lack(".")},
			{
				Config: s.on(motd, more, "a=new"), ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
				Check: resource.ComposeTestCheckFunc(s.has("new", "etc/motd", "one"), s.has("old", "etc/motd", "-"), s.gone("old"),
					w.say(`(?s)the machine at the old address leaves the site, as "a.old", unless it is the same machine under another address.*may tear down 1 node: a.old.*a.old: undoes 1 resource unless it is node "a" at its new address`)),
			},
			{Config: s.on(motd, more, "a=new"), ConfigPlanChecks: nothingPlanned()},
			{
				PreConfig: func() { s.must(os.Rename(s.path("new", ""), s.path("moved", ""))) }, Config: s.on(motd, more, "a=moved"),
				Check: resource.ComposeTestCheckFunc(s.has("moved", "etc/motd", "one"), w.say(`"a.old" left the site and is not torn down, because it is the machine of node "a", under another address`)),
			},
			{Config: s.on(motd, more, "a=moved"), ConfigPlanChecks: nothingPlanned()},
		}, s.gone("moved"), s.has("moved", "etc/motd", "-"))
	}
}

func TestNodesThatCannotBe(t *testing.T) {
	s := newSandbox(t, "a")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	config := strings.Replace(s.on(motd, "", "a=a", "b=a"), "nodes = [", `nodes = [{ name = "nowhere" }, `, 1)
	refused := regexp.MustCompile(`(?s)node\s+"nowhere",\s+address:.*is\s+needed.*node\s+"b",\s+connect.root:.*and\s+so\s+is\s+the\s+node\s+"a"|` +
		`(?s)node\s+"b",\s+connect.root:.*and\s+so\s+is\s+the\s+node\s+"a".*node\s+"nowhere",\s+address:\s+is\s+needed`)
	run(t, []resource.TestStep{{Config: config, PlanOnly: true, ExpectError: refused}}, s.has("a", "etc/motd", "-"))
}

// What the provider says of all nodes counts where a node says nothing: here that they are folders.
func TestTransportOfTheProvider(t *testing.T) {
	s := newSandbox(t, "a")
	config := strings.Replace(s.on(files("motd", map[string]string{"/etc/motd": "one"}), "", "a=a"), `transport = "local", `, "", 1)
	config = strings.Replace(config, "provider \"slipway\" {", "provider \"slipway\" {\n  connection = { transport = \"local\" }", 1)
	run(t, []resource.TestStep{{Config: config, Check: s.has("a", "etc/motd", "one")}}, s.gone("a"))
}

// What a destroy undid before it failed is work of the next plan, also when no refresh looks at the nodes.
func TestDeleteFailsHalfWay(t *testing.T) {
	for _, detection := range []string{"full", "off"} {
		s := newSandbox(t, "a", "b")
		more := fmt.Sprintf("drift_detection = %q", detection)
		config := s.on(files("motd", map[string]string{"/etc/motd": "one"}), more, "a=a", "b=b")
		var release func()
		run(t, []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() { release = s.spoil("b") },
				Config:    config, Destroy: true, ExpectError: regexp.MustCompile(`not torn down`),
			},
			{
				PreConfig: func() {
					release()
					if got := s.content("a", "etc/motd"); got != "-" {
						t.Errorf("a still has %q", got)
					}
				},
				Config: config, Check: resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), s.has("b", "etc/motd", "one")),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(deployment, tfjsonpath.New("changed_nodes"), knownvalue.MapExact(map[string]knownvalue.Check{"a": knownvalue.Int64Exact(2), "b": knownvalue.Int64Exact(1)})),
				},
			},
			{Config: config, ConfigPlanChecks: nothingPlanned()},
		}, s.gone("a", "b"))
	}
}

// A node whose folder is gone leaves the site: there is nothing to undo, and the run says so.
func TestFolderOfADepartedNodeIsGone(t *testing.T) {
	s := newSandbox(t, "a", "b")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	var w warnings
	w.run(t, []resource.TestStep{
		{Config: s.on(motd, "", "a=a", "b=b"), Check: w.lack(".")},
		{
			PreConfig: func() { s.must(os.RemoveAll(s.path("b", ""))) }, Config: s.on(motd, "", "a=a"),
			Check: w.say(`its folder \S+/b is gone, or never was, and with it all that could be undone`),
		},
		{Config: s.on(motd, "", "a=a"), ConfigPlanChecks: nothingPlanned()},
	}, s.gone("a"))
}
