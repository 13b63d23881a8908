package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Slot is a task group in the order of a run.
type Slot struct {
	Group   task.Group
	Repeats bool // for each deployment group, in one block
	Locked  bool // inside the lock window of a node (litp.md 4.1)
}

// slots is the order of a run (design.md 5.5; litp.md 4.1, with Airship's prepare, and cleanup). Task groups that
// repeat are adjacent.
var slots = []Slot{
	{Group: task.Management},
	{Group: task.Boot},
	{Group: task.PreCluster},
	{Group: task.Prepare, Repeats: true},
	{Group: task.PreNode, Repeats: true},
	{Group: task.UpgradeBoot, Repeats: true, Locked: true},
	{Group: task.StorageUpgrade, Repeats: true, Locked: true},
	{Group: task.Node, Repeats: true, Locked: true},
	{Group: task.Cluster, Repeats: true},
	{Group: task.PostCluster},
	{Group: task.Cleanup},
}

// Slots returns the task groups in the order of a run.
func Slots() []Slot { return slices.Clone(slots) }

// SlotOf returns the slot of a task group. One that no run has neither repeats nor is locked.
func SlotOf(g task.Group) Slot {
	if place, known := groupPlace[g]; known {
		return slots[place]
	}
	return Slot{Group: g}
}

// groupPlace is the index of each task group in the order of a run.
var groupPlace = func() map[task.Group]int {
	out := make(map[task.Group]int, len(slots))
	for i, s := range slots {
		out[s.Group] = i
	}
	return out
}()
