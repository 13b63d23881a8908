package converge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// examine finds out what is to be done for the item at i. The result is final when that is nothing.
func (x *session) examine(ctx context.Context, i int) {
	j := x.operations[i]
	x.start(j)
	switch {
	case j.done:
	case x.waits(i):
		j.finish(Deferred)
	case j.wrong != nil:
		j.fail(j.wrong)
	case x.broken != nil:
		j.skip("not begun: the ledger cannot be written")
	case ctx.Err() != nil:
		j.skip("not begun: the session ended: " + context.Cause(ctx).Error())
	case x.applying() && x.blocker(j) != "":
		j.skip(fmt.Sprintf("not begun: %s, which it requires, failed or was skipped; fix that first", x.blocker(j)))
	case x.restarting:
		j.finish(Restarting)
	case j.Remove:
		x.examineRemoval(j)
	case j.RefreshOnly:
		x.examineRefresh(j)
	default:
		x.examineState(ctx, j)
	}
}

// blocker returns a resource that the item requires and that failed or was skipped in this session, empty when there is
// none.
func (x *session) blocker(j *operation) resource.ID {
	for _, id := range j.Requires {
		if x.failed[id] {
			return id
		}
	}
	return ""
}

func (x *session) examineState(ctx context.Context, j *operation) {
	if x.applying() && !j.Noop() {
		err := errors.Join(x.occupied(j), x.shared(j))
		if err == nil {
			err = x.undoFormer(ctx, j)
		}
		if e := x.ledger.Entry(x.manifest.Site, j.id); err == nil && e != nil && e.Digest == "" {
			var completed []types.Difference
			completed, err = x.resume(ctx, e, j.typ, false)
			j.moved = append(j.moved, completed...)
		}
		if err != nil {
			j.fail(err)
			return
		}
	}
	if err := x.complete(ctx, j); err != nil {
		j.fail(err)
		return
	}
	if j.unseen {
		known, err := x.observe(ctx, j)
		if err != nil {
			j.fail(err)
			return
		}
		if !known {
			j.finish(Unchanged)
			return
		}
	}
	diffs, err := x.check(ctx, j)
	if err != nil {
		j.fail(err)
		return
	}
	if err := x.contradicted(j); err != nil {
		j.fail(err)
		return
	}
	j.diffs, j.covers = diffs, len(diffs) > 0 && x.coversSecret(j)
	j.result.Differences = slices.Concat(j.moved, diffs, x.owed(j))
	if differ, ok := j.typ.(types.Differ); ok && len(diffs) > 0 && !j.Sensitive() && !j.covers {
		diff := func() (string, error) { return differ.Diff(ctx, x.sys, j.Resource) }
		if j.result.Diff, err = guarded(j.Type, diff); err != nil {
			j.fail(err)
			return
		}
	}
	switch {
	case !x.applying() || j.Noop():
		if x.applying() {
			x.ledger.SetNoop(x.key(j), j.Digest)
		}
		j.finish(Unchanged)
		if len(j.result.Differences) > 0 {
			j.finish(Differs)
		}
	case len(diffs)+len(x.owed(j)) == 0:
		x.recordUnchanged(ctx, j)
	}
}

// resume completes what was cut off when the resource of an entry was applied or undone. undo says that it is to be
// undone.
func (x *session) resume(ctx context.Context, e *ledger.Entry, typ types.Type, undo bool) ([]types.Difference, error) {
	r, ok := typ.(types.Resumer)
	if !ok {
		return nil, nil
	}
	completed, err := guarded(e.Type, func() ([]types.Difference, error) { return r.Resume(ctx, x.sys, e.Before, undo) })
	x.sys.Forget()
	if err != nil {
		return nil, fmt.Errorf("complete what was cut off: %w", err)
	}
	return completed, nil
}

