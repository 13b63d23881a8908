package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// otherWay is a second address of a node: the node's own loopback, through the node as a bastion.
const otherWay = "127.0.0.1"

// TestMachineUnderAnotherName renames a node together with its address: a user's home is there afterwards. Two names for one machine are refused before
// anything is done on it.
func TestMachineUnderAnotherName(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	n, other := two[0], two[1]
	before := fingerprints(t, two...)
	w := newWorkspace(t, config{site: "machines", nodes: two, more: []string{"people"}, services: `
resource "slipway_service" "people" {
  name          = "people"
  selectors     = []
  configuration = { user = { pilot = { ensure = "present", home = "/home/pilot", managehome = true } } }
}
`, node: fmt.Sprintf("connect = each.value == %q ? { bastions = [{ host = %q }] } : null", otherWay, n.Address)}.hcl(t))
	known, err := os.ReadFile(nodes.State("known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("known_hosts", string(known))
	c := connection()
	c["known_hosts_file"], c["host_key_policy"] = filepath.Join(w.dir, "known_hosts"), "accept-new"
	w.set("connection", c)
	w.must(w.apply(), 0)
	n.On(t, "echo precious >/home/pilot/keep")

	w.set("nodes", map[string]string{"renamed": otherWay, other.Name: other.Address})
	w.must(w.apply(), 0, fmt.Sprintf("node %q left the site and is not torn down", n.Name))
	w.assertStatus("deployed")
	if got := n.On(t, "cat /home/pilot/keep "+testFile); got != "precious\nfirst" {
		t.Errorf("after the renaming there is %q", got)
	}
	w.must(w.plan(), 0, "No changes")

	w.set("nodes", map[string]string{"renamed": otherWay, n.Name: n.Address, other.Name: other.Address})
	w.set("content", "second")
	r := w.must(w.apply(), 1, "is the same machine as node", `"renamed"`, fmt.Sprintf("%q", n.Name))
	if got := n.On(t, "cat "+testFile); got != "first" {
		t.Errorf("the machine of two names was worked on: %q\n%s", got, r.out)
	}
	w.set("nodes", map[string]string{"renamed": otherWay, other.Name: other.Address})
	w.must(w.apply(), 0)
	if got := n.On(t, "cat "+testFile+" /home/pilot/keep"); strings.TrimSpace(got) != "secondprecious" {
		t.Errorf("at the end there is %q", got)
	}
	w.mustDestroy()
	assertUntouched(t, before, two...)
}

// TestCopiedMachines has two machines with one machine-id and one ledger id, as copies of a disk have them: each is a machine of its own.
func TestCopiedMachines(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	own := two[1].On(t, "cat /etc/machine-id")
	before := fingerprints(t, two[0])
	set := func(id string) { two[1].On(t, "echo "+strings.TrimSpace(id)+" >/etc/machine-id") }
	t.Cleanup(func() { set(own) })
	set(two[0].On(t, "cat /etc/machine-id"))
	w := newWorkspace(t, config{site: "copies", nodes: two}.hcl(t))
	w.must(w.apply(), 0)
	for _, n := range two {
		n.On(t, `sed -i 's/"id":"[A-Z0-9]*","generation"/"id":"COPIED","generation"/' /var/lib/slipway/ledger.json && grep -q '"id":"COPIED"' /var/lib/slipway/ledger.json`)
	}
	w.set("content", "second")
	w.must(w.apply(), 0)
	w.set("nodes", addresses(two[1:]))
	w.must(w.apply(), 0)
	assertUntouched(t, before, two[0])
	if got := two[1].On(t, "cat "+testFile); got != "second" {
		t.Errorf("the copy has %q", got)
	}
	w.mustDestroy()
}

// TestAddressOfAnotherNode gives a node the address of another one: the machine that it leaves is torn down.
func TestAddressOfAnotherNode(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	before := fingerprints(t, two...)
	w := newWorkspace(t, config{site: "handover", nodes: two}.hcl(t))
	w.set("nodes", map[string]string{"n0": two[0].Address, "n1": two[1].Address})
	w.must(w.apply(), 0)
	w.set("nodes", map[string]string{"n0": two[1].Address})
	w.must(w.plan(), 2, "tear down n0.old", "the machine at the old address leaves the site")
	w.must(w.apply(), 0)
	assertUntouched(t, before, two[0])
	if got := two[1].On(t, "cat "+testFile); got != "first" {
		t.Errorf("the node that stays has %q", got)
	}
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
	assertUntouched(t, before, two...)
}
