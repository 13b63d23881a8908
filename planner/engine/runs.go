package engine

import (
	"context"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Runs knows the runs of a process that serves Terraform. The zero value is ready for use.
type Runs struct {
	mu       sync.Mutex
	sites    sync.Map      // those that this process created -> their nodes
	caches   sync.Map      // site -> its *Cache
	replaced sync.Map      // site -> the tainted deployment that is being replaced
	giveUp   chan struct{} // closed when the process ends
	stop     chan struct{} // closed when runs have to end in an orderly way
	stopOnce sync.Once
	asked    chan struct{} // closed when the stop was asked for by Terraform or a person
	askOnce  sync.Once
	work     sync.WaitGroup
}

// Ask notes that the stop of this process was asked for: it is not only that Terraform is gone.
func (r *Runs) Ask() { r.askOnce.Do(func() { close(r.channel(&r.asked)) }) }

// Asked is closed by Ask; nil where nothing is shared.
func (r *Runs) Asked() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.channel(&r.asked)
}

// Stop ends runs and refreshes, those that come later too, as Terraform's first interrupt does: what runs has its
// grace, and what was reached is saved. It is for signals that reach this process itself.
func (r *Runs) Stop() { r.stopOnce.Do(func() { close(r.channel(&r.stop)) }) }

// Stoppable returns a context that Stop ends, too.
func (r *Runs) Stoppable(ctx context.Context) (context.Context, context.CancelFunc) {
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
	close(r.Ending())
	done := make(chan struct{})
	go func() { r.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// Wait returns when no run is at work.
func (r *Runs) Wait() { r.work.Wait() }

// Ending returns the channel that GiveUp closes; nil where nothing is shared.
func (r *Runs) Ending() chan struct{} {
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

// Created remembers that this process created a site.
func (r *Runs) Created(name string, nodes []site.Node) { r.sites.Store(name, nodes) }

// WasCreated reports whether this process created the site, and with which nodes: a Delete that follows belongs to an
// older object under create_before_destroy, and these nodes are the new one's.
func (r *Runs) WasCreated(name string) (nodes []site.Node, created bool) {
	found, created := r.sites.Load(name)
	nodes, _ = found.([]site.Node)
	return nodes, created
}

// Cache returns the cache of a site; a new one where nothing is shared.
func (r *Runs) Cache(site string) *Cache {
	cache := &Cache{}
	if r != nil {
		found, _ := r.caches.LoadOrStore(site, cache)
		cache, _ = found.(*Cache)
	}
	return cache
}

// Working returns a context of what is at work until it is cancelled: GiveUp waits for it, and Stop ends it.
func (r *Runs) Working(ctx context.Context) (context.Context, context.CancelFunc) {
	r.work.Add(1)
	ctx, stop := r.Stoppable(ctx)
	return ctx, func() { stop(); r.work.Done() }
}

// Within bounds a run. The run counts as at work until it is cancelled.
func (r *Runs) Within(ctx context.Context, operation string, limit time.Duration) (context.Context,
	context.CancelFunc) {
	ctx, end := r.Working(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &TimeLimitError{Setting: "timeouts." + operation,
		Limit: limit})
	return ctx, func() { cancel(); end() }
}

// Replaced is a tainted deployment, as its deletion saw it. The creation that follows in the same apply gets no prior
// state, and learns from it which nodes the failed creation worked on.
type Replaced struct {
	Nodes []site.Node
	Shown any // the same, as who asks for runs has them
}

// Replace remembers a tainted deployment of a site.
func (r *Runs) Replace(site string, old Replaced) { r.replaced.Store(site, old) }

// ReplacedBy returns the tainted deployment that a new one of a site replaces, once.
func (r *Runs) ReplacedBy(site string) Replaced {
	found, _ := r.replaced.LoadAndDelete(site)
	old, _ := found.(Replaced)
	return old
}
