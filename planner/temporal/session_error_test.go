package temporal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What the server says of the end of a workflow reaches nobody as it is: the error of a session without a result says
// what the worker said, or which zone has no worker.
func TestErrorsOfSessionsWithoutAResult(t *testing.T) {
	node := site.Node{Name: "a", Zone: "rack1"}
	for name, tt := range map[string]struct {
		activity error
		notBegun bool
		want     string
	}{
		"its worker could not write": {errors.New("journal: disk full"), false, "the session ended without a result: journal: disk full"},
		"its worker ends": {early("%w", errors.New("the worker ends")), true,
			`no worker of the zone "rack1" has begun its session in 2m0s: the worker ends`},
		"given up": {temporal.NewCanceledError(), false, `it has the zone "rack1", and no worker had begun its session when ` +
			"that was given up; start `terraform-provider-slipway worker --zone rack1`"},
		"ended by hand": {&temporal.TerminatedError{}, false,
			"the session ended without a result: its workflow was terminated on the Temporal server"},
		"a panic": {temporal.NewApplicationErrorWithCause("boom", "PanicError", errors.New("of the worker")), false,
			"the session ended without a result: its worker failed: panic: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.RegisterWorkflow(Converge)
			env.RegisterActivityWithOptions(func(context.Context, convergeInput) error { return tt.activity },
				activity.RegisterOptions{Name: "Sessions"})
			in := convergeInput{Run: "r", Zone: node.Zone, Queue: "zone", ZoneWait: 2 * time.Minute, LostAfter: time.Minute}
			env.ExecuteWorkflow(Converge, in)
			err := env.GetWorkflowError()
			if temporal.IsCanceledError(tt.activity) || errors.As(tt.activity, new(*temporal.TerminatedError)) { // no activity ends so
				err = fmt.Errorf("workflow execution error: %w", tt.activity)
			}
			text := in.failed(node, err, tt.notBegun).Error()
			if !strings.Contains(text, tt.want) {
				t.Errorf("no %q in %q", tt.want, text)
			}
			for _, raw := range []string{"workflow execution error", "activity error", "workflowID", "retryable", "canceled"} {
				if strings.Contains(text, raw) {
					t.Errorf("%q is in %q", raw, text)
				}
			}
		})
	}
}
