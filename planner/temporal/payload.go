package temporal

import (
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// step is a [rollout.Step] in a payload.
type step struct {
	Run string // key
	rollout.Step
}

// opening asks a process to host a run.
type opening struct {
	Site, Run  string
	Generation int
	Saved      string // where the process before saved what it did; empty: nothing was done
}

// opened is the answer of Open.
type opened struct {
	Queue string // of the process that has the run; empty: that of the workflow
	Ended bool   // there is nothing left to do
}

// begun is what a run starts, or goes on, with.
type begun struct {
	Program run.Program
	State   rollout.Stepped
	Parts   []int // of its sessions, that are to be served
}

// ended is the signal of ends of sessions.
type ended struct {
	Run string // key
	rollout.Ends
	Failed string // the process that has the run is gone
}

// watched is the answer of Watch.
type watched struct {
	Now     time.Time
	Events  []run.Event
	Stopped bool
}
