package converge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A run may be taken back on a node. For that, the ledger keeps an image of each thing that the run changes: of what
// is on the node, as the type's Undo would bring it back, and of the ledger's entry. An image is on the disk before
// the change is begun, and stays until it was restored, or until another run of the site changes the node.

// imaging reports whether what the session changes may be taken back: all of it, or what a guard covers.
func (x *session) imaging() bool { return x.manifest.Images || x.guard != nil }

// image takes an image of what an entry is about to change: was has what the ledger said of it before this session
// changed that, and before is what was there before slipway.
func (x *session) image(
	ctx context.Context, typ types.Type, title string, was ledger.Image, before json.RawMessage,
) (err error) {
	if !x.imaging() {
		return nil
	}
	if imager, ok := typ.(types.Imager); ok {
		x.sys.Image = fmt.Sprintf("%s %d", x.manifest.Run, len(x.ledger.Images))
		defer func() { x.sys.Image = "" }()
		take := func() (json.RawMessage, error) { return imager.Image(ctx, x.sys, title, before) }
		if was.Before, err = guarded(typ.Schema().Type, take); err != nil {
			return notRecorded(title, err)
		}
	}
	was.Stays = len(was.Before) == 0
	x.ledger.Change(ledger.Record{Image: &was})
	return nil
}

// imageOfRefreshed takes an image of an item that is about to be refreshed, and may have no entry.
func (x *session) imageOfRefreshed(ctx context.Context, j *operation, was ledger.Image) error {
	if !x.imaging() {
		return nil
	}
	if e := x.ledger.Entry(x.manifest.Site, j.id); e != nil {
		return x.image(ctx, j.typ, j.Title, was, e.Before)
	}
	before, err := x.captured(ctx, j, nil)
	if err != nil {
		return err
	}
	return x.image(ctx, j.typ, j.Title, was, before)
}

// imageOfLedger takes an image of an entry alone: nothing on the node is changed.
func (x *session) imageOfLedger(was ledger.Image) {
	if x.imaging() {
		x.ledger.Change(ledger.Record{Image: &was})
	}
}

// was returns what the ledger says of a resource, as an image has it.
func (x *session) was(k ledger.Key) ledger.Image { return x.ledger.Image(x.manifest.Run, k) }

// dropImages drops the images of other runs: this one goes on from what they left.
func (x *session) dropImages() {
	other := func(i *ledger.Image) bool { return i.Site == x.manifest.Site && i.Run != x.manifest.Run }
	if slices.ContainsFunc(x.ledger.Images, other) {
		x.ledger.Change(ledger.Record{Forget: x.manifest.Site})
	}
}

// restore takes back what the run has changed on the node.
func (x *session) restore(ctx context.Context) {
	x.restoreImages(ctx, x.ledger.Images)
	if len(x.failed) == 0 {
		x.ledger.Change(ledger.Record{Forget: x.manifest.Site})
	}
}

// restoreImages takes back what images of the site are of, the last change first. What ran comes back when all else
// has. A thing that cannot be restored does not stop the others: the ledger then has it as begun.
func (x *session) restoreImages(ctx context.Context, images []*ledger.Image) {
	operations := map[resource.ID]*operation{}
	ran := map[resource.ID]*ledger.Image{} // the first image of each, when that ran before this run
	var order []*operation
	for _, i := range slices.Backward(slices.Clone(images)) {
		if i.Site != x.manifest.Site {
			continue
		}
		id := i.Owner()
		j := operations[id]
		if j == nil && (i.Stays || len(i.Before) > 0) {
			j = x.restoring(id)
			operations[id], order = j, append(order, j)
		}
		if len(i.Before) > 0 {
			delete(ran, i.ID)
			if r, ok := j.typ.(types.Reviver); ok && r.Ran(i.Before) {
				ran[i.ID] = i
			}
		}
		x.restoreImage(ctx, j, i, ran[i.ID] == i)
	}
	for id, i := range ran {
		if !operations[id].done {
			x.ledger.AddPending(i.Key)
		}
	}
	err := x.save()
	for _, j := range slices.Backward(order) {
		if i := ran[j.id]; i != nil && !j.done {
			x.revive(ctx, j, i, err)
		}
	}
	for _, j := range order {
		if !j.done {
			j.finish(Changed)
		}
		x.report(j)
	}
}

// restoring makes the operation that restores what a resource was about.
func (x *session) restoring(id resource.ID) *operation {
	name, title, _ := resource.ParseID(string(id)) // an id of the ledger; no type has the name of another one
	j := &operation{id: id, typ: x.types[name]}
	j.Type, j.Title = name, title
	if x.start(j); j.typ == nil {
		j.fail(fmt.Errorf("type %q is not known on the node; restore with the slipway that applied it", name))
	}
	return j
}

// restoreImage brings back what an image is of; with late, that of the node is left to revive. j is nil when nothing on
// the node was changed.
func (x *session) restoreImage(ctx context.Context, j *operation, i *ledger.Image, late bool) {
	switch {
	case j != nil && j.done:
		return
	case i.Stays:
		j.result.Message = NotRestored
		j.finish(Unchanged)
		return
	case late || len(i.Before) == 0:
		x.ledger.Change(ledger.Record{Restored: i})
		return
	case ctx.Err() != nil:
		j.skip("not restored: the session ended: " + context.Cause(ctx).Error())
		return
	}
	x.start(j)
	x.sys.ID = i.ID
	begun := x.was(i.Key)
	if i.Entry != nil { // it may have been removed
		was := *i.Entry
		begun.Entry, begun.At = &was, i.At
	}
	if begun.Entry != nil {
		begun.Entry.Digest = ""
		x.ledger.Change(ledger.Record{Restored: &begun})
	}
	err := x.save()
	if err == nil {
		_, err = guarded(j.Type, func() (any, error) { return nil, j.typ.Undo(ctx, x.sys, j.Title, i.Before) })
	}
	if x.restored(j, err); !j.done {
		x.ledger.Change(ledger.Record{Restored: i})
	}
}

// revive brings back what ran.
func (x *session) revive(ctx context.Context, j *operation, i *ledger.Image, err error) {
	x.start(j)
	if r, ok := j.typ.(types.Reviver); ok && err == nil {
		_, err = guarded(j.Type, func() (any, error) { return nil, r.Revive(ctx, x.sys, j.Title, i.Before) })
	}
	if x.restored(j, err); !j.done {
		x.ledger.RemovePending(i.Key)
	}
}

// restored notes how the restoring of one image ended. What others have taken away meanwhile is no failure.
func (x *session) restored(j *operation, err error) {
	x.sys.Forget()
	if j.result.Message, err = types.AsGone(err); err != nil {
		j.fail(fmt.Errorf("restore: %w", err))
	}
}

// NotRestored is the message of what a run has changed and nobody can take back: packages, and what commands did.
const NotRestored = "not restored"
