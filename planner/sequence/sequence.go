// Package sequence orders tasks. It is pure.
//
// [OrderNode] orders the tasks of one node by their requirements. [Phases] orders the task groups of a run, with those
// that repeat for each deployment group. A [Scope] splits the tasks of one task group into phases.
package sequence

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Key identifies a task group in a run, with its deployment group when it repeats for each.
type Key struct {
	TaskGroup task.Group
	Group     string
}

// Phases returns the keys that have tasks, in the order of a run; groups are the deployment groups in their order. A
// key that is not part of a run is an error: no task is dropped silently (litp.md 74).
func Phases[T any](groups []string, tasks map[Key][]T) ([]Key, error) {
	var phases []Key
	placed := 0
	place := func(k Key) {
		of, ok := tasks[k]
		if !ok {
			return
		}
		placed++
		if len(of) > 0 {
			phases = append(phases, k)
		}
	}
	for i := 0; i < len(slots); {
		if !slots[i].Repeats {
			place(Key{TaskGroup: slots[i].Group})
			i++
			continue
		}
		end := i
		for end < len(slots) && slots[end].Repeats {
			end++
		}
		for _, group := range groups {
			for _, slot := range slots[i:end] {
				place(Key{slot.Group, group})
			}
		}
		i = end
	}
	if placed != len(tasks) {
		return nil, fmt.Errorf(
			"%d of %d sets of tasks belong to a task group or deployment group that has no place in the run",
			len(tasks)-placed, len(tasks))
	}
	return phases, nil
}
