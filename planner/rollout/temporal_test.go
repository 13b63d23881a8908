package rollout_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
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

// TestManySessionsOnTemporal checks that a run has more sessions than a child workflow runs, and that each runs once.
func TestManySessionsOnTemporal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := site.Site{Name: "lon1"}
		for i := range 700 {
			s.Nodes = append(s.Nodes, site.Node{Name: fmt.Sprintf("n%03d", i)})
		}
		p, err := plan(s, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		nodes := newFaulty()
		report, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: nodes, Recorder: &diary{}, RunID: "r1",
			Drive: onTemporal(), Parallelism: 50, Now: time.Now, Machines: rollout.NewMachines(nil)})
		if err != nil || report.Status != rollout.StatusSucceeded {
			t.Fatalf("the run ended as %q, error %v", report.Status, err)
		}
		if sessions := len(slices.Compact(slices.Sorted(slices.Values(nodes.sessions)))); sessions != len(nodes.sessions) ||
			sessions <= 1000 {
			t.Errorf("%d different sessions of %d, want more than 1,000", sessions, len(nodes.sessions))
		}
	})
}
