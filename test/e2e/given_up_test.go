package e2e

import (
	"os"
	"testing"
)

// TestGivenUpNodeWithoutItsKey loses a node's own key by two failed creations: the plan after the creation fails and says what to do, and
// tears the node down once the connection of the provider logs in to it.
func TestGivenUpNodeWithoutItsKey(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	a, b := two[0], two[1]
	key, err := os.ReadFile(nodes.State("id_ed25519"))
	if err != nil {
		t.Fatal(err)
	}
	beforeA, beforeB := fingerprints(t, a), fingerprints(t, b)
	w := newWorkspace(t, config{site: "keyless", nodes: two, node: "connect = { credentials = { private_key = var.key } }", more: []string{"more"}, services: `
variable "key" { type = string }
variable "broken" { default = true }
resource "slipway_service" "more" {
  name          = "more"
  selectors     = []
  configuration = { file = { "/etc/slipway-more" = { content = "x" }, "/etc/slipway-late" = { content = "x", path = var.broken ? "/nowhere/x" : null } } }
}
`}.hcl(t))
	without := connection()
	delete(without, "private_key_file")
	w.set("key", string(key))
	w.set("connection", without)
	w.must(w.apply(), 1, "/nowhere")
	w.set("nodes", map[string]string{a.Name: a.Address})
	w.must(w.apply(), 1, b.Name, "but for the secrets of its own connect")
	w.set("broken", false)
	w.must(w.apply(), 0, b.Name, "is torn down by the next plan")
	w.must(w.apply(), 1, b.Name, "is not torn down", "nothing to authenticate with", "Set what logs in to it in the connection of the provider")
	w.set("connection", connection())
	w.must(w.apply(), 0)
	assertUntouched(t, beforeB, b)
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
	assertUntouched(t, beforeA, a)
}
