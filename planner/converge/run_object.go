package converge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// object is something on the node that resources of a type look after.
type object struct{ typ, name string }

// looksAfter returns what an operation that is fit looks after; ok is false where the title says all.
func (j *operation) looksAfter() (o object, ok bool) {
	return object{j.Type, j.object}, j.object != "" && j.wrong == nil && !j.Remove
}

// resolved returns what an object is on the node as it is now, under its one name.
func (x *session) resolved(o object) object {
	if r, ok := x.types[o.typ].(types.Resolver); ok {
		o.name = r.Resolve(x.sys, o.name)
	}
	return o
}

// shared returns an error when the object of an operation is one that an earlier resource looks after under another
// name, because of a link that this session made: before, they were two. Either of the two may be the one behind it.
func (x *session) shared(j *operation) error {
	o, ok := j.looksAfter()
	if !ok {
		return nil
	}
	is := x.resolved(o)
	if is == j.resolved && !x.linked[is] {
		return nil
	}
	x.linked[is] = true
	for _, e := range x.ledger.Entries {
		if e.Type == o.typ && e.Object != "" && e.Owner() != j.id && x.resolved(object{e.Type, e.Object}) == is {
			return fmt.Errorf("%s looks after %s already, which is %s; make one resource of both", e.ID, e.Object, o.name)
		}
	}
	return nil
}

// findConflicts finds resources that look after what another one looks after already, in the manifest or in the ledger:
// each would undo what the other one did. What a resource of the manifest is about to leave is free for another one.
func (x *session) findConflicts(operations []*operation) {
	leaving, present := map[resource.ID]*operation{}, map[resource.ID]*operation{}
	for _, j := range operations {
		_, ok := j.looksAfter()
		if ok = j.Remove || ok && !j.Noop(); ok {
			present[j.id] = j
		}
		if ok && (j.Remove || x.moves(j)) {
			leaving[j.id] = j
		}
	}
	taken := map[object]ledger.Key{}
	left := map[object]*operation{}
	for _, e := range x.ledger.Entries {
		if e.Object == "" {
			continue
		}
		j := leaving[e.ID]
		if e.Former {
			j = present[e.Owner()]
		}
		if o := x.resolved(object{e.Type, e.Object}); j != nil && e.Site == x.manifest.Site {
			left[o] = j
		} else {
			taken[o] = ledger.Key{Site: e.Site, ID: e.Owner()}
		}
	}
	for _, j := range operations {
		o, ok := j.looksAfter()
		if !ok {
			continue
		}
		o = x.resolved(o)
		j.resolved = o
		switch other, is := taken[o]; {
		case !is || other.ID == j.id:
			taken[o] = x.key(j)
			if before := left[o]; before != nil && before != j {
				j.follows, before.followed = before, true
			}
		case other.Site != x.manifest.Site:
			j.wrong = fmt.Errorf("%s looks after %s already, for the site %q; take it out of one of them",
				other.ID, o.name, other.Site)
		default:
			j.wrong = fmt.Errorf("%s looks after %s already; make one resource of both", other.ID, o.name)
		}
	}
}

// moves reports whether the resource looked after another object until now, and not after the same one under another
// name. An older ledger may not say what it looked after.
func (x *session) moves(j *operation) bool {
	e := x.ledger.Entry(x.manifest.Site, j.id)
	return e != nil && e.Object != "" && e.Object != j.object &&
		x.resolved(object{j.Type, e.Object}) != x.resolved(object{j.Type, j.object})
}

// transferEntries lets resources that got a new title take over the ledger's entry of the one that is to be removed,
// and those that name their object otherwise keep theirs, instead of undoing and doing it again: a user would lose the
// home directory, a package its data.
func (x *session) transferEntries() {
	heirs := map[object]*operation{}
	for _, j := range x.operations {
		o, ok := j.looksAfter()
		if !ok || j.Noop() || j.RefreshOnly {
			continue
		}
		x.takeBack(j)
		switch e := x.ledger.Entry(x.manifest.Site, j.id); {
		case e == nil:
			heirs[x.resolved(o)] = j
		case e.Object != "" && e.Object != j.object && !x.moves(j):
			x.imageOfLedger(x.was(e.Key()))
			e.Object = j.object
			x.ledger.Change(ledger.Record{Entry: e})
		}
	}
	for _, j := range x.operations {
		e := x.ledger.Entry(x.manifest.Site, j.id)
		if !j.Remove || e == nil || e.Object == "" {
			continue
		}
		if err := x.recognise(e, x.types[e.Type]); err != nil {
			continue // its undo reports it
		}
		heir := heirs[x.resolved(object{e.Type, e.Object})]
		if heir == nil || heir.aim != e.Aim {
			continue
		}
		was, now := e.Key(), *e
		now.Title, now.Object, now.ID, now.Digest, now.Run = heir.Title, heir.object, heir.id, "", x.manifest.Run
		if x.ledger.IsPending(was) {
			x.ledger.RemovePending(was)
			x.ledger.AddPending(now.Key())
		}
		image := x.was(was)
		image.Key = now.Key()
		x.imageOfLedger(image)
		x.ledger.Change(ledger.Record{Entry: &now, Was: &was})
	}
}

// sortRemovals brings the removals among operations into the order in which a tear-down would have them
// ([ledger.UndoOrder]). Those that require something stay where the controller put them.
func (x *session) sortRemovals(operations []*operation) {
	var own []*ledger.Entry
	for _, e := range x.ledger.Entries {
		if e.Site == x.manifest.Site {
			own = append(own, e)
		}
	}
	turn := map[resource.ID]int{} // what is not in the ledger comes last
	for i, e := range ledger.UndoOrder(own) {
		turn[e.ID] = i - len(own)
	}
	var places []int
	var removals []*operation
	for i, j := range operations {
		if j.Remove && len(j.Requires) == 0 {
			places, removals = append(places, i), append(removals, j)
		}
	}
	slices.SortStableFunc(removals, func(a, b *operation) int { return cmp.Compare(turn[a.id], turn[b.id]) })
	for i, place := range places {
		operations[place] = removals[i]
	}
}
