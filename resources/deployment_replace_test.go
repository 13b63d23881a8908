package resources_test

import (
	"maps"
	"strings"
	"testing"
)

func assertText(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(unwrapped(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// A replacement that nobody needs undoes everything first: the plan refuses it unless protect allows that many nodes,
// and shows then what it undoes and every step, also those that equal the last run's.
func TestTextOfARefusedReplacement(t *testing.T) {
	for name, replace := range map[string]struct{ more, config, arg string }{
		"by option":  {arg: "-replace=slipway_deployment.test"},
		"by trigger": {more: "lifecycle { replace_triggered_by = [terraform_data.key] }", config: "resource \"terraform_data\" \"key\" {}\n", arg: "-replace=terraform_data.key"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, "a", "b")
			c := newCommandLine(t)
			configure := func(more string) {
				c.configure(replace.config + s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}),
					replace.more+"\n"+more))
			}
			configure("")
			c.apply()
			for _, more := range []string{"", "protect = { max_torn_down_nodes = 1 }"} {
				configure(more)
				text := c.run(1, "plan", "-input=false", "-no-color", replace.arg)
				assertText(t, text, "Replacing the deployment undoes 2 resources on 2 nodes", "a: undoes 1 resource: file[/etc/motd]",
					"b: undoes 1 resource: file[/etc/motd]", "max_torn_down_nodes = 2")
			}
			before := s.ledger("a")
			configure("protect = { max_torn_down_nodes = 2 }")
			text := c.run(0, "plan", "-input=false", "-no-color", replace.arg)
			assertText(t, text, "undoes 2 resources on 2 nodes", "a: undoes 1 resource: file[/etc/motd]",
				"1.1 default (critical): prepare 2 nodes (a, b)", "1.2 default (critical): node phase: 2 changes on 2 nodes: create file[/etc/motd] on 2")
			c.run(0, "apply", "-input=false", "-no-color", "-auto-approve", replace.arg)
			if after := s.ledger("a"); len(after) != 1 || maps.Equal(before, after) {
				t.Errorf("the ledger was %v and is %v", before, after)
			}
			configure("")
			c.apply()
			c.empty()
		})
	}
}

// protect.destroy of the state refuses a replacement in the plan; on_destroy = "retain" leaves nothing to refuse.
func TestTextOfAProtectedReplacement(t *testing.T) {
	s := newSandbox(t, "a")
	c := newCommandLine(t)
	configure := func(more string) {
		c.configure(s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), more))
	}
	configure("protect = { destroy = true, max_torn_down_nodes = 1 }")
	c.apply()
	assertText(t, c.run(1, "plan", "-input=false", "-no-color", "-replace=slipway_deployment.test"), "protected from being destroyed")
	configure(`on_destroy = "retain"`)
	c.apply()
	c.changes("-replace=slipway_deployment.test")
	configure("")
	c.apply()
	c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve")
}

// Another site name tears the old site down: protect counts that, and the plan shows every step of the new site.
func TestTextOfASiteNameWithATypo(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	config := s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), "")
	c.configure(config)
	c.apply()
	config = strings.Replace(config, `site = "lon1"`, `site = "lno1"`, 1)
	c.configure(config)
	assertText(t, c.run(1, "plan", "-input=false", "-no-color"), "tears down 2 of 2 nodes: a, b", "max_torn_down_nodes = 2")
	c.configure(strings.Replace(config, `site = "lno1"`, "site = \"lno1\"\nprotect = { max_torn_down_nodes = 2 }", 1))
	assertText(t, c.changes(), "undoes 2 resources on 2 nodes", "1.1 default (critical): prepare 2 nodes (a, b)", "1.2 default (critical): node phase: 2 changes on 2 nodes: create file[/etc/motd] on 2")
}

// A deployment that was tainted by hand is not torn down: the plan says so and shows every step.
func TestTextOfATaintByHand(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	c.configure(s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"}), ""))
	c.apply()
	before := s.ledger("a")
	c.run(0, "taint", "-no-color", "slipway_deployment.test")
	assertText(t, c.changes(), "nothing is torn down for that", "1.1 default (critical): prepare 2 nodes (a, b)", "1.2 default (critical): node phase: 2 changes on 2 nodes: create file[/etc/motd] on 2")
	c.run(0, "plan", "-input=false", "-no-color", "-refresh=false", "-out=plan")
	c.run(0, "apply", "-input=false", "-no-color", "plan")
	if after := s.ledger("a"); !maps.Equal(before, after) {
		t.Errorf("the ledger was %v and is %v", before, after)
	}
	c.empty()
}
