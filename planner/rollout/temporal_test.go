package rollout_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
)

// onTemporal returns what drives a run in the test environment of Temporal's SDK, by the clock of the caller's bubble.
func onTemporal() func(context.Context, *rollout.Hosted) error { return reported(new(atomic.Int32)) }

// reported is onTemporal that counts the signals with ends of sessions.
func reported(count *atomic.Int32) func(context.Context, *rollout.Hosted) error {
	return intercepted(count, nil, nil)
}

// intercepted is reported with interceptors of activities, and a run that goes on where in says.
func intercepted(count *atomic.Int32, in *temporal.Input, by []interceptor.WorkerInterceptor) func(context.Context,
	*rollout.Hosted) error {
	return func(_ context.Context, h *rollout.Hosted) error {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(slog.New(slog.DiscardHandler))
		env := suite.NewTestWorkflowEnvironment()
		env.SetStartTime(time.Now())
		env.SetTestTimeout(1000 * time.Hour)
		env.SetWorkerOptions(worker.Options{Interceptors: by})
		ended := make(chan struct{})
		defer close(ended)
		runs := &temporal.Runs{Perform: func(ctx context.Context, _, _, _ string,
			drive func(context.Context, *rollout.Hosted, <-chan struct{}) error) error {
			return drive(ctx, h, ended)
		}, Signal: func(_ context.Context, _, signal string, arg any) error {
			count.Add(1)
			env.SignalWorkflow(signal, arg)
			return nil
		}}
		runs.Register(env)
		env.ExecuteWorkflow(temporal.RunName, *cmp.Or(in, &temporal.Input{Run: h.Run()}))
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

// TestEndsOfShortSessionsComeWithSteps checks that sessions that end one after the other cost no signal each.
func TestEndsOfShortSessionsComeWithSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, nodes := site.Site{Name: "lon1"}, newFaulty()
		for i := range 60 {
			n := fmt.Sprintf("n%03d", i)
			s.Nodes = append(s.Nodes, site.Node{Name: n})
			pause := time.Duration(100+i) * time.Millisecond
			nodes.slow[at{n, preparing}], nodes.slow[at{n, deploying}] = pause, pause
		}
		p, err := plan(s, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		var reports atomic.Int32
		report, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: nodes, Recorder: &diary{}, RunID: "r1",
			Drive: reported(&reports), Now: time.Now, Machines: rollout.NewMachines(nil)})
		if err != nil || report.Status != rollout.StatusSucceeded || len(nodes.sessions) < 120 {
			t.Fatalf("the run ended as %q after %d sessions, error %v", report.Status, len(nodes.sessions), err)
		}
		if got := reports.Load(); got > 10 {
			t.Errorf("%d sessions took %d signals, want at most 10", len(nodes.sessions), got)
		}
	})
}

// TestSessionsThatEndTogetherComeWithOneStep checks that a step waits for more ends as long as they come: a step costs
// the server more than a session that waits for it.
func TestSessionsThatEndTogetherComeWithOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parallel, rounds = 10, 12
		s, nodes := site.Site{Name: "lon1"}, newFaulty()
		for i := range parallel * rounds {
			n := fmt.Sprintf("n%03d", i)
			s.Nodes = append(s.Nodes, site.Node{Name: n})
			pause := time.Duration(20+i%parallel*15) * time.Millisecond
			nodes.slow[at{n, preparing}], nodes.slow[at{n, deploying}] = pause, pause
		}
		p, err := plan(s, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		var saved saves
		report, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: nodes, Recorder: &diary{}, RunID: "r1",
			Keep: saved.keep, Drive: onTemporal(), Parallelism: parallel, Now: time.Now, Machines: rollout.NewMachines(nil)})
		if err != nil || report.Status != rollout.StatusSucceeded {
			t.Fatalf("the run ended as %q, error %v", report.Status, err)
		}
		if steps := len(saved); steps > 2*rounds+6 {
			t.Errorf("%d sessions took %d steps, want one for each %d of them", len(nodes.sessions), steps, parallel)
		}
	})
}

