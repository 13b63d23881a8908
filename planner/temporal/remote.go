package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// ConvergeName is the name of the workflow of one session in a zone.
var ConvergeName = fmt.Sprintf("slipway-converge-v%d", Version)

// lostLimit is how long the end of a session is waited for that was given up.
const lostLimit = 2 * heartbeatLimit

// convergeInput is the input of a session in a zone.
type convergeInput struct {
	Site    string
	Run     string // empty: a look at the node outside of a run
	Request content
	Zone    string
	Queue   string // of the zone
	// As of Settings.
	ZoneWait, LostAfter time.Duration
}

// content is something in the journal, by its address; outside of a run, where the journal has nothing, it is here.
// The server has it encrypted in both cases.
type content struct {
	Address string `json:",omitempty"`
	Here    []byte `json:",omitempty"`
}

// leave puts a content where the other side finds it.
func (in convergeInput) leave(ctx context.Context, store *journal.Store, text []byte) (c content, err error) {
	if in.Run == "" {
		return content{Here: text}, nil
	}
	err = patiently(ctx, func() error {
		c.Address, err = store.Leave(ctx, in.Run, journal.Blob{Zone: in.Zone, Content: text})
		return err
	})
	return c, err
}

// take returns a content that the other side left.
func (in convergeInput) take(ctx context.Context, store *journal.Store, c content) (text []byte, err error) {
	if c.Address == "" {
		return c.Here, nil
	}
	err = patiently(ctx, func() error {
		text, err = store.Blob(ctx, in.Run, c.Address)
		return err
	})
	return text, err
}

// patiently calls try, again while the database is away, for as long as a run waits for it.
func patiently(ctx context.Context, try func() error) error {
	for start := time.Now(); ; {
		err := try()
		if !journal.Away(err) || time.Since(start) > journal.LeaseTime*2/3 {
			return err
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return err
		}
	}
}

// convergeRequest is what a worker of a zone does, encrypted in the journal.
type convergeRequest struct {
	Node     site.Node // without secrets of its connection
	Manifest converge.Manifest
}

// convergeResult is what came of it, likewise.
type convergeResult struct {
	Results []converge.Result
	Summary converge.Summary
	Err     *rollout.SavedError
}

// Converge is the workflow of one session in a zone. What may have run is not run again; a session that was not begun
// is tried again for a while, by any worker of the zone.
func Converge(ctx workflow.Context, in convergeInput) (result content, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: in.Queue,
		ScheduleToStartTimeout: in.ZoneWait, StartToCloseTimeout: 24 * time.Hour, HeartbeatTimeout: in.LostAfter,
		WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}})
	var zone *Zone
	for start := workflow.Now(ctx); ; {
		err = workflow.ExecuteActivity(ctx, zone.Session, in).Get(ctx, &result)
		if !notBegun(err) || ctx.Err() != nil || workflow.Now(ctx).Sub(start) >= in.ZoneWait {
			return result, err
		}
		if workflow.Sleep(ctx, time.Second) != nil {
			return result, err
		}
	}
}

// Remote is an executor whose sessions workers of zones run.
type Remote struct {
	settings Settings
	client   client.Client
	journals engine.Journals

	mu     sync.Mutex
	stores map[string]*journal.Store // by site
}

var _ rollout.Executor = (*Remote)(nil)

// store returns the journal of a site.
func (e *Remote) store(ctx context.Context, siteName string) (*journal.Store, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.stores[siteName]; s != nil {
		return s, nil
	}
	var s *journal.Store
	err := patiently(ctx, func() (err error) {
		s, err = e.journals.Open(ctx, siteName)
		return err
	})
	if err != nil {
		return nil, err
	}
	if e.stores == nil {
		e.stores = map[string]*journal.Store{}
	}
	e.stores[siteName] = s
	return s, nil
}

// Close implements [rollout.Executor].
func (e *Remote) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, s := range e.stores {
		errs = append(errs, s.Close())
	}
	e.stores = nil
	return errors.Join(errs...)
}

