package rollout

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Items returns what a catalog holds for the tasks of one node, in the same order. The tasks that are about the node as
// a whole, its preparation, unlocking and tear-down, are settings of a catalog and give no item, and callbacks do not
// run on the node. What a task requires whose failure is tolerated, does not hold it up.
func Items(tasks []task.Task) []converge.Item {
	tolerated := map[resource.ID]bool{}
	for _, t := range tasks {
		if t.Tolerate {
			tolerated[t.Resource.ID()] = true
		}
	}
	var items []converge.Item
	for _, t := range tasks {
		if k := run.KindOf(t); k != run.Config && k != run.Remote {
			continue
		}
		r := t.Resource
		if t.Action == task.Remove {
			r.Parameters = nil // the ledger knows what is undone
		}
		items = append(items, converge.Item{
			Resource:    r,
			Digest:      t.Digest,
			Remove:      t.Action == task.Remove,
			RefreshOnly: t.Action == task.Refresh,
			Tolerate:    t.Tolerate,
			Requires:    without(t.Requires, tolerated),
			Notifies:    t.Notifies,
		})
	}
	return items
}

// without returns the ids that are not in the set; ids itself when there is none to leave out.
func without(ids []resource.ID, set map[resource.ID]bool) []resource.ID {
	out := func(id resource.ID) bool { return set[id] }
	if !slices.ContainsFunc(ids, out) {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), out)
}
