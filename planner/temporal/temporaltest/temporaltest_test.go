package temporaltest

import (
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// TestServer checks that a workflow survives that its server is killed, and that the server ends with the test.
func TestServer(t *testing.T) {
	var s *Server
	t.Run("killed", func(t *testing.T) {
		s = Start(t)
		c := s.Client(t, client.Options{})
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "nobody"}, "waits")
		if err != nil {
			t.Fatal(err)
		}
		s.Kill(t)
		s.Up(t)
		d, err := c.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
		if err != nil {
			t.Fatal(err)
		}
		if got := d.WorkflowExecutionInfo.Status; got != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			t.Errorf("the workflow is %v", got)
		}
	})
	if s == nil {
		t.SkipNow()
	}
	if s.process != nil {
		t.Error("the server is running after its test")
	}
}
