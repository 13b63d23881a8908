package converge

import (
	"encoding/json"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// interrupted writes into the node's ledger that an apply of an item was started and not finished.
func interrupted(t testing.TB, s *types.Session, i Item, before string) {
	t.Helper()
	if _, err := s.MakeHome(); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Read(s.System)
	if err != nil {
		t.Fatal(err)
	}
	e := &ledger.Entry{Site: "s", Type: i.Type, Title: i.Title, Before: json.RawMessage(before), Run: "1", ID: i.ID()}
	if target := types.All[i.Type].Schema().Target; target != nil {
		e.Object, e.Aim = target(i.Resource)
	}
	l.Change(ledger.Record{Entry: e})
	if err := l.Compact(); err != nil {
		t.Fatal(err)
	}
}

// runAll applies items in one session, or tears the site down when there are none.
func runAll(t testing.TB, s *types.Session, items ...Item) []Result {
	t.Helper()
	var results []Result
	c := Manifest{Protocol: Protocol, Mode: Apply, Site: "s", Run: "2", Items: items, TearDown: len(items) == 0}
	summary := Run(t.Context(), s.System, c, func(r Result) { results = append(results, r) })
	if summary.Error != nil {
		t.Fatal(summary.Error.Message)
	}
	return results
}
