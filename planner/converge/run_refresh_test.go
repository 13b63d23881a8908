package converge

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestRefresh(t *testing.T) {
	conf := func(value string) Item { return item("plain[conf]", "value", value).notifies("svc[s]") }
	svc := item("svc[s]", "value", "up").requires("plain[conf]")

	t.Run("target in the same manifest, once", func(t *testing.T) {
		b := newBench(t)
		b.put("/fake/svc-s", "up")
		results, _ := b.converge(Apply, conf("1"), item("plain[other]", "value", "1").notifies("svc[s]"), svc)
		b.wantStatuses(results, "plain[conf] changed", "plain[other] changed", "svc[s] changed refreshed")
		b.wantLog("apply conf", "apply other", "refresh s")
		results, _ = b.converge(Apply, conf("1"), svc)
		b.wantStatuses(results, "plain[conf] unchanged", "svc[s] unchanged")
		results, _ = b.converge(Apply, conf("2"), svc.refreshOnly())
		b.wantStatuses(results, "plain[conf] changed", "svc[s] changed refreshed")
		results, _ = b.converge(Apply, conf("2"), svc.refreshOnly())
		b.wantStatuses(results, "plain[conf] unchanged", "svc[s] unchanged")
	})
	t.Run("target in a later manifest", func(t *testing.T) {
		b := newBench(t)
		b.put("/fake/svc-s", "up")
		b.converge(Apply, conf("1"))
		results, _ := b.converge(Check, svc)
		b.wantStatuses(results, "svc[s] differs")
		if want := []types.Difference{{Parameter: "refresh", Is: "pending", Should: "done"}}; !cmp.Equal(results[0].Differences, want) {
			t.Errorf("%v", results[0].Differences)
		}
		results, _ = b.converge(Apply, svc)
		b.wantStatuses(results, "svc[s] changed refreshed")
		if p := b.ledgerNow().Pending; len(p) > 0 || b.ledgerNow().Entry("one", "svc[s]").Digest != svc.Digest {
			t.Errorf("pending %v", p)
		}
	})
	t.Run("changed otherwise, and refreshed", func(t *testing.T) {
		b := newBench(t)
		results, _ := b.converge(Apply, conf("1"), svc)
		b.wantStatuses(results, "plain[conf] changed", "svc[s] changed refreshed")
		b.wantLog("apply conf", "apply s", "refresh s")
	})
	t.Run("started now, and not refreshed", func(t *testing.T) {
		b := newBench(t)
		b.types["svc"] = starting{b.types["svc"].(refreshed)}
		results, _ := b.converge(Apply, conf("1"), svc)
		b.wantStatuses(results, "plain[conf] changed", "svc[s] changed")
		b.wantLog("apply conf", "apply s")
		if p := b.ledgerNow().Pending; len(p) > 0 {
			t.Errorf("pending %v", p)
		}
	})
	t.Run("what is refreshed notifies", func(t *testing.T) {
		b := newBench(t)
		results, _ := b.converge(Apply, conf("1"), svc.notifies("svc[t]").refreshOnly(), item("svc[t]").refreshOnly())
		b.wantStatuses(results, "plain[conf] changed", "svc[s] changed refreshed", "svc[t] changed refreshed")
	})
	t.Run("a failed refresh stays owed", func(t *testing.T) {
		b := newBench(t)
		b.put("/fake/svc-s", "up")
		b.hook = func(stage, _ string) error {
			if stage == "refresh" {
				return errors.New("does not restart")
			}
			return nil
		}
		results, _ := b.converge(Apply, conf("1"), svc)
		b.wantStatuses(results, "plain[conf] changed", "svc[s] failed refreshed")
		b.hook = nil
		results, _ = b.converge(Apply, conf("1"), svc)
		b.wantStatuses(results, "plain[conf] unchanged", "svc[s] changed refreshed")
	})
	t.Run("a target with a pending refresh does not count as done", func(t *testing.T) {
		for name, changed := range map[string]Item{"in its form": svc, "in another form": item("svc[s]", "value", "up", "number", 2)} {
			b := newBench(t)
			b.converge(Apply, svc)
			ctx, cut := context.WithCancel(t.Context())
			b.hook = func(stage, _ string) error {
				if stage == "refresh" {
					cut()
					return ctx.Err()
				}
				return nil
			}
			_, summary := b.session(ctx, Manifest{Mode: Apply, Items: []Item{conf("1"), changed}})
			b.hook = nil
			prepared, after := b.converge(Prepare)
			for when, ledger := range map[string]map[resource.ID]string{"at the end": summary.Ledger, "later": after.Ledger} {
				if digest, ok := ledger["svc[s]"]; !ok || digest != "" || ledger["plain[conf]"] != conf("1").Digest {
					t.Errorf("%s, %s: the ledger has %q; the next plan would have no work", name, when, ledger)
				}
			}
			results, summary := b.converge(Apply, changed)
			b.wantStatuses(results, "svc[s] changed refreshed")
			b.wantLog("refresh s")
			if len(prepared) > 0 || summary.Ledger["svc[s]"] != changed.Digest {
				t.Errorf("%s: after the refresh the ledger has %q", name, summary.Ledger)
			}
		}
	})
	t.Run("a failed notifier refreshes nothing", func(t *testing.T) {
		b := newBench(t)
		b.put("/fake/svc-s", "up")
		broken := item("plain[conf]", "value", "1", "fail", "no").notifies("svc[s]")
		results, _ := b.converge(Apply, broken, item("svc[s]", "value", "up"))
		b.wantStatuses(results, "plain[conf] failed", "svc[s] unchanged")
		results, _ = b.converge(Apply, conf("1"), svc)
		b.wantStatuses(results, "plain[conf] changed", "svc[s] changed refreshed")
	})
	t.Run("what cannot be refreshed is not owed one", func(t *testing.T) {
		b := newBench(t)
		b.converge(Apply, item("plain[a]", "value", "1").notifies("plain[b]", "nonsense", "unknown[x]"))
		if p := b.ledgerNow().Pending; len(p) > 0 {
			t.Errorf("pending %v", p)
		}
	})
	t.Run("removal forgets it", func(t *testing.T) {
		b := newBench(t)
		b.converge(Apply, item("svc[s]", "value", "up"))
		b.converge(Apply, conf("1"))
		b.converge(Apply, removal("svc[s]"))
		if p := b.ledgerNow().Pending; len(p) > 0 {
			t.Errorf("pending %v", p)
		}
	})
}

// starting is a service that is stopped until it is applied.
type starting struct{ refreshed }

func (f starting) Check(ctx context.Context, s *types.Session, r resource.Resource) ([]types.Difference, error) {
	diffs, err := f.refreshed.Check(ctx, s, r)
	for i := range diffs {
		diffs[i].Parameter = "ensure"
	}
	return diffs, err
}
