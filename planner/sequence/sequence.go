// Package sequence puts tasks into the order of a run. It is pure.
//
// Plans are made of three parts of it. [OrderNode] is the requirements between the tasks of one node. [Phases] is the
// table of task groups: one place per task group, and per deployment group where the task group repeats. A [Scope] is
// the tasks of one place: known by their numbers and what they require, made into phases in the time of sorting them.
package sequence

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Key names a place in the order of a run: a task group, and the deployment group when the task group repeats for each.
type Key struct {
	TaskGroup task.Group
	Group     string
}

// Phases returns where there is work, in the order of a run, for deployment groups in the order given. Work that has no
// place in that order is an error: nothing is ever dropped silently (litp.md 74).
func Phases[W any](groups []string, work map[Key][]W) ([]Key, error) {
	var phases []Key
	placed := 0
	place := func(k Key) {
		of, ok := work[k]
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
	if placed != len(work) {
		return nil, fmt.Errorf("%d of %d sets of tasks belong to a task group or deployment group that has no place in the run",
			len(work)-placed, len(work))
	}
	return phases, nil
}
