package temporaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// These tests are about the server: what the workflows of runs assume of it (design.md 11). docs/performance.md has the
// figures.

// serve runs a worker of a queue until the test ends, or until the returned function is called.
func serve(t testing.TB, c client.Client, queue string, register func(worker.Worker)) (stop func()) {
	t.Helper()
	w := worker.New(c, queue, worker.Options{})
	register(w)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			w.Stop()
		}
	}
	t.Cleanup(stop)
	return stop
}

// until waits for a condition, at most a minute.
func until(t *testing.T, what string, condition func(ctx context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		met, err := condition(ctx)
		if met {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within a minute, %v", what, err)
		}
	}
}

// events returns the history of a workflow run; of the current one for an empty id.
func events(t testing.TB, c client.Client, id, run string) (all []*historypb.HistoryEvent) {
	t.Helper()
	for i := c.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); i.HasNext(); {
		e, err := i.Next()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestContinueAsNewForgetsActivities checks that activities do not outlive the workflow run that started them: those
// that wait are never given to a worker, and one that runs is cancelled at its next heartbeat and its result refused.
func TestContinueAsNewForgetsActivities(t *testing.T) {
	c := Start(t).Client(t, client.Options{})
	started, cancelled := make(chan bool), make(chan bool, 1)
	calls := make(chan string, 10)
	serve(t, c, "workflows", func(w worker.Worker) {
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context, continued bool) error {
			signals := workflow.GetSignalChannel(ctx, "go")
			if continued {
				signals.Receive(ctx, nil)
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: "late", StartToCloseTimeout: time.Hour})
				return workflow.ExecuteActivity(ctx, "call", "after").Get(ctx, nil)
			}
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour,
				HeartbeatTimeout: time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}})
			workflow.ExecuteActivity(workflow.WithTaskQueue(ctx, "now"), "wait")
			workflow.ExecuteActivity(workflow.WithTaskQueue(ctx, "late"), "call", "before")
			signals.Receive(ctx, nil)
			return workflow.NewContinueAsNewError(ctx, "continues", true)
		}, workflow.RegisterOptions{Name: "continues"})
	})
	serve(t, c, "now", func(w worker.Worker) {
		w.RegisterActivityWithOptions(func(ctx context.Context) error {
			close(started)
			beat := time.NewTicker(100 * time.Millisecond)
			defer beat.Stop()
			for {
				select {
				case <-beat.C:
					activity.RecordHeartbeat(ctx)
				case <-ctx.Done():
					cancelled <- true
					return ctx.Err()
				}
			}
		}, activity.RegisterOptions{Name: "wait"})
	})
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "w", TaskQueue: "workflows"}, "continues", false)
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if err := c.SignalWorkflow(t.Context(), "w", "", "go", nil); err != nil {
		t.Fatal(err)
	}
	until(t, "continue as new", func(ctx context.Context) (bool, error) {
		d, err := c.DescribeWorkflowExecution(ctx, "w", "")
		if err != nil {
			return false, err
		}
		if n := len(d.PendingActivities); n != 0 && d.WorkflowExecutionInfo.Execution.RunId != run.GetRunID() {
			t.Errorf("%d activities are pending after continue-as-new", n)
		}
		return d.WorkflowExecutionInfo.Execution.RunId != run.GetRunID(), nil
	})
	select {
	case <-cancelled:
	case <-time.After(time.Minute):
		t.Error("the running activity is not cancelled")
	}
	// Tasks of a queue come in order: the one from before would be the first.
	serve(t, c, "late", func(w worker.Worker) {
		w.RegisterActivityWithOptions(func(_ context.Context, when string) error {
			calls <- when
			return nil
		}, activity.RegisterOptions{Name: "call"})
	})
	if err := c.SignalWorkflow(t.Context(), "w", "", "go", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.GetWorkflow(t.Context(), "w", "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	close(calls)
	for when := range calls {
		if when != "after" {
			t.Errorf("the activity scheduled %s continue-as-new was given to a worker", when)
		}
	}
}

// TestContinueAsNewForgetsSignals checks that a signal that a workflow has not received when it continues as new is lost.
func TestContinueAsNewForgetsSignals(t *testing.T) {
	c := Start(t).Client(t, client.Options{})
	serve(t, c, "workflows", func(w worker.Worker) {
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context, continued bool) (bool, error) {
			workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
			if !continued {
				return false, workflow.NewContinueAsNewError(ctx, "continues", true)
			}
			return workflow.GetSignalChannel(ctx, "ended").ReceiveAsync(nil), nil
		}, workflow.RegisterOptions{Name: "continues"})
	})
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "w", TaskQueue: "workflows"}, "continues",
		false)
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []string{"ended", "go"} {
		if err := c.SignalWorkflow(t.Context(), "w", "", signal, nil); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "continue as new", func(ctx context.Context) (bool, error) {
		d, err := c.DescribeWorkflowExecution(ctx, "w", "")
		return err == nil && d.WorkflowExecutionInfo.Execution.RunId != run.GetRunID(), err
	})
	if err := c.SignalWorkflow(t.Context(), "w", "", "go", nil); err != nil {
		t.Fatal(err)
	}
	var received bool
	if err := c.GetWorkflow(t.Context(), "w", "").Get(t.Context(), &received); err != nil || received {
		t.Errorf("received %t, %v: the signal was for the workflow run before", received, err)
	}
}

