package converge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A session whose lease was overtaken on the node is refused before anything is touched; no new lease ever is.
func TestFence(t *testing.T) {
	b := newBench(t)
	tries := 0
	try := func(c Manifest, line string, number int64, refused ...string) {
		t.Helper()
		if line != "" {
			c.Fence = ledger.Fence{Line: line, Number: number, Holder: fmt.Sprintf("run %s%d", line, number)}
		}
		tries++
		if c.Mode != Prepare && !c.TearDown {
			c.Items = []Item{item("plain[a]", "value", fmt.Sprint(tries))}
		}
		before := fmt.Sprint(b.tree())
		results, summary := b.session(t.Context(), c)
		if len(refused) == 0 {
			if summary.Error != nil {
				t.Errorf("%s %d: %v", line, number, summary.Error)
			}
			return
		}
		if summary.Error == nil || summary.Error.Code != CodeFenced || len(results) > 0 {
			t.Errorf("%s %d: %v, %v: want a refusal", line, number, results, summary.Error)
			return
		}
		for _, text := range append(refused, "another controller took over", fmt.Sprintf("run %s%d", line, number)) {
			if !strings.Contains(summary.Error.Message, text) {
				t.Errorf("%s %d: no %q in %q", line, number, text, summary.Error.Message)
			}
		}
		if fmt.Sprint(b.tree()) != before {
			t.Errorf("%s %d: a refused session touched the node", line, number)
		}
	}
	apply := func(line string, number int64, refused ...string) {
		t.Helper()
		try(Manifest{Mode: Apply}, line, number, refused...)
	}
	apply("", 0) // of an older controller
	apply("A", 5)
	apply("A", 5)
	apply("A", 7)
	apply("A", 5, "run A7", "runs unlock one --fence 7")
	for _, mode := range []Mode{Prepare, Check} {
		try(Manifest{Mode: mode}, "A", 6, "run A7")
	}
	try(Manifest{Mode: Apply, TearDown: true}, "A", 6, "run A7")
	try(Manifest{Mode: Check}, "A", 8) // changes nothing, so it overtakes nobody
	apply("A", 7)
	apply("B", 1) // the journal was deleted
	apply("A", 7, "run B1")
	apply("B", 1)
	apply("A", 8) // another checkout with a journal of its own, after all
	apply("B", 1, "run A8")
	apply("B", 2)
	try(Manifest{Mode: Apply, Site: "another"}, "A", 1)
	apply("", 0)
	if f := b.ledgerNow().Fences["one"]; len(f) != 2 || f[0].Number != 8 || f[1].Number != 2 {
		t.Errorf("the ledger has %+v", f)
	}
	for i := range int64(100) {
		apply(fmt.Sprint("job", i), 1)
	}
	if f := b.ledgerNow().Fences["one"]; len(f) > 20 || f[len(f)-1].Line != "job99" {
		t.Errorf("after a hundred journals the ledger has %+v", f)
	}
	try(Manifest{Mode: Apply, TearDown: true}, "job99", 1)
}

// A session that is killed leaves its lease in the log.
func TestFenceIsInTheLog(t *testing.T) {
	b := newBench(t)
	l := b.ledgerNow()
	if _, err := b.MakeHome(); err != nil {
		t.Fatal(err)
	}
	f := ledger.Fence{Line: "A", Number: 1763960000000, Holder: "run 1"}
	l.Change(ledger.Record{Fence: &ledger.SiteFence{Site: "one", Fence: f}})
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	if now := b.ledgerNow(); !now.IsLast("one", f) {
		t.Errorf("%+v", now.Fences)
	}
	_ = l.Close()
}

// A node on which nothing was done yet has no ledger after it is prepared for a run with actions.
func TestPrepareLeavesNoFence(t *testing.T) {
	b := newBench(t)
	if _, err := b.MakeHome(); err != nil {
		t.Fatal(err)
	}
	_, summary := b.session(t.Context(), Manifest{Mode: Prepare, Begins: []resource.ID{"exec[a]"},
		Fence: ledger.Fence{Line: "A", Number: 1, Holder: "run A1"}})
	if tree := fmt.Sprint(b.tree()); summary.Error != nil || strings.Contains(tree, "ledger") {
		t.Errorf("%v\n%s", summary.Error, tree)
	}
}
