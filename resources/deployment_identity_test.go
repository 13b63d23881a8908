package resources_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

// link makes a second spelling of a node's folder.
func (s *sandbox) link(name, node string) {
	s.t.Helper()
	s.must(os.Symlink(s.path(node, ""), s.path(name, "")))
}

// A machine that gets another name and another spelling of its address in one apply is not torn down under its new
// name: what the plan cannot know, the run sees on the machine.
func TestNodeRenamedAndRespelled(t *testing.T) {
	for _, detection := range []string{"full", "off"} {
		s := newSandbox(t, "a")
		s.link("alias", "a")
		more := "drift_detection = \"" + detection + "\""
		motd := files("motd", map[string]string{"/etc/motd": "one"})
		renamed := s.on(motd, more, "b=alias")
		run(t, []resource.TestStep{
			{Config: s.on(motd, more, "a=a"), Check: s.has("a", "etc/motd", "one")},
			{Config: renamed, Check: s.has("a", "etc/motd", "one"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")}},
			{Config: renamed, ConfigPlanChecks: nothingPlanned()},
		}, s.gone("a"))
	}
}

// One machine under two names is refused before anything is touched on it, and the error has both names.
func TestOneMachineTwice(t *testing.T) {
	one, two := files("motd", map[string]string{"/etc/motd": "one"}), files("motd", map[string]string{"/etc/motd": "two"})
	refused := regexp.MustCompile(`(?s)"a".*same\s+machine.*"b"|"b".*same\s+machine.*"a"`)
	groups := `groups = [
		{ name = "first", critical = true, selectors = [{ node_names = ["a"] }] },
		{ name = "second", critical = true, selectors = [{ node_names = ["b"] }] },
	]`
	for _, more := range []string{"", groups, `drift_detection = "off"`} {
		s := newSandbox(t, "a")
		s.link("alias", "a")
		run(t, []resource.TestStep{
			{Config: s.on(one, more, "a=a", "b=alias"), ExpectError: refused},
		}, s.has("a", "etc/motd", "-"))
		s = newSandbox(t, "a")
		s.link("alias", "a")
		run(t, []resource.TestStep{
			{Config: s.on(one, more, "a=a")},
			{Config: s.on(two, more, "a=a", "b=alias"), ExpectError: refused},
			{Config: s.on(one, more, "a=a"), Check: s.has("a", "etc/motd", "one")},
		}, s.gone("a"))
	}
}

// A copy of a machine has its ledger, machine-id and, as a folder, its host's boot id, and is a machine of its own: the
// one that leaves is torn down, and the other stays.
func TestCopiedMachine(t *testing.T) {
	s := newSandbox(t, "a")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	run(t, []resource.TestStep{
		{Config: s.on(motd, "", "a=a")},
		{
			PreConfig: func() {
				s.must(os.CopyFS(s.path("copy", ""), os.DirFS(s.path("a", ""))))
				s.must(os.Chmod(s.path("copy", "var/lib/slipway"), 0o700))
			},
			Config: s.on(motd, "", "a=a", "b=copy"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
		},
		{
			Config: s.on(motd, "", "b=copy"), ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check: resource.ComposeTestCheckFunc(s.gone("a"), s.has("a", "etc/motd", "-"), s.has("copy", "etc/motd", "one")),
		},
	}, s.gone("copy"))
}

// What a refresh saw is an error of the plan: two addresses that lead to one machine by now.
func TestOneMachineSeenByRefresh(t *testing.T) {
	s := newSandbox(t, "a", "b")
	one, two := files("motd", map[string]string{"/etc/motd": "one"}), files("motd", map[string]string{"/etc/motd": "two"})
	run(t, []resource.TestStep{
		{Config: s.on(one, "", "a=a", "b=b")},
		{
			PreConfig:   func() { s.must(os.Rename(s.path("b", ""), s.path("away", ""))); s.link("b", "a") },
			Config:      s.on(two, "", "a=a", "b=b"),
			ExpectError: regexp.MustCompile(`node\s+"b",\s+address:\s+is\s+the\s+same\s+machine\s+as\s+node\s+"a"`),
		},
		{
			PreConfig: func() { s.must(os.Remove(s.path("b", ""))); s.must(os.Rename(s.path("away", ""), s.path("b", ""))) },
			Config:    s.on(two, "", "a=a", "b=b"), Check: s.has("b", "etc/motd", "two"),
		},
	}, s.gone("a", "b"))
}

// A node that takes the place of another one leaves a machine behind, which departs like any other: it is torn down,
// and tried again when that fails.
func TestNodeTakesAnothersPlace(t *testing.T) {
	s := newSandbox(t, "a", "b")
	motd := files("motd", map[string]string{"/etc/motd": "one"})
	var release func()
	left := s.on(motd, "", "n0=b")
	run(t, []resource.TestStep{
		{Config: s.on(motd, "", "n0=a", "n1=b")},
		{
			PreConfig: func() { release = s.spoil("a") },
			Config:    left, ExpectError: regexp.MustCompile(`n0.old: failed`),
		},
		{
			PreConfig: func() { release() },
			Config:    left, ConfigStateChecks: []statecheck.StateCheck{status("deployed")},
			Check: resource.ComposeTestCheckFunc(s.gone("a"), s.has("a", "etc/motd", "-"), s.has("b", "etc/motd", "one")),
		},
		{Config: left, ConfigPlanChecks: nothingPlanned()},
	}, s.gone("b"))

	s = newSandbox(t, "a", "b", "c")
	run(t, []resource.TestStep{
		{Config: s.on(motd, "", "n0=a", "n1=b", "n2=c")},
		{
			Config: s.on(motd, "", "n0=b", "n1=c"),
			Check:  resource.ComposeTestCheckFunc(s.gone("a"), s.has("a", "etc/motd", "-"), s.has("b", "etc/motd", "one"), s.has("c", "etc/motd", "one")),
		},
	}, s.gone("b", "c"))
}
