package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// restarts is an executor that notes what it is sent, with a node that does not come back.
type restarts struct {
	sent  *[]string
	lost  string
	limit *int64
}

func (restarts) Close() error { return nil }

func (f restarts) Converge(_ context.Context, n site.Node, m converge.Manifest, each func(converge.Result)) (converge.Summary, error) {
	item, what := m.Items[0], "restart "
	if item.Remove {
		what = "forget "
	}
	*f.sent = append(*f.sent, what+n.Name)
	*f.limit = item.Parameters.IntOr("timeout", -1)
	result := converge.Result{ID: item.ID(), Status: converge.Changed}
	if n.Name == f.lost {
		result.Status, result.Message = converge.Failed, "it did not come back"
	}
	each(result)
	return converge.Summary{Protocol: converge.Protocol, Ledger: map[resource.ID]string{}}, nil
}

// Nodes restart one after the other in the order that is asked for, the first that fails is the last, and part of a
// second is no limit of 0, which would be none.
func TestReboot(t *testing.T) {
	location := journal.Location{Path: t.TempDir()}
	var sent []string
	var limit int64
	e := engine.Engine{Journals: location, Now: time.Now,
		Executor: func() rollout.Executor { return restarts{&sent, "b", &limit} }}
	s := site.Site{Name: "s", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}, {Name: "b", Address: "192.0.2.2"}, {Name: "c", Address: "192.0.2.3"}}}
	var back []string
	done := func(node string) { back = append(back, node) }
	m := e.Reboot(t.Context(), s, []string{"c", "x"}, time.Minute, engine.Settings{}, done)
	if !m.Failed() || !strings.Contains(m[0].Error(), `no node "x"`) || len(sent) > 0 {
		t.Errorf("a node that is not there: %v, %q was sent", m, sent)
	}
	m = e.Reboot(t.Context(), s, []string{"c", "c", "b", "a", "c"}, 500*time.Millisecond, engine.Settings{}, done)
	if want := []string{"restart c", "forget c", "restart b"}; !slices.Equal(sent, want) || !slices.Equal(back, []string{"c"}) {
		t.Errorf("%q was sent, want %q; back are %q", sent, want, back)
	}
	if len(m) != 1 || !strings.Contains(m[0].Error(), `node "b": it did not come back`) || !strings.Contains(m[0].Error(), "before: c.") {
		t.Errorf("a node that does not come back: %v", m)
	}
	if limit != 1 {
		t.Errorf("half a second is sent as %d s", limit)
	}
	store, err := location.OpenExisting(t.Context(), s.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	runs, err := store.Runs(t.Context(), 10)
	if err != nil || len(runs) != 1 || runs[0].Status != "failed" || runs[0].Operation != engine.Reboot ||
		!strings.HasPrefix(runs[0].Report, "restarted: 1 of 3 nodes\nnode \"b\"") {
		t.Errorf("the journal has %v, %v", runs, err)
	}
}