// Converge implements [rollout.Executor].
func (e *Remote) Converge(ctx context.Context, node site.Node, m converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	notStarted := func(err error) (converge.Summary, error) {
		return converge.Summary{}, fmt.Errorf("node %q: not started: %w", node.Name, err)
	}
	store, err := e.store(ctx, m.Site)
	if err != nil {
		return notStarted(err)
	}
	node = engine.WithoutCredentials([]site.Node{node})[0]
	text, err := json.Marshal(convergeRequest{node, m})
	if err != nil {
		return notStarted(err)
	}
	in := convergeInput{Site: m.Site, Run: m.Run, Zone: node.Zone, Queue: e.settings.zones(node.Zone)[0],
		ZoneWait:  cmp.Or(e.settings.ZoneWait, DefaultZoneWait),
		LostAfter: cmp.Or(e.settings.LostAfter, DefaultLostAfter)}
	if in.Request, err = in.leave(ctx, store, text); err != nil {
		return notStarted(err)
	}
	id := "slipway/" + m.Site + "/session/" + uuid.NewString()
	if m.Session != "" { // who hosts the run now finds what who hosted it before started
		id = "slipway/" + m.Site + "/" + m.Run + "/session/" + m.Session
	}
	started, err := e.start(ctx, id, in)
	if err != nil {
		return notStarted(err)
	}
	var result content
	err = started.Get(ctx, &result)
	if errors.Is(context.Cause(ctx), journal.ErrFenced) { // the process that goes on with the run has the session
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost, Message: context.Cause(ctx).Error()}
	}
	if ctx.Err() != nil { // the session is given up, and says within its grace what it did
		calls, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostLimit)
		defer cancel()
		if err = e.client.CancelWorkflow(calls, id, ""); err == nil {
			err = started.Get(calls, &result)
		}
	}
	if err != nil {
		return converge.Summary{}, in.failed(node, err)
	}
	text, err = in.take(context.WithoutCancel(ctx), store, result)
	var out convergeResult
	if err == nil {
		err = resource.Decode(text, &out)
	}
	if err != nil {
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost,
			Message: fmt.Sprintf("the result of the session cannot be read: %v", err)}
	}
	if err := out.check(m.Most()); err != nil {
		return converge.Summary{}, err
	}
	for _, r := range out.Results {
		each(r)
	}
	return out.Summary, out.Err.Err()
}

// check cleans what the worker of a zone sent, which is trusted no more than its nodes, and refuses what no node may
// send: each of the results that the session has at most comes once, or twice when it waits for a confirmation.
func (r *convergeResult) check(most int) error {
	if len(r.Results) > 2*most {
		return r.refused(fmt.Sprintf("more than the %d results that it was asked for", most))
	}
	for i := range r.Results {
		converge.Message{Result: &r.Results[i]}.Legible()
	}
	converge.Message{Summary: &r.Summary}.Legible()
	if excess := r.Summary.Excess(); excess != "" {
		return r.refused(excess)
	}
	return nil
}

func (*convergeResult) refused(excess string) error {
	return &converge.SessionError{Code: converge.CodeProtocol,
		Message: "the worker of the zone sent " + excess + ", and its result was refused"}
}

// start starts the workflow of a session, also when the server is away for a while.
func (e *Remote) start(ctx context.Context, id string, in convergeInput) (client.WorkflowRun, error) {
	for {
		run, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: e.settings.control(),
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE}, ConvergeName, in)
		if err == nil {
			return run, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// failed returns what the failure of a session's workflow says of the node.
func (in convergeInput) failed(node site.Node, err error) error {
	zone, command := "no zone", "worker"
	if z := node.Zone; z != "" {
		zone, command = fmt.Sprintf("the zone %q", z), "worker --zone "+z
	}
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return &transport.Error{Kind: transport.Unreachable, Node: node.Name, Err: err, Message: resource.Textf(
			"it has %s, and no worker took its session in %s; start `terraform-provider-slipway %s`", zone, in.ZoneWait, command)}
	case notBegun(err):
		return &transport.Error{Kind: transport.Unreachable, Node: node.Name, Err: err, Message: resource.Textf(
			"no worker of %s has begun its session in %s: %v", zone, in.ZoneWait, err)}
	case errors.As(err, &timeout):
		return &converge.SessionError{Code: converge.CodeGone,
			Message: "the worker that ran the session is gone, so that nobody knows what it did"}
	}
	return &converge.SessionError{Code: converge.CodeLost,
		Message: fmt.Sprintf("the session ended without a result: %v", err)}
}
