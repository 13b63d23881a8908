package command

import (
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	machine "github.com/slipway/terraform-provider-slipway/planner/run"
)

// wait is what an active run waits for.
type wait struct {
	Since time.Time
	Why   string
}

// String says since when, and for what.
func (w wait) String() string {
	return "waits since " + w.Since.Local().Format(time.DateTime) + ": " + w.Why
}

// waitKinds are the kinds of events that waitsOf looks at.
var waitKinds = []journal.Kind{journal.Paused, journal.Decided, journal.Note, journal.PhaseStarted}

// waitsOf returns what a run waits for, oldest first: approval of batches, that a person resumes it, and maintenance
// windows. One that has ended waits for nothing. events are in their order.
func waitsOf(r journal.Run, events []journal.Recorded) (waits []wait) {
	if r.Status != journal.Running {
		return nil
	}
	var asked []journal.Recorded
	for _, e := range events {
		if asked = journal.Waiting(asked, e); e.Kind == journal.PhaseStarted ||
			e.Kind == journal.Note && strings.HasPrefix(e.Message, machine.WindowClosed) {
			asked = slices.DeleteFunc(asked, func(a journal.Recorded) bool {
				return a.Kind == journal.Note && a.Group == e.Group
			})
		}
		switch {
		case e.Kind == journal.Decided && (e.Action == journal.Hold || e.Action == journal.Resume):
			asked = slices.DeleteFunc(asked, func(a journal.Recorded) bool { return a.Kind == journal.Decided })
			if e.Action == journal.Hold {
				e.Message = "paused " + e.Message + ": terraform-provider-slipway runs resume " + r.ID
				asked = append(asked, e)
			}
		case e.Kind == journal.Note && strings.HasPrefix(e.Message, machine.WindowClosed):
			asked = append(asked, e)
		}
	}
	for _, e := range asked {
		w := wait{e.Time, e.Message}
		if e.Group != "" {
			w.Why = "group " + e.Group + ": " + w.Why
		}
		waits = append(waits, w)
	}
	return waits
}
