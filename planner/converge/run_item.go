package converge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Mover is implemented by types whose parameters, and not only the title, say which object on the node a resource is (the path
// of a file). When it has moved, the engine undoes the old one before it touches the new one.
type Mover interface {
	// Moved reports whether r is about another object than the one that Capture described.
	Moved(before json.RawMessage, r resource.Resource) (bool, error)
}

// examine finds out what is to be done for the item at i. The result is final when that is nothing.
func (x *session) examine(ctx context.Context, i int) {
	j := x.jobs[i]
	x.start(j)
	switch {
	case j.mistake != nil:
		j.fail(j.mistake)
	case x.broken != nil:
		j.skip("not begun: the ledger cannot be written")
	case ctx.Err() != nil:
		j.skip("not begun: the session ended: " + context.Cause(ctx).Error())
	case x.applying() && x.blocker(j) != "":
		j.skip(fmt.Sprintf("not begun: %s, which it requires, failed or was skipped; mend that first", x.blocker(j)))
	case j.Remove:
		x.examineRemoval(j)
	case j.RefreshOnly:
		x.examineRefresh(j)
	default:
		x.examineState(ctx, j)
	}
}

// blocker returns a resource that the item requires and that failed or was skipped in this session, empty when there is none.
func (x *session) blocker(j *job) resource.ID {
	for _, id := range j.Requires {
		if x.bad[id] {
			return id
		}
	}
	return ""
}

func (x *session) examineState(ctx context.Context, j *job) {
	diffs, err := x.check(ctx, j)
	if err != nil {
		j.fail(err)
		return
	}
	j.diffs = diffs
	j.result.Differences = append(diffs[:len(diffs):len(diffs)], x.owed(j)...)
	switch {
	case !x.applying() || j.Noop():
		j.finish(Unchanged)
		if len(j.result.Differences) > 0 {
			j.finish(Differs)
		}
	case len(j.result.Differences) == 0:
		x.adopt(ctx, j)
	}
}

// adopt records a resource that is as desired: before slipway touched it, so that its undo leaves it alone, or in another form
// than the one recorded. Nothing was changed on the node, so the ledger may be saved later.
func (x *session) adopt(ctx context.Context, j *job) {
	if err := x.record(ctx, j, j.Digest); err != nil {
		j.fail(err)
		return
	}
	j.finish(Unchanged)
}

// record makes or updates the ledger's entry in memory. What was there before is captured once, when the entry is made.
func (x *session) record(ctx context.Context, j *job, digest string) error {
	e := x.ledger.entry(x.catalog.Site, j.id)
	if m, ok := j.typ.(Mover); ok && e != nil {
		moved, err := guarded(j.Type, func() (bool, error) { return m.Moved(e.Before, j.Resource) })
		if err != nil {
			return fmt.Errorf("what the ledger tells of it: %w", err)
		}
		if moved {
			if err := x.undo(ctx, e, j.typ); err != nil {
				return fmt.Errorf("undo it where it was before: %w", err)
			}
			e = nil
		}
	}
	if e != nil {
		if e.Digest != digest {
			e.Digest, e.Run, x.ledger.dirty = digest, x.catalog.Run, true
		}
		return nil
	}
	before, err := guarded(j.Type, func() (json.RawMessage, error) { return j.typ.Capture(ctx, x.sys, j.Resource) })
	if err != nil {
		return fmt.Errorf("take down what is there before: %w", err)
	}
	if len(before) == 0 {
		before = json.RawMessage("null")
	}
	if !json.Valid(before) {
		return fmt.Errorf("internal error in the type %q: what it captured is not JSON; please report it", j.Type)
	}
	x.ledger.Entries = append(x.ledger.Entries, &entry{
		Site: x.catalog.Site, Type: j.Type, Title: j.Title, Digest: digest, Before: before, Run: x.catalog.Run,
	})
	x.ledger.dirty = true
	return nil
}

// begin writes into the ledger what is about to be done, with the refreshes that will be owed for it: a crash afterwards can
// lose neither.
func (x *session) begin(ctx context.Context, jobs ...*job) {
	for _, j := range jobs {
		x.start(j)
		if err := x.record(ctx, j, ""); err != nil {
			j.fail(err)
			continue
		}
		x.notify(j)
	}
	if err := x.save(); err != nil {
		for _, j := range jobs {
			if !j.done {
				j.fail(fmt.Errorf("not begun: %w", err))
			}
		}
	}
}

// carryOut brings one item to its end, after examine.
func (x *session) carryOut(ctx context.Context, j *job) {
	switch {
	case j.done:
	case j.Remove:
		x.remove(ctx, j)
	case j.RefreshOnly || len(j.diffs) == 0:
		x.refresh(ctx, j)
	default:
		if x.begin(ctx, j); j.done {
			return
		}
		_, err := guarded(j.Type, func() (any, error) { return nil, j.typ.Apply(ctx, x.sys, j.Resource) })
		x.settle(ctx, j, err)
	}
}

// carryOutBatch applies items of one type that were all found to differ at once.
func (x *session) carryOutBatch(ctx context.Context, batcher Batcher, jobs []*job) {
	var differing, begun []*job
	for _, j := range jobs {
		if len(j.diffs) > 0 {
			differing = append(differing, j)
		} else {
			x.carryOut(ctx, j) // only a refresh is owed
		}
	}
	x.begin(ctx, differing...)
	var rs []resource.Resource
	for _, j := range differing {
		if !j.done {
			begun, rs = append(begun, j), append(rs, j.Resource)
		}
	}
	if len(begun) == 0 {
		return
	}
	log := &tail{limit: OutputLimit} // of all together: what commands print cannot be told apart
	x.sys.work.log = log
	errs, err := guarded(begun[0].Type, func() ([]error, error) { return batcher.ApplyBatch(ctx, x.sys, rs), nil })
	if err == nil && len(errs) != len(begun) {
		err = fmt.Errorf("internal error in the type %q: %d answers for %d resources; please report it", begun[0].Type, len(errs), len(begun))
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
		x.settle(ctx, j, itsErr)
	}
}

// settle ends an item that was applied: it checks whether that helped, and only then says so in the ledger.
func (x *session) settle(ctx context.Context, j *job, err error) {
	x.start(j)
	x.sys.Forget()
	if err == nil {
		x.sys.work.ran[j.id] = true
		err = x.verify(ctx, j)
	}
	if err != nil {
		j.fail(err)
		return
	}
	x.ledger.entry(x.catalog.Site, j.id).Digest = j.Digest
	x.ledger.dirty = true
	if len(x.owed(j)) > 0 {
		if !startedNow(j.diffs) {
			x.refresh(ctx, j)
			return
		}
		x.ledger.settle(x.catalog.Site, j.id)
	}
	if err := x.save(); err != nil {
		j.fail(fmt.Errorf("applied, but not recorded: %w", err))
		return
	}
	j.finish(Changed)
}

func (x *session) verify(ctx context.Context, j *job) error {
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
	return errors.New("applied, and still differs: " + strings.Join(names, ", ") + "; something else on the node may change it, or its parameters contradict each other")
}
