package server

import (
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Passing returns the event that says what a group lets time pass for after the next event of the group: that a batch
// soaks, or that its maintenance window is closed. It is before, as long as that lasts, and empty when nothing does.
func Passing(before, next journal.Recorded) journal.Recorded {
	closed := strings.HasPrefix(before.Message, run.WindowClosed)
	switch next.Kind { //nolint:exhaustive // the others change nothing
	case journal.Note:
		if next.Action == journal.Soak || next.Node == "" && strings.HasPrefix(next.Message, run.WindowClosed) {
			return next
		}
	case journal.TaskStarted:
		if closed && (next.Action == string(task.HealthCheck) || next.Action == string(task.Restore)) {
			return before // it ends the work on a node
		}
		return journal.Recorded{}
	case journal.PhaseStarted, journal.Paused, journal.GroupFinished:
		return journal.Recorded{}
	}
	return before
}
