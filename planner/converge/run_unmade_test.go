package converge

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestFileThatCouldNotBeMade: a file that was never there is not in the ledger after its creation failed, so that the next plan creates it; one that was
// there before is, as begun.
func TestFileThatCouldNotBeMade(t *testing.T) {
	s := folder(t, map[string]string{"/d/": "", "/d/full/": "", "/d/full/x": ""})
	unmade := managed(t, "file", "/nowhere/x", resource.Parameters{"content": "1"})
	begun := managed(t, "file", "/d/full", resource.Parameters{"content": "1"})
	for _, r := range runAll(t, s, unmade, begun) {
		if r.Status != Failed {
			t.Errorf("%s: %s", r.ID, r.Status)
		}
	}
	l, err := ledger.Read(s.System)
	if err != nil {
		t.Fatal(err)
	}
	if l.Entry("s", unmade.ID()) != nil || l.Entry("s", begun.ID()) == nil {
		t.Errorf("the ledger has %v", l.Digests("s"))
	}
}
