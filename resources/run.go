package resources

import (
	"context"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// Runs knows the runs of this process.
type Runs struct {
	mu       sync.Mutex
	sites    map[string][]site.Node   // those that this process created, with their nodes
	caches   map[string]*engine.Cache // by site
	replaced map[string]replaced      // site -> the tainted deployment that is being replaced
	giveUp   chan struct{}            // closed when the process ends
	stop     chan struct{}            // closed when runs have to end in an orderly way
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

// ending returns the channel that GiveUp closes; nil where nothing is shared.
func (r *Runs) ending() chan struct{} {
	if r == nil {
		return nil
	}
	return r.channel(&r.giveUp)
}

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

// wasCreated reports whether this process created the site, and with which nodes: a Delete that follows belongs to an
// older object under create_before_destroy, and these nodes are the new one's.
func (r *Runs) wasCreated(name string) (nodes []site.Node, created bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	nodes, created = r.sites[name]
	return nodes, created
}

// cache returns the cache of a site; a new one where nothing is shared.
func (r *Runs) cache(site string) *engine.Cache {
	if r == nil {
		return &engine.Cache{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.caches == nil {
		r.caches = make(map[string]*engine.Cache)
	}
	if r.caches[site] == nil {
		r.caches[site] = &engine.Cache{}
	}
	return r.caches[site]
}

// within bounds a run. The run counts as at work until it is cancelled.
func (r *Runs) within(ctx context.Context, operation string, limit time.Duration) (context.Context,
	context.CancelFunc) {
	r.work.Add(1)
	ctx, stop := r.stoppable(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &engine.TimeLimitError{Setting: "timeouts." + operation,
		Limit: limit})
	return ctx, func() { cancel(); stop(); r.work.Done() }
}

// replaced is a tainted deployment, as Delete saw it. The Create that follows in the same apply gets no prior state,
// and learns from it which nodes the failed creation worked on.
type replaced struct {
	nodes []site.Node
	value values.Opaque // the same as they stand in the state
}

// replace remembers a tainted deployment of a site.
func (r *Runs) replace(site string, old replaced) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replaced == nil {
		r.replaced = map[string]replaced{}
	}
	r.replaced[site] = old
}

// replacedBy returns the tainted deployment that a new one of a site replaces, once.
func (r *Runs) replacedBy(site string) replaced {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.replaced[site]
	delete(r.replaced, site)
	return old
}
