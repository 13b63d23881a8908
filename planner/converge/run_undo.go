package converge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// examineRemoval looks at an item that is to be undone. What the ledger does not know of this site is not slipway's to
// remove.
func (x *session) examineRemoval(j *operation) {
	if x.applying() {
		x.ledger.SetNoop(x.key(j), "")
	}
	if x.ledger.Entry(x.manifest.Site, j.id) == nil && len(x.ledger.Formers(x.key(j))) == 0 {
		j.finish(Unchanged)
		return
	}
	j.result.Differences = []types.Difference{{Parameter: "ensure", Is: "applied", Should: "undone"}}
	if !x.applying() {
		j.finish(Differs)
	}
}

// remove undoes what slipway did for an item.
func (x *session) remove(ctx context.Context, j *operation) {
	x.start(j)
	e := x.ledger.Entry(x.manifest.Site, j.id)
	if others := x.ledger.OfOthers(x.key(j)); e != nil && e.Shared && len(others) > 0 {
		if err := x.undoFormers(ctx, j); err != nil {
			j.fail(err)
			return
		}
		x.leaveTo(j, e, others)
		return
	}
	if err := x.protect(ctx, j); err != nil {
		j.fail(err)
		return
	}
	x.notify(j)
	x.notifyOthers(j)
	var err error
	if e != nil {
		err = x.undo(ctx, j, e)
	}
	if err == nil {
		err = x.undoFormers(ctx, j)
	}
	if err != nil {
		j.fail(err)
		return
	}
	if err := x.note(); err != nil {
		j.fail(fmt.Errorf("undone, but not recorded: %w", err))
		return
	}
	j.finish(Changed)
	if err := x.undoLeft(ctx, j); err != nil {
		j.fail(err)
	}
}

// undo brings back what an entry says was there before, and drops the entry from the ledger in memory. It is begun in
// the ledger on the disk first; a failure leaves the entry there, to be undone again. What was already gone is in the
// message of the operation's result.
func (x *session) undo(ctx context.Context, j *operation, e *ledger.Entry) error {
	x.sys.ID = e.ID
	defer func() { x.sys.ID = j.id }()
	if err := x.image(ctx, j.typ, e.Title, x.was(e.Key()), e.Before); err != nil {
		return err
	}
	var cutOff error
	missing := false
	if e.Digest == "" {
		_, cutOff = x.resume(ctx, e, j.typ, true)
	} else {
		missing = x.missing(ctx, j.typ, e)
		e.Digest, e.Run = "", x.manifest.Run
		x.ledger.Change(ledger.Record{Entry: e})
	}
	if err := x.save(); err != nil {
		return fmt.Errorf("not begun: %w", err)
	}
	_, err := guarded(e.Type, func() (any, error) { return nil, j.typ.Undo(ctx, x.sys, e.Title, e.Before) })
	j.result.Message, err = types.AsGone(err)
	switch {
	case missing && j.result.Message == "":
		j.result.Message = types.AlreadyGone
	case missing:
		j.result.Message = types.AlreadyGone + "; " + j.result.Message
	}
	x.sys.Forget()
	if err != nil {
		// What could not be completed matters only where it is in the way.
		return errors.Join(fmt.Errorf("undo: %w", err), cutOff)
	}
	gone := e.Key()
	x.ledger.Change(ledger.Record{Drop: &gone})
	return nil
}

// tearDown undoes everything that the site applied, in [ledger.UndoOrder]. What fails stays in the ledger, and the rest
// goes on.
func (x *session) tearDown(ctx context.Context) {
	var own []*ledger.Entry
	for _, e := range x.ledger.Entries {
		if e.Site == x.manifest.Site {
			own = append(own, e)
		}
	}
	seen := map[resource.ID]bool{}
	for _, e := range ledger.UndoOrder(own) {
		if x.ledger.Entry(e.Site, e.Owner()) != nil && e.Former || seen[e.Owner()] {
			continue // it goes with the resource that has left it
		}
		seen[e.Owner()] = true
		j := &operation{Item: Item{Remove: true}, id: e.Owner(), typ: x.types[e.Type]}
		j.Type, j.Title = e.Type, e.Title
		if j.typ == nil {
			j.wrong = fmt.Errorf("type %q is not known on the node; tear down with the slipway that applied it", e.Type)
		}
		x.operations = append(x.operations, j)
		x.examine(ctx, len(x.operations)-1)
		x.execute(ctx, j)
		x.report(j)
	}
	if !x.applying() {
		return
	}
	for id := range maps.Clone(x.ledger.Noop[x.manifest.Site]) {
		x.ledger.SetNoop(ledger.Key{Site: x.manifest.Site, ID: id}, "")
	}
	if len(x.ledger.Digests(x.manifest.Site)) > 0 {
		return
	}
	if len(x.ledger.Images) > 0 {
		x.ledger.Change(ledger.Record{Forget: x.manifest.Site})
	}
	x.ledger.SetUnchecked(x.manifest.Site, "")
	for _, k := range slices.Clone(x.ledger.Pending) {
		if k.Site == x.manifest.Site {
			x.ledger.RemovePending(k)
		}
	}
	if _, locked := x.held(); locked && x.unlockCommand() == "" { // nobody can ever undo it
		x.ledger.Change(ledger.Record{Unlock: x.manifest.Site})
		x.abandoned = true
	}
	x.tornDown = x.broken == nil
}

// there reports whether the object of an entry is on the node, where its type can say that.
func (x *session) there(ctx context.Context, typ types.Type, e *ledger.Entry) (bool, error) {
	f, ok := typ.(types.Finder)
	if !ok {
		return false, nil
	}
	return guarded(e.Type, func() (bool, error) { return f.There(ctx, x.sys, e.Title, e.Before) })
}

// missing reports that others have taken the object of an entry away since it was applied. One that cannot be looked
// for is left to Undo, which reports that.
func (x *session) missing(ctx context.Context, typ types.Type, e *ledger.Entry) bool {
	if !e.There {
		return false
	}
	there, err := x.there(ctx, typ, e)
	return err == nil && !there
}
