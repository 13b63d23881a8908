package temporal

import (
	"context"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// nobodyTook returns how a workflow ends whose activity no worker took in its time.
func nobodyTook(t *testing.T) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflow(Converge)
	env.RegisterActivityWithOptions(func(context.Context, convergeInput) error {
		return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	}, activity.RegisterOptions{Name: "Sessions"})
	env.ExecuteWorkflow(Converge, convergeInput{Run: "r", Queue: "zone", ZoneWait: time.Minute, LostAfter: time.Minute})
	return env.GetWorkflowError()
}

// A look, and a session of a run, that no worker of the zone took in its time ends then: it does not wait for that time
// again. A later session of the same zone and run waits for a part of it, and for all of it when a worker came.
func TestAZoneIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	for what, m := range map[string]converge.Manifest{"look": {Site: "lon1", Mode: converge.Check},
		"session": {Site: "lon1", Run: "r1", Mode: converge.Apply}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			s := &server{ends: []error{nobodyTook(t)}}
			e, node := looking(t, s)
			store, err := e.store(ctx, "lon1")
			if err != nil {
				t.Fatal(err)
			}
			if m.Run != "" {
				w, err := store.Start(ctx, journal.Run{ID: m.Run, Site: "lon1"})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Finish(t.Context(), "failed", "") //nolint:errcheck // of a test
			}
			fails := func(want string, asked int) {
				t.Helper()
				_, err := e.Converge(ctx, node, m, nil)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
				if ctx.Err() != nil || len(s.asked) != asked {
					t.Fatalf("the zone was asked %d times, want %d, %v", len(s.asked), asked, ctx.Err())
				}
			}
			fails(`it has the zone "rack1", and no worker took its session in 1h0m0s; start `, 1)
			if what == "session" {
				fails("no worker took its session in 6m0s; start ", 2)
				fails("no worker took its session in 6m0s; start ", 3)
				s.ends = []error{nil, nobodyTook(t)} // a worker comes, and is gone again
				fails("no worker took its session in 1h0m0s; start ", 5)
			}
		})
	}
}
