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
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// ConvergeName is the name of the workflow of a batch of sessions in a zone.
var ConvergeName = fmt.Sprintf("slipway-converge-v%d", Version)

// lostLimit is how long the end of a session is waited for that was given up.
const lostLimit = 2 * heartbeatLimit

// convergeInput is the input of a batch, or of a look at a node outside of a run.
type convergeInput struct {
	Build string // version of slipway that asks
	Site  string
	Run   string // empty: a look
	Batch string // its id, or that of the look
	// what is done with the node of a look, a convergeRequest; empty: the journal of its site has it
	Look  []byte `json:",omitempty"`
	Zone  string
	Queue string // of the zone
	// As of Settings.
	ZoneWait, LostAfter time.Duration
}

// patiently calls try, again while the database is away, for as long as a run waits for it.
func patiently(ctx context.Context, try func() error) error {
	return within(ctx, journal.LeaseTime*2/3, try)
}

// within calls try, again while the database is away, for that time.
func within(ctx context.Context, limit time.Duration, try func() error) error {
	for start := time.Now(); ; {
		err := try()
		if !journal.Away(err) || time.Since(start) > limit {
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
	Build    string    // version of slipway that asks
	Node     site.Node // without secrets of its connection
	Manifest converge.Manifest
}

// convergeResult is what came of it, likewise.
type convergeResult struct {
	Build   string // version of slipway of the worker
	Results []converge.Result
	Summary converge.Summary
	Err     *rollout.SavedError
}

// Remote is an executor whose sessions workers of zones run.
type Remote struct {
	server   *Client
	journals engine.Journals

	mu     sync.Mutex
	stores map[string]*journal.Store // by site
	lanes  map[laneKey]*lane
	silent map[string]answer // by zone: of a look that no worker took
	away   error             // why a look could not use the journal: later ones do not wait for it
	builds map[buildIn]bool  // of workers, other than that of this process, that ran sessions of the run
}

// laneKey identifies a lane.
type laneKey struct{ site, run, zone string }

// buildIn is a version of slipway that workers of a zone have.
type buildIn struct{ zone, build string }

var _ rollout.Executor = (*Remote)(nil)

// Zoned implements [rollout.Zoned].
func (*Remote) Zoned() bool { return true }

// store returns the journal of a site. Where it is not open yet, try opens it.
func (e *Remote) store(ctx context.Context, siteName string, try func(context.Context, func() error) error) (
	*journal.Store, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.stores[siteName]; s != nil {
		return s, nil
	}
	var s *journal.Store
	err := try(ctx, func() (err error) {
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
	for _, l := range e.lanes {
		l.close()
		l.ended.Wait()
	}
	var errs []error
	for _, s := range e.stores {
		errs = append(errs, s.Close())
	}
	e.stores, e.lanes = nil, nil
	return errors.Join(errs...)
}

// lane returns the lane of the sessions that batches with this input run.
func (e *Remote) lane(ctx context.Context, in convergeInput) (*lane, error) {
	store, err := e.store(ctx, in.Site, patiently)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := laneKey{in.Site, in.Run, in.Zone}
	l := e.lanes[key]
	if l == nil {
		if e.lanes == nil {
			e.lanes = map[laneKey]*lane{}
		}
		l = &lane{in: in, store: store, server: e.server, sent: map[*sent]bool{}, news: make(chan struct{}, 1)}
		l.context, l.close = context.WithCancel(context.WithoutCancel(ctx))
		e.lanes[key] = l
	}
	return l, nil
}

// Converge implements [rollout.Executor].
func (e *Remote) Converge(ctx context.Context, node site.Node, m converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	node, settings := engine.WithoutCredentials([]site.Node{node})[0], e.server.settings
	in := convergeInput{Build: settings.Build, Site: m.Site, Run: m.Run, Zone: node.Zone,
		Queue:     settings.zones(node.Zone)[0],
		ZoneWait:  cmp.Or(settings.ZoneWait, DefaultZoneWait),
		LostAfter: cmp.Or(settings.LostAfter, DefaultLostAfter)}
	session := m.Session // who hosts the run now finds what who hosted it before started
	if session == "" {
		session = uuid.NewString()
	}
	request := convergeRequest{settings.Build, node, m}
	a := e.try(ctx, in, session, request)
	for start := time.Now(); a.again() && ctx.Err() == nil && time.Since(start) < in.ZoneWait; {
		select {
		case <-time.After(time.Second):
			a = e.try(ctx, in, session, request)
		case <-ctx.Done():
		}
	}
	if errors.Is(context.Cause(ctx), rollout.ErrGone) {
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost, Message: context.Cause(ctx).Error()}
	}
	if a.result == nil {
		return converge.Summary{}, in.failed(node, a.err, a.notBegun)
	}
	if err := a.result.check(m.Most()); err != nil {
		return converge.Summary{}, err
	}
	for _, r := range a.result.Results {
		each(r)
	}
	if m.Mode == converge.Apply {
		a.result.Summary.Notice = e.otherBuild(in, a.result.Build)
	}
	return a.result.Summary, a.result.Err.Err()
}

// otherBuild says that a worker of another version of slipway ran a session, once for each zone and version.
func (e *Remote) otherBuild(in convergeInput, build string) string {
	if build == in.Build {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	of := buildIn{in.Zone, build}
	if e.builds[of] {
		return ""
	}
	if e.builds == nil {
		e.builds = map[buildIn]bool{}
	}
	e.builds[of] = true
	return fmt.Sprintf("%s ran its session, and this run is one of slipway %s: use one version for all workers of %s",
		resource.Textf("a worker of slipway %.100s", build), in.Build, nameZone(in.Zone))
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

// try lets a worker run a session, in a batch, or look at the node of one outside of a run.
func (e *Remote) try(ctx context.Context, in convergeInput, session string, r convergeRequest) answer {
	if in.Run == "" {
		return e.look(ctx, in, r)
	}
	l, err := e.lane(ctx, in)
	var text []byte
	if err == nil {
		text, err = json.Marshal(slot{session, r})
	}
	if err != nil {
		return answer{err: unaskedError{err}}
	}
	return l.run(ctx, session, text)
}

// unaskedError means that no worker could be asked to begin a session. It stays when that is repeated.
type unaskedError struct{ error }

// start starts a workflow of Converge, also when the server is away for a while.
func (c *Client) start(ctx context.Context, id string, in convergeInput) (client.WorkflowRun, error) {
	for {
		run, err := c.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: c.settings.control(),
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE}, ConvergeName, in)
		var ended *serviceerror.WorkflowExecutionAlreadyStarted // by a call whose answer was lost
		switch refused := c.settings.refused(err); {
		case err == nil:
			return run, nil
		case errors.As(err, &ended):
			return c.client.GetWorkflow(ctx, id, ""), nil
		case refused != nil:
			return nil, unaskedError{refused}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, early("%w: %w", context.Cause(ctx), err)
		}
	}
}

// ends waits for the end of a workflow, also when the server is away for a while, and returns how it ended, or that the
// server refuses to say it.
func (c *Client) ends(ctx context.Context, run client.WorkflowRun, result any) error {
	for {
		err := run.Get(ctx, result)
		var ended *temporal.WorkflowExecutionError
		var missing *serviceerror.NotFound
		if err == nil || errors.As(err, &ended) || errors.As(err, &missing) {
			return err
		}
		if refused := c.settings.refused(err); refused != nil {
			return unaskedError{refused}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return err
		}
	}
}

// untakenError means that no worker of a zone took what it was asked, for as long as that waited.
type untakenError struct {
	waited time.Duration
	there  string // see others
	error
}

var errNothing = errors.New("its worker left none")

// failed returns what the failure of a session's workflow says of the node.
func (in convergeInput) failed(node site.Node, err error, notBegun bool) error {
	zone, command := "no zone", "worker"
	if z := node.Zone; z != "" {
		zone, command = fmt.Sprintf("the zone %q", z), "worker --zone "+z
	}
	unasked := func(format string, args ...any) error {
		return &transport.Error{Kind: transport.Unreachable, Node: node.Name, Err: err, Unasked: true,
			Message: resource.Textf(format, args...)}
	}
	var timeout *temporal.TimeoutError
	var untaken untakenError
	switch {
	case errors.As(err, new(unaskedError)):
		return unasked("no worker could be asked for its session: %v", err)
	// a worker that has a session gives it up with a result
	case errors.Is(err, errNotBegun), temporal.IsCanceledError(err):
		return unasked("it has %s, and no worker had begun its session when that was given up; "+
			"start `terraform-provider-slipway %s`", zone, command)
	case errors.As(err, &untaken):
		return unasked("it has %s, and no worker took its session in %s; start `terraform-provider-slipway %s`%s",
			zone, untaken.waited, command, untaken.there)
	case notBegun:
		return unasked("no worker of %s has begun its session in %s: %v", zone, in.ZoneWait, cause(err))
	case errors.As(err, &timeout):
		return &converge.SessionError{Code: converge.CodeGone,
			Message: "the worker that ran the session is gone, so that nobody knows what it did"}
	}
	return &converge.SessionError{Code: converge.CodeLost,
		Message: fmt.Sprintf("the session ended without a result: %v", cause(cmp.Or(err, errNothing)))}
}

// cause returns what a worker said, out of the error of a workflow, which says with which ids and types it came.
func cause(err error) error {
	var said *temporal.ApplicationError
	var panicked *temporal.PanicError
	var terminated *temporal.TerminatedError
	switch {
	case errors.As(err, &said):
		return errors.New(said.Message())
	case errors.As(err, &panicked):
		return fmt.Errorf("its worker failed: panic: %s", panicked.Error())
	case errors.As(err, &terminated):
		return errors.New("its workflow was terminated on the Temporal server")
	}
	return err
}
