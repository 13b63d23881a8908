package server

import (
	"strings"
	"time"

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

// Lasting returns the text of what [Passing] returned, as long as it lasts at a time: a maintenance window opens by the
// clock, and what is started then may be recorded much later.
func Lasting(passing journal.Recorded, now time.Time) string {
	if until := Opens(passing.Message); !until.IsZero() && !now.Before(until) {
		return ""
	}
	return passing.Message
}

// Opens returns when a maintenance window opens, from the text that says that it is closed; zero: not known.
func Opens(text string) time.Time {
	until, closed := strings.CutPrefix(text, run.WindowClosed)
	at, err := time.Parse(time.RFC3339, until)
	if !closed || err != nil {
		return time.Time{}
	}
	return at
}
