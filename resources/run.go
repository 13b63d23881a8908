package resources

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Runs knows the runs of this process.
type Runs struct {
	mu       sync.Mutex
	sites    map[string][]site.Node // those that this process created, with their nodes
	memories map[string]*siteMemory
	replaced map[string]replaced // site -> the tainted deployment that is being replaced
	giveUp   chan struct{}       // closed when the process ends
	stop     chan struct{}       // closed when runs have to end in an orderly way
	stopOnce sync.Once
	work     sync.WaitGroup
}

// Stop ends runs and refreshes, those that come later too, as Terraform's first interrupt does: what runs has its
// grace, and what was reached is saved. It is for signals that reach this process itself.
func (r *Runs) Stop() { r.stopOnce.Do(func() { close(r.channel(&r.stop)) }) }

// stoppable returns a context that Stop ends, too.
func (r *Runs) stoppable(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.channel(&r.stop):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// GiveUp makes runs end at once and returns when none is at work any more, or after limit. The process must not end
// before: Terraform gives it two seconds after a second interrupt, time enough to write down what was reached and to
// free the sites (terraform.md 5.7).
func (r *Runs) GiveUp(limit time.Duration) {
	close(r.ending())
	done := make(chan struct{})
	go func() { r.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// Wait returns when no run is at work.
func (r *Runs) Wait() { r.work.Wait() }

// ending returns the channel that GiveUp closes.
func (r *Runs) ending() chan struct{} { return r.channel(&r.giveUp) }

// channel returns one of the channels of r, which makes the zero value ready for use.
func (r *Runs) channel(c *chan struct{}) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *c == nil {
		*c = make(chan struct{})
	}
	return *c
}

// created remembers that this process created a site.
func (r *Runs) created(name string, nodes []site.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sites == nil {
		r.sites = map[string][]site.Node{}
	}
	r.sites[name] = nodes
}

// wasCreated reports whether this process created the site, and with which nodes: a Delete that follows belongs to an older object under
// create_before_destroy, and these nodes are the new one's.
func (r *Runs) wasCreated(name string) (nodes []site.Node, created bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	nodes, created = r.sites[name]
	return nodes, created
}

// activeRun is one run in the journal.
type activeRun struct {
	ctx    context.Context
	id     string
	store  *journal.Store
	writer *journal.Writer
	runs   *Runs

	versions, events int // of services that are recorded
}

// begin opens the journal and takes the site's lease.
func (d *Deployment) begin(ctx context.Context, operation, siteName string, p *planner.Plan) (*activeRun, diag.Diagnostics) {
	var diags diag.Diagnostics
	id, err := uuid.NewV7()
	if err != nil {
		diags.AddError("No run id", err.Error())
		return nil, diags
	}
	file := journal.File(d.provider.JournalDirectory, siteName)
	store, err := journal.Open(ctx, file)
	if err != nil {
		diags.AddError("The journal cannot be opened", fmt.Sprintf("%v\n\nThe journal is the database %s; journal_directory of the provider says where it lies. No node was touched.", err, file))
		return nil, diags
	}
	about := journal.Run{ID: id.String(), Site: siteName, Operation: operation}
	if p != nil {
		about.Digest, about.Steps = p.Digest, p.Steps()
	}
	writer, err := store.Start(ctx, about)
	if err != nil {
		_ = store.Close() // nothing was written
		var busy *journal.BusyError
		if errors.As(err, &busy) {
			diags.AddError("Another run is at work on the site", busy.Error()+"\n\nNo node was touched. Wait for the run to end and apply again.")
		} else {
			diags.AddError("The run cannot be recorded", fmt.Sprintf("%v\n\nNo node was touched.", err))
		}
		return nil, diags
	}
	d.provider.Runs.work.Add(1)
	return &activeRun{ctx: ctx, id: about.ID, store: store, writer: writer, runs: d.provider.Runs}, diags
}

// end writes the outcome and gives the lease back. It is done even when the run's context has ended.
func (r *activeRun) end(status, report string) (diags diag.Diagnostics) {
	defer r.runs.work.Done()
	err := errors.Join(r.writer.Finish(context.WithoutCancel(r.ctx), status, report), r.store.Close())
	if err != nil {
		diags.AddWarning("The journal is not complete", err.Error()+"\n\nThis costs history only: what is applied is in the nodes' ledgers and in the state.")
	}
	return diags
}

// overtime is why a run ended that was not done within its time limit.
type overtime struct {
	operation string // create, update or delete
	limit     time.Duration
}

func (e *overtime) Error() string {
	return fmt.Sprintf("The limit of timeouts.%s, %s, is over", e.operation, e.limit)
}

// within bounds a run.
func (r *Runs) within(ctx context.Context, operation string, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := r.stoppable(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &overtime{operation, limit})
	return ctx, func() { cancel(); stop() }
}