// TestAbandonedChildren checks that a child with PARENT_CLOSE_POLICY_ABANDON goes on when its parent continues as new
// and when it ends, that its signals reach the workflow run that the parent has by then, and that a signal to a parent
// that has ended is an error in the child.
func TestAbandonedChildren(t *testing.T) {
	c := Start(t).Client(t, client.Options{})
	serve(t, c, "workflows", func(w worker.Worker) {
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context, parent string) (string, error) {
			for {
				var last bool
				workflow.GetSignalChannel(ctx, "report").Receive(ctx, &last)
				refused := workflow.SignalExternalWorkflow(ctx, parent, "", "ended", nil).Get(ctx, nil)
				if last || refused != nil {
					return fmt.Sprint(refused), nil
				}
			}
		}, workflow.RegisterOptions{Name: "child"})
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context, continued bool) error {
			if !continued {
				for _, policy := range []enums.ParentClosePolicy{enums.PARENT_CLOSE_POLICY_ABANDON, enums.PARENT_CLOSE_POLICY_TERMINATE} {
					ctx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: policy.String(),
						ParentClosePolicy: policy})
					child := workflow.ExecuteChildWorkflow(ctx, "child", workflow.GetInfo(ctx).WorkflowExecution.ID)
					if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
						return err
					}
				}
				return workflow.NewContinueAsNewError(ctx, "parent", true)
			}
			workflow.GetSignalChannel(ctx, "ended").Receive(ctx, nil)
			return nil
		}, workflow.RegisterOptions{Name: "parent"})
	})
	abandoned, terminated := enums.PARENT_CLOSE_POLICY_ABANDON.String(), enums.PARENT_CLOSE_POLICY_TERMINATE.String()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "p", TaskQueue: "workflows"}, "parent", false)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "continue as new", func(ctx context.Context) (bool, error) {
		d, err := c.DescribeWorkflowExecution(ctx, "p", "")
		return err == nil && d.WorkflowExecutionInfo.Execution.RunId != run.GetRunID(), err
	})
	status := func(id string) enums.WorkflowExecutionStatus {
		d, err := c.DescribeWorkflowExecution(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		return d.WorkflowExecutionInfo.Status
	}
	t.Logf("after continue-as-new of the parent: %s is %s, %s is %s", abandoned, status(abandoned), terminated, status(terminated))
	if err := c.SignalWorkflow(t.Context(), abandoned, "", "report", false); err != nil {
		t.Fatal(err)
	}
	if err := c.GetWorkflow(t.Context(), "p", "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	until(t, "the other child is terminated", func(context.Context) (bool, error) {
		return status(terminated) == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, nil
	})
	if got := status(abandoned); got != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Fatalf("the abandoned child is %s after its parent ended", got)
	}
	if err := c.SignalWorkflow(t.Context(), abandoned, "", "report", true); err != nil {
		t.Fatal(err)
	}
	var refused string
	if err := c.GetWorkflow(t.Context(), abandoned, "").Get(t.Context(), &refused); err != nil ||
		!strings.Contains(refused, "unknown external workflow execution") {
		t.Errorf("%q, %v", refused, err)
	}
}

// many registers a workflow that runs activities that do nothing, so many at once.
func many(w worker.Worker) {
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, n, atOnce int) error {
		// On a busy machine a worker may never get a task that the server counts as started: it is tried again.
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: "activities",
			StartToCloseTimeout: 10 * time.Second, ScheduleToStartTimeout: time.Hour})
		selector := workflow.NewSelector(ctx)
		for i := range n {
			if i >= atOnce {
				selector.Select(ctx)
			}
			selector.AddFuture(workflow.ExecuteActivity(ctx, "session", strings.Repeat("x", 60), i), func(workflow.Future) {})
		}
		for range min(n, atOnce) {
			selector.Select(ctx)
		}
		return nil
	}, workflow.RegisterOptions{Name: "many"})
}

// TestPendingActivities checks that a workflow may have 2,000 pending activities, and that a task that schedules one
// more fails with an error that says so.
func TestPendingActivities(t *testing.T) {
	const limit = 2000
	c := Start(t).Client(t, client.Options{})
	serve(t, c, "workflows", many)
	for _, n := range []int{limit, limit + 1} {
		id := fmt.Sprint(n)
		if _, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "workflows"}, "many", n,
			n); err != nil {
			t.Fatal(err)
		}
		if n == limit {
			until(t, "all are pending", func(ctx context.Context) (bool, error) {
				d, err := c.DescribeWorkflowExecution(ctx, id, "")
				return err == nil && len(d.PendingActivities) == limit, err
			})
			continue
		}
		until(t, "the task with one more fails", func(context.Context) (bool, error) {
			for _, e := range events(t, c, id, "") {
				if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil {
					t.Log(a.GetFailure().GetMessage())
					return a.GetCause() == enums.WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED, nil
				}
			}
			return false, errors.New("no task failed")
		})
	}
}

// BenchmarkPendingActivities prints what an activity that does nothing costs a server, by how many of a workflow are
// pending at once.
func BenchmarkPendingActivities(b *testing.B) {
	for _, atOnce := range []int{20, 100, 500, 2000} {
		b.Run(fmt.Sprint(atOnce), func(b *testing.B) {
			c := Start(b).Client(b, client.Options{})
			serve(b, c, "workflows", many)
			serve(b, c, "activities", func(w worker.Worker) {
				w.RegisterActivityWithOptions(func(context.Context, string, int) error { return nil },
					activity.RegisterOptions{Name: "session"})
			})
			n := max(500, atOnce)
			for b.Loop() {
				run, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: "workflows"}, "many", n, atOnce)
				if err != nil {
					b.Fatal(err)
				}
				if err := run.Get(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
				d, err := c.DescribeWorkflowExecution(b.Context(), run.GetID(), "")
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(events(b, c, run.GetID(), "")))/float64(n), "events/activity")
				b.ReportMetric(float64(d.WorkflowExecutionInfo.HistorySizeBytes)/float64(n), "bytes/activity")
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "activities/s")
		})
	}
}
