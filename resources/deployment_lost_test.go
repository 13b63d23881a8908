package resources_test

import (
	"strings"
	"testing"
)

// A creation over nodes that have a ledger of the site removes what nobody wants any more: protect counts it from the
// ledgers, before anything is touched, and the run says what it removed.
func TestTextOfACreationOverALostState(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	configure := func(more string, of map[string]string) {
		c.configure(s.config([]string{"a", "b"}, []string{"motd"}, files("motd", of), more))
	}
	one, two := map[string]string{"/etc/motd": "one"}, map[string]string{"/etc/motd": "one", "/etc/issue": "two"}
	configure("", two)
	c.apply()
	c.run(0, "state", "rm", "slipway_deployment.test")
	configure("protect = { max_removed_resources = 1 }", one)
	text := c.run(1, "apply", "-input=false", "-no-color", "-auto-approve")
	assertText(t, text, "removes 2 resources on 2 nodes: file[/etc/issue]; protect.max_removed_resources is 1", "Nothing was touched")
	if got := s.content("a", "etc/issue"); got != "two" {
		t.Errorf("the refused creation left %q", got)
	}
	group := "groups = [{ name = \"one\", critical = true, selectors = [{ node_names = [\"none\"] }] }]\n"
	configure(group, one)
	assertText(t, c.run(1, "apply", "-input=false", "-no-color", "-auto-approve"), "tears down 2 of 2 nodes: a, b", "Nothing was touched")
	configure("protect = { max_removed_resources = 2 }", one)
	assertText(t, c.apply(), "Removed: what the site had", "a: removes 1 resource: file[/etc/issue]", "b: removes 1 resource: file[/etc/issue]")
	if got := s.content("b", "etc/issue"); got != "-" {
		t.Errorf("the creation left %q", got)
	}
	c.empty()
}

// The same for a creation that continues one that failed. A refused one stays in the state, so that a destroy tears it
// down.
func TestTextOfAContinuedCreation(t *testing.T) {
	s := newSandbox(t, "a")
	c := newCommandLine(t)
	configure := func(more string, of map[string]string) {
		c.configure(s.config([]string{"a"}, []string{"motd"}, files("motd", of), more))
	}
	configure("", map[string]string{"/etc/motd": "one", "/etc/issue": "two", "/opt/app/x": "x"})
	c.run(1, "apply", "-input=false", "-no-color", "-auto-approve")
	configure("protect = { max_removed_resources = 0 }", map[string]string{"/etc/motd": "one"})
	text := c.failingApply()
	assertText(t, text, "file[/etc/issue]", "protect.max_removed_resources is 0")
	if n := strings.Count(text, "Error: "); n != 1 { // and not that a run was interrupted that never began
		t.Errorf("%d errors in:\n%s", n, text)
	}
	if got := s.content("a", "etc/issue"); got != "two" {
		t.Errorf("the refused creation left %q", got)
	}
	c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve")
	if err := s.gone("a")(nil); err != nil || s.content("a", "etc/motd") != "-" {
		t.Errorf("after the destroy: %v, /etc/motd is %q", err, s.content("a", "etc/motd"))
	}
}