// complete adds to the item's resource what an earlier form gave and this one does not, with the values to which that
// returns. So it is checked, applied and verified as any other difference.
func (x *session) complete(ctx context.Context, j *operation) error {
	e := x.ledger.Entry(x.manifest.Site, j.id)
	if _, ok := j.typ.(types.Releaser); !ok || e == nil || e.Digest == j.Digest || x.moves(j) || e.Aim != j.aim {
		return nil
	}
	returning, _, err := x.released(ctx, j, j.Resource, e.Before)
	if err != nil {
		return err
	}
	given := j.Resource
	j.given = &given
	j.Parameters = maps.Clone(j.Parameters)
	if j.Parameters == nil {
		j.Parameters = resource.Parameters{}
	}
	maps.Copy(j.Parameters, returning)
	return nil
}

// released asks the type what returns when an item has the form r.
func (x *session) released(
	ctx context.Context, j *operation, r resource.Resource, before json.RawMessage,
) (returning resource.Parameters, rest json.RawMessage, err error) {
	releaser, ok := j.typ.(types.Releaser)
	if !ok {
		return nil, before, nil // nothing returns
	}
	_, err = guarded(j.Type, func() (any, error) {
		returning, rest, err = releaser.Release(ctx, x.sys, r, before)
		return nil, err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("find out what returns: %w", err)
	}
	return returning, rest, nil
}

// recordApplied writes into an item's entry, in memory, that it is applied, and forgets what was there before of what
// has returned.
func (x *session) recordApplied(ctx context.Context, j *operation, e *ledger.Entry) error {
	if j.given != nil {
		_, rest, err := x.released(ctx, j, *j.given, e.Before)
		if err != nil {
			return err
		}
		e.Before = rest
	}
	e.Digest, e.Run, e.Object, e.Guard, e.Wants = j.Digest, x.manifest.Run, j.object, j.Guard(), j.wants()
	e.Sensitive = j.Sensitive()
	x.find(ctx, j, e)
	if err := x.recordSecrets(j, e); err != nil {
		return err
	}
	x.ledger.Change(ledger.Record{Entry: e})
	return nil
}

// recordUnchanged records a resource that is as desired: before slipway touched it, so that its undo leaves it alone,
// or in another form than the one recorded. Nothing was changed on the node, so the ledger may be saved later, unless
// the resource has left another object or was completed.
func (x *session) recordUnchanged(ctx context.Context, j *operation) {
	was := x.was(x.key(j))
	if err := x.record(ctx, j, j.Digest); err != nil {
		j.fail(err)
		return
	}
	if was.Entry == nil || was.Entry.Digest != j.Digest {
		x.imageOfLedger(was)
	}
	if err := x.undoFormers(ctx, j); err != nil {
		j.fail(err)
		return
	}
	switch {
	case j.moved != nil:
	case x.sys.Ran[j.id]: // the session that was lost did it
		j.finish(Changed)
		return
	default:
		j.finish(Unchanged)
		return
	}
	x.notify(j)
	if err := x.note(); err != nil {
		j.fail(fmt.Errorf("applied, but not recorded: %w", err))
		return
	}
	j.finish(Changed)
}

// record makes or updates the ledger's entry in memory. What was there before is captured once, when the entry is made,
// and widened when the resource has another form and before every Apply: a thing that was missing may have come since,
// from others.
func (x *session) record(ctx context.Context, j *operation, digest string) error {
	x.ledger.SetNoop(x.key(j), "")
	e := x.ledger.Entry(x.manifest.Site, j.id)
	if e == nil {
		before, shared := x.sharedBefore(j)
		if !shared {
			var err error
			if before, err = x.captured(ctx, j, nil); err != nil {
				return err
			}
		}
		e = &ledger.Entry{
			Site: x.manifest.Site, Type: j.Type, Title: j.Title, Object: j.object, Aim: j.aim,
			Digest: digest, Before: before, Run: x.manifest.Run, Guard: j.Guard(), Shared: shared, Wants: j.wants(),
			Requires: slices.Sorted(slices.Values(j.Requires)), Sensitive: j.Sensitive(), ID: j.id,
		}
		if digest != "" {
			x.find(ctx, j, e)
			if err := x.recordSecrets(j, e); err != nil {
				return err
			}
		}
		x.ledger.Change(ledger.Record{Entry: e})
		return nil
	}
	if e.Digest != j.Digest || digest == "" {
		known := e.Before
		if digest == "" && e.Digest == j.Digest && removes(j.Resource) {
			known = nil // what is to be gone came back: nobody has kept it yet
		}
		before, err := x.captured(ctx, j, known)
		if err != nil {
			return err
		}
		if !bytes.Equal(before, e.Before) {
			e.Before = before
			x.ledger.Change(ledger.Record{Entry: e})
		}
	}
	if all := ledger.Union(e.Requires, j.Requires); len(all) > len(e.Requires) {
		e.Requires = all
		x.ledger.Change(ledger.Record{Entry: e})
	}
	sensitive := e.Secret() || j.Sensitive()
	switch {
	case e.Digest == digest && (digest != "" || e.Sensitive == sensitive):
		return nil
	case digest == j.Digest:
		return x.recordApplied(ctx, j, e)
	}
	e.Digest, e.Run, e.Sensitive = digest, x.manifest.Run, sensitive
	x.ledger.Change(ledger.Record{Entry: e})
	return nil
}

// find notes whether the object of an item, which is applied, is on the node.
func (x *session) find(ctx context.Context, j *operation, e *ledger.Entry) {
	there, err := x.there(ctx, j.typ, e)
	e.There = err == nil && there
}

// removes reports whether a resource is about something that is to be gone.
func removes(r resource.Resource) bool {
	ensure := r.Parameters.String("ensure")
	return ensure == "absent" || ensure == "purged"
}

// captured asks the type what is there before, or, when that is known, to widen it.
func (x *session) captured(ctx context.Context, j *operation, known json.RawMessage) (json.RawMessage, error) {
	capture := func() (json.RawMessage, error) { return j.typ.Capture(ctx, x.sys, j.Resource) }
	if known != nil {
		w, ok := j.typ.(types.Widener)
		if !ok {
			return known, nil
		}
		r := j.Resource
		if j.given != nil {
			r = *j.given // what returns is known already
		}
		capture = func() (json.RawMessage, error) { return w.Widen(ctx, x.sys, r, known) }
	}
	before, err := guarded(j.Type, capture)
	if c := (types.ContradictionError{}); errors.As(err, &c) {
		return nil, err
	}
	if err != nil {
		return nil, notRecorded(cmp.Or(j.object, j.Title), err)
	}
	if len(before) == 0 {
		before = json.RawMessage("null")
	}
	if !json.Valid(before) {
		return nil, fmt.Errorf("internal error in the type %q: what it captured is not JSON; please report it", j.Type)
	}
	return before, nil
}

// notRecorded is the error of an object that is not changed, because what is there now cannot be recorded.
func notRecorded(object string, err error) error {
	return fmt.Errorf("%s was not changed, because what is there now cannot be recorded, which undo needs; "+
		"resolve this, then apply again: %w", object, err)
}

// recordStart writes into the ledger what is about to be done, with the refreshes that will be owed for it: a crash
// afterwards can lose neither.
func (x *session) recordStart(ctx context.Context, operations ...*operation) {
	for _, j := range operations {
		x.start(j)
		if err := x.protect(ctx, j); err != nil {
			j.fail(err)
			continue
		}
		was := x.was(x.key(j))
		err := x.prepare(ctx, j)
		if err == nil {
			err = x.record(ctx, j, "")
		}
		if err == nil {
			err = x.image(ctx, j.typ, j.Title, was, x.ledger.Entry(x.manifest.Site, j.id).Before)
		}
		if err != nil {
			j.fail(err)
			continue
		}
		x.notify(j)
	}
	if err := x.save(); err != nil {
		for _, j := range operations {
			if !j.done {
				j.fail(fmt.Errorf("not begun: %w", err))
			}
		}
	}
}

// prepare has the type of an item fetch what its Apply needs.
func (x *session) prepare(ctx context.Context, j *operation) error {
	p, ok := j.typ.(types.Preparer)
	if !ok {
		return nil
	}
	_, err := guarded(j.Type, func() (any, error) { return nil, p.Prepare(ctx, x.sys, j.Resource) })
	return err
}

// execute brings one item to its end, after examine.
func (x *session) execute(ctx context.Context, j *operation) {
	switch {
	case j.done:
	case j.Remove:
		x.remove(ctx, j)
	case j.RefreshOnly || len(j.diffs) == 0:
		x.refresh(ctx, j)
	default:
		if x.recordStart(ctx, j); j.done {
			return
		}
		_, err := guarded(j.Type, func() (any, error) { return nil, j.typ.Apply(ctx, x.sys, j.Resource) })
		x.conclude(ctx, j, err)
	}
}

// executeBatch applies items of one type that were all found to differ at once.
func (x *session) executeBatch(ctx context.Context, batcher types.Batcher, operations []*operation) {
	var differing, begun []*operation
	for _, j := range operations {
		if len(j.diffs) > 0 {
			differing = append(differing, j)
		} else {
			x.execute(ctx, j) // only a refresh is owed
		}
	}
	x.recordStart(ctx, differing...)
	var rs []resource.Resource
	for _, j := range differing {
		if !j.done {
			begun, rs = append(begun, j), append(rs, j.Resource)
		}
	}
	if len(begun) == 0 {
		return
	}
	log := &system.Tail{Limit: system.OutputLimit} // of all together: what commands print cannot be separated
	x.sys.Log = log
	x.show(begun...)
	errs, err := guarded(begun[0].Type, func() ([]error, error) { return batcher.ApplyBatch(ctx, x.sys, rs), nil })
	if err == nil && len(errs) != len(begun) {
		err = fmt.Errorf("internal error in the type %q: %d answers for %d resources; please report it",
			begun[0].Type, len(errs), len(begun))
	}
	secret := false
	for _, j := range begun {
		secret = secret || j.Sensitive()
	}
	for i, j := range begun {
		if !secret {
			j.log.WriteString(log.String())
		}
		itsErr := err
		if err == nil {
			itsErr = errs[i]
		}
		x.conclude(ctx, j, itsErr)
	}
}

// conclude ends an item that was applied: it checks whether that helped, and only then says so in the ledger.
func (x *session) conclude(ctx context.Context, j *operation, err error) {
	x.start(j)
	x.sys.Forget()
	if errors.Is(err, types.ErrRestarting) {
		x.restarting = true
		j.finish(Restarting)
		return
	}
	if err == nil {
		x.sys.Ran[j.id] = true
		err = x.verify(ctx, j)
	}
	if err != nil {
		x.dropUnmade(j)
		j.fail(err)
		return
	}
	err = x.recordApplied(ctx, j, x.ledger.Entry(x.manifest.Site, j.id))
	if err == nil {
		err = x.undoFormers(ctx, j)
	}
	if err != nil {
		j.fail(err)
		return
	}
	if len(x.owed(j)) > 0 {
		if !types.Started(j.diffs) {
			x.refresh(ctx, j)
			return
		}
		x.ledger.RemovePending(x.key(j))
	}
	write := x.note
	_, refreshes := j.typ.(types.Refresher)
	_, acts := j.typ.(types.Acting)
	if refreshes || acts {
		write = x.save // that a command has run, no check of the node shows
	}
	if err := write(); err != nil {
		j.fail(fmt.Errorf("applied, but not recorded: %w", err))
		return
	}
	j.finish(Changed)
}

// dropUnmade drops the entry of a file that could not be made: nothing was there before, and nothing is there now, so
// the next plan makes it.
func (x *session) dropUnmade(j *operation) {
	if e := x.ledger.Entry(x.manifest.Site, j.id); e != nil && e.Type == "file" && types.Unmade(x.sys, e.Before) {
		key := e.Key()
		x.ledger.Change(ledger.Record{Drop: &key})
	}
}

func (x *session) verify(ctx context.Context, j *operation) error {
	left, err := x.check(ctx, j)
	if err != nil {
		return fmt.Errorf("applied, and cannot be checked: %w", err)
	}
	if len(left) == 0 {
		return nil
	}
	names := make([]string, len(left))
	for i, d := range left {
		names[i] = d.Parameter
	}
	return errors.New("applied, and still differs: " +
		strings.Join(names, ", ") + "; something else on the node may change it, or its parameters contradict each other")
}
