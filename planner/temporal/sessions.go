package temporal

import (
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const abandon = enums.PARENT_CLOSE_POLICY_ABANDON

// sessionsInput is the input of Sessions.
type sessionsInput struct {
	Run   string // key
	Queue string // of the process that has the run
	Part  int    // of its sessions, see [rollout.Hosted.Serve]
}

// Sessions is the child workflow that runs sessions, with one activity: it reports ends to Run itself, since a session
// that had events of its own here would cost the server more than its node. An attempt that its worker does not end in
// time is followed by another one, which finds the sessions in the same process: what may have run is not run again,
// unless the machine says so.
func Sessions(ctx workflow.Context, in sessionsInput) error {
	parent := workflow.GetInfo(ctx).ParentWorkflowExecution.ID
	serving := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: in.Queue,
		ScheduleToStartTimeout: hostLimit, StartToCloseTimeout: watchTime, HeartbeatTimeout: heartbeatLimit,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second}})
	err := workflow.ExecuteActivity(serving, activities.Sessions, in.Run, in.Part, parent).Get(ctx, nil)
	if err == nil {
		return nil
	}
	gone := workflow.SignalExternalWorkflow(ctx, parent, "", endedSignal, ended{Run: in.Run, Failed: err.Error()})
	if err := gone.Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("the run is over before its sessions", "error", err)
	}
	return nil
}
