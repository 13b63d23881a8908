package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// A run that was killed between "this batch is put back" and the end of its group leaves nodes as they are. The refresh,
// which shows in the next plan, and the next run say so; a run that came to its end owes nothing.
func TestARestoreThatIsOwed(t *testing.T) {
	const text = "batch 1 of 3 did not succeed; what this run changed is put back on a"
	for name, over := range map[string]bool{"killed": false, "its group ended": true} {
		t.Run(name, func(t *testing.T) {
			at := journal.Location{Path: t.TempDir()}
			store, err := at.Open(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close() //nolint:errcheck // nothing follows
			killed, err := store.Start(t.Context(), journal.Run{ID: "killed", Site: "s", Operation: "update"})
			if err != nil {
				t.Fatal(err)
			}
			events := []journal.Event{{Kind: journal.Note, Action: "restore", Group: "g", Message: text}}
			if over {
				events = append(events, journal.Event{Kind: journal.GroupFinished, Group: "g"})
			}
			if err := killed.Record(t.Context(), events...); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Unlock(t.Context(), "s", true, 0); err != nil {
				t.Fatal(err)
			}
			f := nodes{applied: func() {}, ledgers: map[string]map[resource.ID]string{"a": {}}}
			e := &engine.Engine{Journals: at, Executor: func() rollout.Executor { return f }, Caller: f, Now: time.Now}
			says := func(m engine.Messages) bool {
				return slices.ContainsFunc(m, func(e error) bool {
					return strings.Contains(e.Error(), "killed") && strings.Contains(e.Error(), `group "g": `+text)
				})
			}
			if _, _, m := e.Adopt(t.Context(), "s", engine.State{}); says(m) == over {
				t.Errorf("the refresh says %v", m)
			}
			wanted := site.Site{Name: "s", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}}}
			if out := e.Apply(t.Context(), nil, wanted, engine.Run{}); says(out.Messages) == over || out.Failed() {
				t.Errorf("the next run says %v", out.Messages)
			}
			if _, _, m := e.Adopt(t.Context(), "s", engine.State{}); says(m) {
				t.Errorf("behind the next run, the refresh says %v", m)
			}
		})
	}
}
