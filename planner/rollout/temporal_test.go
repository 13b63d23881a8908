package rollout_test

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
)

// onTemporal returns what drives a run in the test environment of Temporal's SDK, by the clock of the caller's bubble.
func onTemporal() func(context.Context, *rollout.Hosted) error {
	return func(_ context.Context, h *rollout.Hosted) error {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(slog.New(slog.DiscardHandler))
		env := suite.NewTestWorkflowEnvironment()
		env.SetStartTime(time.Now())
		env.SetTestTimeout(1000 * time.Hour)
		ended := make(chan struct{})
		defer close(ended)
		runs := &temporal.Runs{Perform: func(ctx context.Context, _, _, _ string,
			drive func(context.Context, *rollout.Hosted, <-chan struct{}) error) error {
			return drive(ctx, h, ended)
		}, Signal: func(_ context.Context, _, signal string, arg any) error {
			env.SignalWorkflow(signal, arg)
			return nil
		}}
		runs.Register(env)
		env.ExecuteWorkflow(temporal.RunName, temporal.Input{Run: h.Run()})
		return env.GetWorkflowError()
	}
}
