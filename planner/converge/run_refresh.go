package converge

import (
	"context"
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A notification is written into the ledger before the change that causes it, and taken out after the refresh. So a
// refresh that a crash or a cut session left over is a difference of its target, and done at the next apply.

// refreshParameter names the difference of a resource that was notified and not refreshed.
const refreshParameter = "refresh"

// owed returns the refresh that is to be done now as a difference.
func (x *session) owed(j *operation) []types.Difference {
	if _, ok := j.typ.(types.Refresher); !ok || !x.ledger.IsPending(x.key(j)) || x.applying() && x.notifierFailed(j) {
		return nil
	}
	return []types.Difference{{Parameter: refreshParameter, Is: "pending", Should: "done"}}
}

// notifierFailed reports whether something that notifies the item failed in this session. The refresh then waits until
// that is fixed.
func (x *session) notifierFailed(j *operation) bool {
	for _, other := range x.operations {
		if !x.failed[other.id] {
			continue
		}
		for _, id := range other.Notifies {
			if id == j.id {
				return true
			}
		}
	}
	return false
}

// notify marks what the item notifies as owing a refresh.
func (x *session) notify(j *operation) {
	for _, id := range j.Notifies {
		name, _, err := resource.ParseID(string(id))
		if err != nil {
			continue // no such resource can be in any manifest
		}
		target := ledger.Key{Site: x.manifest.Site, ID: id}
		if _, ok := x.types[name].(types.Refresher); ok && !x.ledger.IsPending(target) {
			x.imageOfLedger(ledger.Image{Key: target, Run: x.manifest.Run, Pending: true})
			x.ledger.AddPending(target)
		}
	}
}

// examineRefresh looks at an item that is in the manifest only because others notify it.
func (x *session) examineRefresh(j *operation) {
	j.result.Differences = x.owed(j)
	switch {
	case len(j.result.Differences) == 0:
		j.finish(Unchanged)
	case !x.applying() || j.Noop():
		j.finish(Differs)
	}
}

// refresh does the refresh that an item owes, and notifies in turn, as a resource that was refreshed has changed.
func (x *session) refresh(ctx context.Context, j *operation) {
	x.start(j)
	refresher, ok := j.typ.(types.Refresher)
	if !ok {
		j.fail(fmt.Errorf("internal error: the type %q cannot be notified; please report it", j.Type))
		return
	}
	if err := x.protect(ctx, j); err != nil {
		j.fail(err)
		return
	}
	was := x.was(x.key(j))
	if !j.RefreshOnly {
		if err := x.record(ctx, j, j.Digest); err != nil {
			j.fail(err)
			return
		}
	}
	if err := x.imageOfRefreshed(ctx, j, was); err != nil {
		j.fail(err)
		return
	}
	x.notify(j)
	if err := x.save(); err != nil {
		j.fail(fmt.Errorf("not refreshed: %w", err))
		return
	}
	_, err := guarded(j.Type, func() (any, error) { return nil, refresher.Refresh(ctx, x.sys, j.Resource) })
	x.sys.Forget()
	j.result.Refreshed = true
	if err != nil {
		j.fail(fmt.Errorf("refresh: %w", err))
		return
	}
	x.ledger.RemovePending(x.key(j))
	if err := x.save(); err != nil {
		j.fail(fmt.Errorf("refreshed, but not recorded: %w", err))
		return
	}
	j.finish(Changed)
}
