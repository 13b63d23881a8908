package e2e

import "testing"

// TestRemovedNodes takes nodes out of the configuration: one that answers is torn down, one that does not is forgotten with a warning.
func TestRemovedNodes(t *testing.T) {
	t.Parallel()
	three := nodes.Take(t, 3)
	before := fingerprints(t, three[1])
	w := newWorkspace(t, config{site: "shrink", nodes: three, extra: "protect = { max_torn_down_nodes = 2 }"}.hcl(t))
	w.must(w.apply(), 0)
	w.set("nodes", addresses(three[:1]))
	w.must(w.plan(), 2, "tear down", "Warning: The plan tears down 2 nodes: ", three[1].Name, three[2].Name)
	three[2].Fail(t, "off")
	w.must(w.apply(), 0, "Warning", three[2].Name)
	assertUntouched(t, before, three[1])
	w.must(w.plan(), 0)
	three[2].Wipe(t)
	w.mustDestroy()
}

// TestLostNodeIsNotForgotten destroys a site with a node that answered until then and does not any more: the destroy fails, and can be repeated
// when the node is back. One that did not answer the refresh either is forgotten with a warning.
func TestLostNodeIsNotForgotten(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	before := fingerprints(t, two...)
	config := config{site: "lost", nodes: two}.hcl(t)
	destroy := []string{"destroy", "-input=false", "-no-color", "-auto-approve"}
	w := newWorkspace(t, config)
	w.must(w.apply(), 0)
	two[1].Fail(t, "off")
	w.must(w.run(append(destroy, "-refresh=false")...), 1, "The site was not torn down", "does not list as unreachable", two[1].Name)
	assertUntouched(t, before, two[0])
	two[1].Heal(t)
	w.must(w.run(destroy...), 0)
	assertUntouched(t, before[1:], two[1])

	w.must(w.apply(), 0)
	two[1].Fail(t, "off")
	w.must(w.run(destroy...), 0, "Nodes were forgotten", two[1].Name)
	two[1].Heal(t)
	two[1].Wipe(t)
}
