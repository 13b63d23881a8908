package converge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// A resource that keeps its title may get another object, or do something else to it. Where both can be there
// (types.Mover), its entry becomes a former one in the ledger until the new object is there, and is undone then: a new
// one that fails takes nothing away. Otherwise, and where another resource is to have the object, it is undone first.

// recognise brings the aim of an entry that an earlier slipway wrote into its present form.
func (x *session) recognise(e *ledger.Entry, typ types.Type) error {
	a, ok := typ.(types.Aimer)
	if !ok {
		return nil
	}
	aim, err := guarded(e.Type, func() (string, error) { return a.Aim(x.sys, e.Title, e.Aim, e.Before) })
	if err == nil && aim != e.Aim {
		e.Aim = aim
		x.ledger.Change(ledger.Record{Entry: e})
	}
	return err
}

// undoFormer undoes what was done for the resource when it looked after another object, or had another aim, or leaves
// that to undoFormers.
func (x *session) undoFormer(ctx context.Context, j *operation) error {
	leave := x.ledger.Formers(x.key(j)) // of sessions in which the new object failed
	if e := x.ledger.Entry(x.manifest.Site, j.id); e != nil {
		if err := x.recognise(e, j.typ); err != nil {
			return err
		}
		if x.moves(j) || e.Aim != j.aim {
			leave = slices.Insert(leave, 0, e)
		}
	}
	if len(leave) == 0 {
		return nil
	}
	if err := x.protect(ctx, j); err != nil {
		return err
	}
	is := describe(leave[0].Object, leave[0].Aim)
	for _, e := range leave {
		if !j.followed && x.beside(j, e) {
			if !e.Former {
				x.setFormer(e, true)
			}
			continue
		}
		if err := x.undo(ctx, j, e); err != nil {
			return fmt.Errorf("%s, which it looked after before: %w", describe(e.Object, e.Aim), err)
		}
		j.undone = describe(e.Object, e.Aim)
	}
	j.moved = []types.Difference{{Parameter: "object", Is: is, Should: describe(j.object, j.aim)}}
	return nil
}

// describe names an object, with its aim where it has one.
func describe(name, aim string) string { return strings.TrimSpace(name + " " + aim) }

// beside reports whether what an entry is about can stay until the item is applied.
func (x *session) beside(j *operation, e *ledger.Entry) bool {
	m, ok := j.typ.(types.Mover)
	if !ok || e.Shared && len(x.ledger.OfOthers(e.Key())) > 0 {
		return false
	}
	moved := x.resolved(object{e.Type, e.Object}) != x.resolved(object{j.Type, j.object})
	fits, err := guarded(j.Type, func() (bool, error) { return m.Beside(x.sys, j.Resource, e.Before, moved), nil })
	return err == nil && fits
}

// setFormer makes an entry a former one of its resource, or the entry of it again.
func (x *session) setFormer(e *ledger.Entry, former bool) {
	was, now := e.Key(), *e
	now.Former = former
	now.Identify()
	image := x.was(was)
	image.Key = now.Key()
	x.imageOfLedger(image)
	x.ledger.Change(ledger.Record{Entry: &now, Was: &was})
}

// takeBack makes a former entry that of an item again which returns to it: the object that it was to have failed.
func (x *session) takeBack(j *operation) {
	for _, f := range x.ledger.Formers(x.key(j)) {
		if f.Aim != j.aim || x.resolved(object{f.Type, f.Object}) != x.resolved(object{j.Type, j.object}) {
			continue
		}
		if e := x.ledger.Entry(x.manifest.Site, j.id); e != nil {
			x.setFormer(e, true)
		}
		x.setFormer(f, false)
		return
	}
}

// undoFormers undoes what the item looked after until now: what it is to look after is there.
func (x *session) undoFormers(ctx context.Context, j *operation) error {
	if j.waitsForRemovals() {
		return nil // the last of them comes back to it
	}
	for _, e := range x.ledger.Formers(x.key(j)) {
		if err := x.protect(ctx, j); err != nil {
			return err
		}
		if err := x.undo(ctx, j, e); err != nil {
			return fmt.Errorf("%s, which it looked after before: %w", describe(e.Object, e.Aim), err)
		}
	}
	return nil
}

// undoFormerFirst lets the resources whose object another one is to have leave it before anything else is done.
func (x *session) undoFormerFirst(ctx context.Context) {
	for _, j := range x.operations {
		if !j.followed || j.Remove || j.wrong != nil || ctx.Err() != nil {
			continue
		}
		x.start(j)
		if err := x.undoFormer(ctx, j); err != nil {
			j.fail(err)
		}
	}
}

// occupied returns an error when what the item is to look after was not left by the resource that had it.
func (x *session) occupied(j *operation) error {
	if j.follows == nil {
		return nil
	}
	has := x.ledger.Formers(x.key(j.follows))
	if e := x.ledger.Entry(x.manifest.Site, j.follows.id); e != nil {
		has = append(has, e)
	}
	if !slices.ContainsFunc(has, func(e *ledger.Entry) bool { return e.Object == j.object }) {
		return nil
	}
	return fmt.Errorf("%s still looks after %s; fix that first", j.follows.id, j.object)
}
