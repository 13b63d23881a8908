package rollout

import (
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Items returns what a catalog holds for the tasks of one node, in the same order. The tasks that are about the node as
// a whole, its preparation and its tear-down, are modes of a catalog and give no item.
func Items(tasks []task.Task) []converge.Item {
	var items []converge.Item
	for _, t := range tasks {
		switch t.Action {
		case task.PrepareNode, task.Forget:
			continue
		}
		items = append(items, converge.Item{
			Resource:    t.Resource,
			Digest:      t.Digest,
			Remove:      t.Action == task.Remove,
			RefreshOnly: t.Action == task.Refresh,
			Requires:    t.Requires,
			Notifies:    t.Notifies,
		})
	}
	return items
}
