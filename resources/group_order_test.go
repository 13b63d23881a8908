package resources_test

import (
	"strings"
	"testing"
)

// The nodes of a rolling group are worked on in the order of node_order, as the plan says. An order alone is no work.
func TestTextOfNodeOrder(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	c := newCommandLine(t)
	configure := func(order, text string) {
		t.Helper()
		group := `resource "slipway_group" "g" {
  name      = "g"
  critical  = true
  selectors = []
  rolling   = { ` + order + ` }
}
`
		c.configure(s.config([]string{"a", "b", "c"}, []string{"motd"},
			group+files("motd", map[string]string{"/etc/motd": text}), "groups = [slipway_group.g]"))
	}
	steps := func(change, order string) []string {
		return []string{
			"g (critical): prepare 3 nodes (a, b, c)",
			"g (critical): node phase, 1 node at a time" + order + ": 3 changes on 3 nodes: " + change + " file[/etc/motd] on 3",
		}
	}
	configure(`node_order = ["c", "a", "b"]`, "one\n")
	c.shows(c.changes(), 1, steps("create", ", in the order c, a, b"), "a", "b", "c")
	c.apply()
	c.empty()

	configure(`node_order = ["b", "*"]`, "one\n")
	c.shows(c.changes(), 1, nil)
	c.apply()
	c.empty()

	configure(`node_order = ["b", "*"]`, "two\n")
	c.shows(c.changes(), 2, steps("update", ", in the order b, a, c"), "a", "b", "c")
	c.apply()

	configure("", "three\n")
	c.shows(c.changes(), 3, steps("update", ""), "a", "b", "c")

	for order, want := range map[string]string{
		`["bb", "*"]`: `rolling.node_order[0]: the group has no node "bb"; did you mean "b"?`,
		`["b", "c"]`:  `rolling.node_order: it does not name a; add each node of the group, or "*" for all others by name`,
	} {
		configure("node_order = "+order, "three\n")
		text := c.run(1, "plan", "-input=false", "-no-color")
		if text = strings.Join(strings.Fields(strings.ReplaceAll(text, "│", "")), " "); !strings.Contains(text, want) {
			t.Errorf("%s: want %q in %s", order, want, text)
		}
	}
}
