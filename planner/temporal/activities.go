package temporal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// Runs are the runs that this process has. The zero value is ready for use.
type Runs struct {
	mu   sync.Mutex
	runs map[string]*rollout.Hosted
}

// Activities are what workflows call. They work on the runs of this process.
type Activities struct{ runs *Runs }

var activities *Activities // for the names of the methods

// Registry is a worker, or a test environment.
type Registry interface {
	RegisterActivity(any)
	RegisterWorkflowWithOptions(any, workflow.RegisterOptions)
}

// Register registers the workflows and activities of runs.
func (r *Runs) Register(to Registry) {
	to.RegisterActivity(&Activities{r})
	to.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: RunName})
	to.RegisterWorkflowWithOptions(Sessions, workflow.RegisterOptions{Name: SessionsName})
}

// heartbeatLimit is for how long an activity may be silent before its worker counts as gone.
const heartbeatLimit = 30 * time.Second

// Host lets the workflow of a run find it here, until the returned function is called.
func (r *Runs) Host(h *rollout.Hosted) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[string]*rollout.Hosted{}
	}
	r.runs[h.Run()] = h
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.runs, h.Run())
	}
}

func (r *Runs) run(id string) (*rollout.Hosted, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.runs[id]; h != nil {
		return h, nil
	}
	return nil, temporal.NewNonRetryableApplicationError(fmt.Sprintf("run %s: this worker does not have it", id), "run", nil)
}

// Program returns the program of the pass that is under way.
func (a *Activities) Program(ctx context.Context, id string) (begun, error) {
	h, err := a.runs.run(id)
	if err != nil {
		return begun{}, err
	}
	defer heartbeat(ctx)()
	p, now := h.Program()
	return begun{p, steppedOf(now)}, nil
}

// Step executes commands and takes the results of sessions. It may be called again for the same step.
func (a *Activities) Step(ctx context.Context, s step) (stepped, error) {
	h, err := a.runs.run(s.Run)
	if err != nil {
		return stepped{}, err
	}
	defer heartbeat(ctx)()
	in := rollout.Step{Number: s.Number, At: s.At, Ended: s.Ended, Stop: s.Stop}
	for _, c := range s.Commands {
		in.Commands = append(in.Commands, c.command())
	}
	out, err := h.Step(in)
	if err != nil {
		err = temporal.NewNonRetryableApplicationError(err.Error(), "step", err)
	}
	return steppedOf(out), err
}

// Session runs a session to its end, or until it is lost before it started anything.
func (a *Activities) Session(ctx context.Context, id string, session run.ID) (lost bool, err error) {
	h, err := a.runs.run(id)
	if err != nil {
		return false, err
	}
	defer heartbeat(ctx)()
	return h.Perform(session)
}

// Watch returns what persons decide about the run, or that it is stopped.
func (a *Activities) Watch(ctx context.Context, id string, after int) (watched, error) {
	h, err := a.runs.run(id)
	if err != nil {
		return watched{}, err
	}
	defer heartbeat(ctx)()
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	events := h.Watch(ctx, after)
	return watched{h.Options.Now().UTC(), events, len(events) == 0 && ctx.Err() == nil}, nil
}

// watchTime is how long one Watch takes at most.
const watchTime = 30 * 24 * time.Hour

// heartbeat sends heartbeats of an activity until the returned function is called.
func heartbeat(ctx context.Context) (end func()) {
	stop := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		ticker := time.NewTicker(heartbeatLimit / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-stop:
				return
			}
		}
	})
	return func() { close(stop); sender.Wait() }
}
