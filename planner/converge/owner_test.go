package converge

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A site on a node is that of one state. Another is refused before anything is touched, unless it takes the site over; what
// has no owner is Terraform's, which takes any site over.
func TestOwner(t *testing.T) {
	b := newBench(t)
	work := item("plain[a]", "value", "x")
	try := func(c Manifest, want Code) {
		t.Helper()
		before := b.tree()
		_, summary := b.session(t.Context(), c)
		var got Code
		if summary.Error != nil {
			got = summary.Error.Code
		}
		if got != want {
			t.Fatalf("owner %q, take over %q: got %q (%v), want %q", c.Owner, c.TakeOver, got, summary.Error, want)
		}
		if want != "" && len(b.tree()) != len(before) {
			t.Error("a refused session touched the node")
		}
	}
	apply := func(owner, takeOver string, want Code) {
		t.Helper()
		try(Manifest{Mode: Apply, Owner: owner, TakeOver: takeOver, Items: []Item{work}}, want)
	}
	apply("one", "", "")
	apply("one", "", "")
	apply("two", "", CodeOwner)
	apply("two", "three", CodeOwner)
	try(Manifest{Mode: Check, Owner: "two"}, CodeOwner)
	try(Manifest{Mode: Apply, Owner: "two", TearDown: true}, CodeOwner)
	apply("two", "one", "")
	apply("one", "", CodeOwner)
	apply("", "", "") // Terraform
	if owners := b.ledgerNow().Owners; len(owners) > 0 {
		t.Errorf("Terraform's site has the owners %v", owners)
	}
	apply("two", "", CodeOwner)
	apply("two", Terraform, "")
	try(Manifest{Mode: Apply, Site: "another", Owner: "one", Items: []Item{item("plain[b]", "value", "x")}}, "")
	try(Manifest{Mode: Apply, Owner: "two", TearDown: true}, "")
	if l := b.ledgerNow(); l.Owners["one"] != "" || l.Owners["another"] != "one" || l.Digests("one")[resource.ID("plain[a]")] != "" {
		t.Errorf("after the tear-down: %v", l.Owners)
	}
	apply("three", "", "") // nothing of the site was left
}
