package command

import (
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/server"
)

// wait is what an active run waits for, as one line of plain text.
type wait struct {
	Since time.Time
	Why   string
}

// String says since when, and for what.
func (w wait) String() string {
	return "waits since " + w.Since.Local().Format(time.DateTime) + ": " + w.Why
}

// waitsOf returns what a run waits for, oldest first, and how a person ends that.
func waitsOf(run server.Held) (out []wait) {
	for _, h := range run.Holds {
		why := harmless(h.Text)
		if h.Group != "" {
			why = "group " + harmless(h.Group) + ": " + why
		} else {
			why = "paused " + why + ": terraform-provider-slipway runs resume " + run.ID
		}
		out = append(out, wait{h.Since, why})
	}
	return out
}
