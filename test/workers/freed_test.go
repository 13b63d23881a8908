package workers

import (
	"strings"
	"syscall"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Who waits for a run whose site a person frees says so, what to do now, and ends the workflow, also when no worker is
// there to end it.
func TestFreedRun(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"with a worker": 0, "without a worker": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, site.Node{Name: "a"})
			worker := c.worker(nil)
			c.gated("task")
			r := c.start()
			c.atWork("a")
			active, err := c.store().Run(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if signal != 0 {
				worker.end(signal)
			}
			refused := c.companion(false, "runs", "unlock", "lon1", "--journal", c.journal).says(1)
			c.contains("a run that is active", refused, "runs cancel")
			c.contains("a site that is freed", c.companion(false, "runs", "unlock", "lon1", "--force", "--journal", c.journal).says(0), active.Workflow)
			_, said := r.wait()
			c.contains("who waits", said, "was freed with `runs unlock`", "plan again")
			if strings.Contains(said, "no outcome") {
				t.Errorf("who waits says\n%s", said)
			}
			c.await("the workflow ends", func() bool { return !c.runs(active.Workflow) })
			c.write("a", "go")
		})
	}
}

// runs reports whether a workflow is active.
func (c *cluster) runs(workflow string) bool {
	c.t.Helper()
	d, err := c.server.Client(c.t, client.Options{}).DescribeWorkflowExecution(c.t.Context(), workflow, "")
	if err != nil {
		c.t.Fatal(err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}