// TestAStepWaitsForWhatItStarted checks that an end that came before a step does not keep the ends of short sessions,
// which the step started, for the next one.
func TestAStepWaitsForWhatItStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, nodes := site.Site{Name: "lon1"}, newFaulty()
		takes := []time.Duration{10 * time.Millisecond, 60 * time.Millisecond, 50 * time.Millisecond}
		for i, n := range []string{"a", "b", "c"} {
			s.Nodes = append(s.Nodes, site.Node{Name: n})
			nodes.slow[at{n, preparing}] = takes[i]
		}
		p, err := plan(s, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		done := errors.New("done")
		_, err = rollout.Run(t.Context(), s, p, rollout.Options{Executor: nodes, Recorder: &diary{}, RunID: "r1",
			Now: time.Now, Parallelism: 2, Machines: rollout.NewMachines(nil),
			Drive: func(ctx context.Context, h *rollout.Hosted) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				go func() { _ = h.Serve(ctx, 1, nil, func(context.Context, rollout.Ends) error { return nil }) }()
				program, now, _ := h.Program()
				m := run.New(program)
				commands := m.Handle(run.Event{Kind: run.Begin}, now.Now)
				var out rollout.Stepped
				for i, want := range []int{0, 1, 2} {
					step := rollout.Step{Number: i + 1, At: now.Now, Commands: commands}
					if i > 0 {
						step.Wait = time.Second
					}
					if out, err = h.Step(step); err != nil {
						return err
					}
					if len(out.Ends) != want {
						t.Errorf("step %d has %d ends, want %d", i+1, len(out.Ends), want)
					}
					commands = nil
					for k, e := range out.Ends {
						commands = append(commands, m.Handle(run.Event{Kind: run.Ended, ID: e.ID, Result: out.Results[k]}, out.Now)...)
					}
					if i == 1 {
						time.Sleep(30 * time.Millisecond) // of the bubble: b ends before the next step
					}
				}
				return done
			}})
		if !errors.Is(err, done) {
			t.Error(err)
		}
	})
}

// TestADecisionEndsAWaitingStep checks that what a person decides is not kept waiting by a step that waits for ends.
func TestADecisionEndsAWaitingStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}}}
		p, err := plan(s, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		done := errors.New("done")
		_, err = rollout.Run(t.Context(), s, p, rollout.Options{Executor: newFaulty(), Recorder: &diary{}, RunID: "r1",
			Now: time.Now, Machines: rollout.NewMachines(nil), Decisions: &persons{from: time.Now(),
				decisions: []journal.Recorded{{Event: journal.Event{Action: journal.Hold, Millis: 1500}}}},
			Drive: func(ctx context.Context, h *rollout.Hosted) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				go func() { _ = h.Serve(ctx, 1, nil, func(context.Context, rollout.Ends) error { return nil }) }()
				go func() { _, _ = h.Watch(ctx, 0) }()
				program, now, _ := h.Program()
				if _, err := h.Step(rollout.Step{Number: 1, At: now.Now,
					Commands: run.New(program).Handle(run.Event{Kind: run.Begin}, now.Now)}); err != nil {
					return err
				}
				begin := time.Now()
				if _, err := h.Step(rollout.Step{Number: 2, At: now.Now, Wait: time.Hour}); err != nil {
					return err
				}
				if took := time.Since(begin); took != 2*time.Second {
					t.Errorf("the step waited %s, want 2s, when the decision is read", took)
				}
				return done
			}})
		if !errors.Is(err, done) {
			t.Error(err)
		}
	})
}

// losing loses the answer of a step of whoever hosts the run, who is gone then.
type losing struct {
	interceptor.WorkerInterceptorBase
}

func (*losing) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	l := &losingActivity{}
	l.Next = next
	return l
}

// losingActivity is the interceptor of one activity.
type losingActivity struct {
	interceptor.ActivityInboundInterceptorBase
}

func (l *losingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	out, err := l.Next.ExecuteActivity(ctx, in)
	if activity.GetInfo(ctx).ActivityType.Name != "Step" || err != nil {
		return out, err
	}
	time.Sleep(time.Hour) // of the bubble: whatever the step has begun ends
	return nil, sdk.NewNonRetryableApplicationError("the worker is gone", "run", nil)
}

