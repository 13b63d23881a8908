package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorrectedConnectionIsRefreshedThrough corrects the `connect` of a node: the same plan looks at the node through it and finds its drift, be it another
// key or another way to the machine. A refresh without a plan of nodes knows the connection of the last apply only.
func TestCorrectedConnectionIsRefreshedThrough(t *testing.T) {
	t.Parallel()
	one := nodes.Take(t, 1)
	n := one[0]
	keys := t.TempDir()
	key, err := os.ReadFile(nodes.State("id_ed25519"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string) string {
		file := filepath.Join(keys, name)
		if err := os.WriteFile(file, key, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first, second := put("first"), put("second")
	before := fingerprints(t, n)
	w := newWorkspace(t, config{site: "corrected", nodes: one, node: "connect = var.connect"}.hcl(t)+`
variable "connect" { type = any }
`)
	w.set("connect", map[string]any{"private_key_file": first})
	w.must(w.apply(), 0)

	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	n.On(t, "echo drifted >"+testFile)
	w.must(w.plan("-refresh-only"), 2, "1 of 1 nodes could not be checked", first)

	w.set("connect", map[string]any{"private_key_file": second})
	r := w.must(w.plan(), 2, "content")
	for _, not := range []string{"could not be checked", first + ": "} {
		if strings.Contains(unwrapped(r.out), not) {
			t.Errorf("the plan with a corrected key says %q:\n%s", not, r.out)
		}
	}
	w.must(r, 2, "drifted")
	w.must(w.apply(), 0)
	if got := n.On(t, "cat "+testFile); got != "first" {
		t.Errorf("after the apply there is %q", got)
	}
	w.must(w.plan(), 0, "No changes")

	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	third := put("third")
	w.set("connect", map[string]any{"private_key_file": third, "bastions": []any{map[string]any{"host": n.Address}}})
	if r := w.must(w.plan(), 2); strings.Contains(unwrapped(r.out), "could not be checked") {
		t.Errorf("the plan with another way to the same machine says:\n%s", r.out)
	}
	w.must(w.apply(), 0)
	w.mustDestroy()
	assertUntouched(t, before, n)
}

// TestTypoOfAPortIsCorrected applies a port on which nobody listens, which fails, and corrects it: nothing is torn down or forgotten, and the refresh
// looks at the right port.
func TestTypoOfAPortIsCorrected(t *testing.T) {
	t.Parallel()
	one := nodes.Take(t, 1)
	n := one[0]
	before := fingerprints(t, n)
	w := newWorkspace(t, config{site: "typo", nodes: one, node: "connect = var.connect"}.hcl(t)+`
variable "connect" { type = any }
`)
	w.set("connect", map[string]any{"port": 22})
	w.must(w.apply(), 0)
	ledger := n.On(t, "cat /var/lib/slipway/ledger.json")

	w.set("connect", map[string]any{"port": 2222})
	w.must(w.apply(), 1, "not rolled out")
	w.set("connect", map[string]any{"port": 22})
	r := w.must(w.plan(), 2)
	for _, not := range []string{".old2", "tear down", "tears down", "leaves the site", "could not be checked", ":2222"} {
		if strings.Contains(unwrapped(r.out), not) {
			t.Errorf("the plan with the corrected port says %q:\n%s", not, r.out)
		}
	}
	r = w.must(w.apply(), 0)
	if strings.Contains(unwrapped(r.out), "forgotten") {
		t.Errorf("the apply with the corrected port says:\n%s", r.out)
	}
	if after := n.On(t, "cat /var/lib/slipway/ledger.json"); after != ledger {
		t.Errorf("the ledger was\n%s\nand is\n%s", ledger, after)
	}
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
	assertUntouched(t, before, n)
}
