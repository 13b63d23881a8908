package temporal

import (
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

const abandon = enums.PARENT_CLOSE_POLICY_ABANDON

// sessionsInput is the input of Sessions.
type sessionsInput struct {
	Run      string // key
	Queue    string // of the process that has the run
	Sessions []started
}

// started is a session that is to run, or that another process started.
type started = rollout.Restored

// endGrace is how long a session may take to end when its limit is over: a grace and an unlock come after it.
const endGrace = 10 * time.Minute

// Sessions is the child workflow that runs sessions. An attempt that its worker does not end in time is followed by
// another one, which finds the session in the same process: what may have run is not run again, unless the machine says
// so.
func Sessions(ctx workflow.Context, in sessionsInput) error {
	parent := workflow.GetInfo(ctx).ParentWorkflowExecution.ID
	selector := workflow.NewSelector(ctx)
	var ends []end
	running := 0
	for len(in.Sessions) > 0 || running > 0 {
		for len(in.Sessions) > 0 && running < mostAtOnce {
			s := in.Sessions[0]
			in.Sessions = in.Sessions[1:]
			running++
			ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: in.Queue,
				ScheduleToStartTimeout: hostLimit,
				StartToCloseTimeout:    s.Limit + endGrace, HeartbeatTimeout: heartbeatLimit,
				RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second}})
			f := workflow.ExecuteActivity(ctx, activities.Session, in.Run, s.ID)
			selector.AddFuture(f, func(f workflow.Future) {
				running--
				e := end{Run: in.Run, ID: s.ID}
				if err := f.Get(ctx, &e.Lost); err != nil {
					e.Failed = err.Error()
				}
				ends = append(ends, e)
			})
		}
		for selector.Select(ctx); selector.HasPending(); {
			selector.Select(ctx)
		}
		report := workflow.SignalExternalWorkflow(ctx, parent, "", endedSignal, ends)
		ends = nil
		if err := report.Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Warn("the run is over before its sessions", "error", err)
		}
	}
	return nil
}
