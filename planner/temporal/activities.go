package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// Runs are the runs that this process hosts. Perform is required.
type Runs struct {
	// Perform executes a run to its end, and calls drive for its machine. saved is where the process before saved what it
	// did; empty: nothing was done.
	Perform func(ctx context.Context, site, id, saved string,
		drive func(context.Context, *rollout.Hosted, <-chan struct{}) error) error
	Queue string // the task queue of this process alone; empty: that of workflows
	// Signal signals a workflow.
	Signal func(ctx context.Context, workflow, signal string, arg any) error

	leaving chan struct{} // closed when this process is to end; nil: it does not

	mu   sync.Mutex
	runs map[string]*hosted
}

// leave lets other processes go on with the runs of this one. It returns when they lose nothing by that, or ctx ends.
func (r *Runs) leave(ctx context.Context) {
	close(r.leaving)
	r.mu.Lock()
	var runs []*hosted
	for _, h := range r.runs {
		runs = append(runs, h)
	}
	r.mu.Unlock()
	for _, h := range runs {
		select {
		case <-h.ready:
			h.Leave(ctx)
		case <-h.ended:
		case <-ctx.Done():
		}
	}
}

// hosted is a run of this process, of one generation.
type hosted struct {
	*rollout.Hosted
	ready chan struct{} // closed when Hosted is there
	ended chan struct{} // closed with err at the end
	err   error
}

// Activities are what workflows call. They work on the runs of this process, but for Open.
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
	to.RegisterWorkflowWithOptions(Converge, workflow.RegisterOptions{Name: ConvergeName})
}

// heartbeatLimit is for how long an activity may be silent before its worker counts as gone.
const heartbeatLimit = 30 * time.Second

// key is that of a run here. Another process, or this one, has another generation of it.
func key(id string, generation int) string { return fmt.Sprintf("%s/%d", id, generation) }

func (r *Runs) put(k string, h *hosted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[string]*hosted{}
	}
	r.runs[k] = h
}

func (r *Runs) drop(k string, h *hosted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[k] == h {
		delete(r.runs, k)
	}
}

// lostType is the type of errors that say that a run is not here.
const lostType = "run"

func (r *Runs) run(k string) (*hosted, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.runs[k]; h != nil {
		return h, nil
	}
	return nil, temporal.NewNonRetryableApplicationError(fmt.Sprintf("run %s: this worker does not have it", k), lostType,
		nil)
}

// Len returns how many runs this process hosts.
func (r *Runs) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.runs)
}

// Open makes a run ready in this process. A run that needs no machine has ended then.
func (a *Activities) Open(ctx context.Context, in opening) (opened, error) {
	defer heartbeat(ctx)()
	h := a.runs.perform(context.WithoutCancel(ctx), in)
	select {
	case <-h.ready:
		return opened{Queue: a.runs.Queue}, nil
	case <-h.ended:
		return opened{Ended: true}, h.err
	case <-ctx.Done(): // another attempt fences this one off
		return opened{}, ctx.Err()
	}
}

// perform executes a run in a goroutine.
func (r *Runs) perform(ctx context.Context, in opening) *hosted {
	k, h := key(in.Run, in.Generation), &hosted{ready: make(chan struct{}), ended: make(chan struct{})}
	r.put(k, h)
	go func() {
		defer r.drop(k, h)
		defer close(h.ended)
		h.err = r.Perform(ctx, in.Site, in.Run, in.Saved,
			func(ctx context.Context, machine *rollout.Hosted, lost <-chan struct{}) error {
				h.Hosted = machine
				close(h.ready)
				select {
				case <-machine.Finished():
					return nil
				case <-lost:
					return rollout.ErrGone
				}
			})
	}()
	return h
}

// Close returns when the outcome of a run that is over is recorded.
func (a *Activities) Close(ctx context.Context, k string) error {
	h, err := a.runs.run(k)
	if err != nil {
		return nil //nolint:nilerr // it has ended
	}
	defer heartbeat(ctx)()
	select {
	case <-h.ended:
		if journal.Away(h.err) {
			return gone(fmt.Errorf("%w: %w", rollout.ErrGone, h.err))
		}
		return h.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Program returns the program of the pass that is under way.
func (a *Activities) Program(ctx context.Context, k string, retried []run.ID) (begun, error) {
	h, err := a.runs.run(k)
	if err != nil {
		return begun{}, err
	}
	defer heartbeat(ctx)()
	p, now, parts := h.Program(retried...)
	return begun{p, now, parts}, nil
}

// Step executes commands and takes the results of sessions. It may be called again for the same step.
func (a *Activities) Step(ctx context.Context, s step) (rollout.Stepped, error) {
	h, err := a.runs.run(s.Run)
	if err != nil {
		return rollout.Stepped{}, err
	}
	defer heartbeat(ctx)()
	out, err := h.Step(s.Step)
	if err != nil && !errors.Is(err, rollout.ErrGone) {
		err = temporal.NewNonRetryableApplicationError(err.Error(), "step", err)
	}
	return out, gone(err)
}

// Sessions runs a part of the sessions of a run, and reports ends to its workflow.
func (a *Activities) Sessions(ctx context.Context, k string, part int, workflow string) error {
	h, err := a.runs.run(k)
	if err != nil {
		return err
	}
	defer heartbeat(ctx)()
	err = h.Serve(ctx, part, a.runs.leaving, func(ctx context.Context, ends rollout.Ends) error {
		return a.runs.Signal(ctx, workflow, endedSignal, ended{Run: k, Ends: ends})
	})
	return gone(err)
}

// gone returns an error that says that this process does not have the run any more as one that lets another one go on.
func gone(err error) error {
	if errors.Is(err, rollout.ErrLeft) || errors.Is(err, rollout.ErrGone) {
		return temporal.NewNonRetryableApplicationError(err.Error(), lostType, err)
	}
	return err
}

// Watch returns what persons decide about the run, or that it is stopped.
func (a *Activities) Watch(ctx context.Context, k string, after int) (watched, error) {
	h, err := a.runs.run(k)
	if err != nil {
		return watched{}, err
	}
	defer heartbeat(ctx)()
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	ending := make(chan struct{})
	go func() {
		select {
		case <-a.runs.leaving:
			h.Leave(ctx)
			close(ending)
			cancel()
		case <-ctx.Done():
		}
	}()
	events, err := h.Watch(ctx, after)
	select {
	case <-ending:
		err = rollout.ErrLeft
	default:
	}
	if err != nil {
		return watched{}, gone(err)
	}
	return watched{h.Options.Now().UTC(), events, len(events) == 0 && ctx.Err() == nil}, nil
}

// watchTime is how long one Watch takes at most.
const watchTime = 30 * 24 * time.Hour

// heartbeat sends heartbeats of an activity, three in the time after which it counts as gone, until the returned
// function is called.
func heartbeat(ctx context.Context) (end func()) {
	interval := heartbeatLimit / 3
	if activity.IsActivity(ctx) {
		interval = cmp.Or(activity.GetInfo(ctx).HeartbeatTimeout, heartbeatLimit) / 3
	}
	stop := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		ticker := time.NewTicker(interval)
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
