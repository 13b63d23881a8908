package converge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// object is something on the node that resources of a type look after.
type object struct{ typ, name string }

// looksAfter returns what a job that is fit looks after; ok is false where the title says all.
func (j *job) looksAfter() (o object, ok bool) {
	return object{j.Type, j.object}, j.object != "" && j.mistake == nil && !j.Remove
}

// keepApart finds resources that look after what another one looks after already, in the catalog or in the ledger: each would undo
// what the other one did.
func (x *session) keepApart(jobs []*job) {
	leaving := map[resource.ID]bool{}
	for _, j := range jobs {
		leaving[j.id] = j.Remove
	}
	taken := map[object]resource.ID{}
	sites := map[object]string{}
	for _, e := range x.ledger.Entries {
		if e.Object != "" && (e.Site != x.catalog.Site || !leaving[e.id]) {
			o := object{e.Type, e.Object}
			taken[o], sites[o] = e.id, e.Site
		}
	}
	for _, j := range jobs {
		o, ok := j.looksAfter()
		if !ok {
			continue
		}
		if e := x.ledger.entry(x.catalog.Site, j.id); e != nil && e.Object != j.object {
			delete(taken, object{e.Type, e.Object}) // it leaves that at its turn
		}
		switch other, is := taken[o]; {
		case !is || other == j.id && sites[o] == x.catalog.Site:
			taken[o], sites[o] = j.id, x.catalog.Site
		case sites[o] != x.catalog.Site:
			j.mistake = fmt.Errorf("%s looks after %s already, for the site %q; take it out of one of them", other, o.name, sites[o])
		default:
			j.mistake = fmt.Errorf("%s looks after %s already; make one resource of both, or require the other one if that is about to leave it", other, o.name)
		}
	}
}

// handOver lets resources that got a new title take over the ledger's entry of the one that is to be removed, instead of undoing
// and doing it again: a user would lose the home directory, a package its data.
func (x *session) handOver() {
	heirs := map[object]*job{}
	for _, j := range x.jobs {
		if o, ok := j.looksAfter(); ok && !j.Noop() && !j.RefreshOnly && x.ledger.entry(x.catalog.Site, j.id) == nil {
			heirs[o] = j
		}
	}
	for _, j := range x.jobs {
		e := x.ledger.entry(x.catalog.Site, j.id)
		if !j.Remove || e == nil || e.Object == "" {
			continue
		}
		heir := heirs[object{e.Type, e.Object}]
		if heir == nil || heir.aim != e.Aim {
			continue
		}
		was, now := e.key(), *e
		now.Title, now.id, now.Digest, now.Run = heir.Title, heir.id, "", x.catalog.Run
		if x.ledger.owes(was) {
			x.ledger.settle(was)
			x.ledger.owe(now.key())
		}
		x.ledger.change(record{Entry: &now, Was: &was})
	}
}

// newestFirst brings the removals among jobs into the order in which a tear-down would have them: what was applied last goes first. Those that
// require something stay where the controller put them.
func (x *session) newestFirst(jobs []*job) {
	age := map[resource.ID]int{}
	for i, e := range x.ledger.Entries {
		if e.Site == x.catalog.Site {
			age[e.id] = i + 1
		}
	}
	var places []int
	var removals []*job
	for i, j := range jobs {
		if j.Remove && len(j.Requires) == 0 {
			places, removals = append(places, i), append(removals, j)
		}
	}
	slices.SortStableFunc(removals, func(a, b *job) int { return cmp.Compare(age[b.id], age[a.id]) })
	for i, place := range places {
		jobs[place] = removals[i]
	}
}
