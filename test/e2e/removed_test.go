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