// TestACallbackOfALostFirstStepIsCalledOnce checks that nothing begins before the workflow knows of the first step: the
// run starts anew then.
func TestACallbackOfALostFirstStepIsCalledOnce(t *testing.T) {
	s := site.Site{Name: "lon1"}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	p.Phases = []planner.Phase{{TaskGroup: task.Management,
		Tasks: []task.Task{{Kind: task.Callback, Name: "p/c", Group: task.Management, Action: task.Run}}}}
	caller := &operator{}
	synctest.Test(t, func(t *testing.T) {
		var next temporal.Input
		host := func(drive func(context.Context, *rollout.Hosted) error) error {
			_, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: newFaulty(), Recorder: &diary{}, RunID: "r1",
				Drive: drive, Keep: new(saves).keep, Now: time.Now, Caller: caller, Machines: rollout.NewMachines(nil)})
			return err
		}
		err := host(intercepted(new(atomic.Int32), nil, []interceptor.WorkerInterceptor{&losing{}}))
		var goesOn *workflow.ContinueAsNewError
		if !errors.As(err, &goesOn) || converter.GetDefaultDataConverter().FromPayloads(goesOn.Input, &next) != nil {
			t.Fatalf("the workflow ended with %v", err)
		}
		if next.Generation != 1 || next.Continued != nil || len(caller.calls) > 0 {
			t.Errorf("generation %d goes on with %v after %d calls, want 1, that starts anew after none", next.Generation,
				next.Continued, len(caller.calls))
		}
		if err := host(intercepted(new(atomic.Int32), &next, nil)); err != nil || len(caller.calls) != 1 {
			t.Errorf("%d calls, want 1; the run ended with %v", len(caller.calls), err)
		}
	})
}

// TestACallbackOfALostStepIsNotCalledAgain checks that a process that goes on with a run counts a callback as begun
// that the process before started in a step of which only the journal has a trace.
func TestACallbackOfALostStepIsNotCalledAgain(t *testing.T) {
	s := site.Site{Name: "lon1"}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	p.Phases = []planner.Phase{{TaskGroup: task.Management,
		Tasks: []task.Task{{Kind: task.Callback, Name: "p/c", Group: task.Management, Action: task.Run}}}}
	var got run.Result
	drive := func(ctx context.Context, h *rollout.Hosted) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		reports := make(chan rollout.Ends, 1)
		go func() {
			_ = h.Serve(ctx, 1, nil, func(_ context.Context, ends rollout.Ends) error {
				reports <- ends
				return nil
			})
		}()
		program, now, _ := h.Program()
		m := run.New(program)
		commands := m.Handle(run.Event{Kind: run.Begin}, now.Now)
		if _, err := h.Step(rollout.Step{Number: 1, At: now.Now, Commands: commands}); err != nil {
			return err
		}
		ended := (<-reports).Ends[0].ID
		out, err := h.Step(rollout.Step{Number: 2, At: now.Now, Ended: []run.ID{ended}})
		if err != nil {
			return err
		}
		got = out.Results[0]
		commands = m.Handle(run.Event{Kind: run.Ended, ID: ended, Result: got}, out.Now)
		_, err = h.Step(rollout.Step{Number: 3, At: out.Now, Commands: commands})
		return err
	}
	var saved saves
	diary, caller := &diary{}, &operator{}
	o := rollout.Options{Executor: newFaulty(), Recorder: diary, RunID: "r1", Drive: drive, Keep: saved.keep,
		Now: time.Now, Caller: caller, Machines: rollout.NewMachines(nil)}
	synctest.Test(t, func(t *testing.T) {
		if _, err := rollout.Run(t.Context(), s, p, o); err != nil || got.Outcome != run.Succeeded {
			t.Fatalf("the callback ended as %q, the run with %v", got.Outcome, err)
		}
	})
	o.Begun = map[string]bool{}
	for _, e := range diary.events {
		if e.Kind == journal.TaskStarted {
			o.Begun[rollout.Began(e)] = true
		}
	}
	o.Saved, err = rollout.LoadSaved("1", func(string) ([]byte, error) { return saved[0], nil })
	if err != nil {
		t.Fatal(err)
	}
	o.SavedAt, o.Machines = "1", rollout.NewMachines(nil)
	synctest.Test(t, func(t *testing.T) {
		_, _ = rollout.Run(t.Context(), s, p, o) // it fails with the callback
	})
	if got.Outcome != run.Failed || len(caller.calls) != 1 {
		t.Errorf("the callback ended as %q after %d calls, want one call, and a failure", got.Outcome, len(caller.calls))
	}
}
