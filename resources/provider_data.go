package resources

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// ProviderData is what the provider hands to resources and data sources when it is configured.
type ProviderData struct {
	// Connection holds the defaults for every node: the provider's configuration over the environment. A node's own
	// `connect` goes over it (site.Connection.Over).
	Connection site.Connection
	// JournalDirectory is the folder of the journals, relative to the working directory of Terraform or absolute.
	JournalDirectory string
	// JournalURL is that of the PostgreSQL database with the journals, which counts before the directory; a secret.
	JournalURL string
	// Unknown says that some of the provider's configuration is not known yet, as in the plan that also creates the key
	// it uses. Connection or Handing is then incomplete and no node may be reached. It is never set during an apply.
	Unknown bool
	// Keys encrypt what runs leave for workers; nil: there are none.
	Keys *encryption.Keys
	// Handing says how runs are handed over to another engine; nil: this process executes them.
	Handing *engine.Handing
	// Runs is shared by everything that starts runs in this process, so that main can wait for them.
	Runs *Runs
	// Planned are the nodes that the plan at work reaches otherwise.
	Planned *Planned
}

// connection returns the defaults of nodes' connections. key, when it is not null, is a private key in PEM that counts
// before the provider's keys, for nodes whose own connection names no key.
func (p ProviderData) connection(key types.String) site.Connection {
	if k := key.ValueString(); k != "" {
		return site.Connection{PrivateKey: k, Names: map[string]string{"private_key": "private_key_wo"}}.Over(p.Connection)
	}
	return p.Connection
}

// Journals returns where the journals are.
func (p ProviderData) Journals() journal.Location {
	setting := "journal_directory of the provider"
	if p.JournalURL != "" {
		setting = "journal of the provider, or SLIPWAY_JOURNAL,"
	}
	return journal.Location{Path: p.JournalDirectory, URL: p.JournalURL, Setting: setting, Keys: p.Keys}
}

// Runs knows the runs of this process.
type Runs struct {
	mu       sync.Mutex
	sites    sync.Map      // those that this process created -> their nodes
	caches   sync.Map      // site -> its *engine.Cache
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
func (r *Runs) created(name string, nodes []site.Node) { r.sites.Store(name, nodes) }

// wasCreated reports whether this process created the site, and with which nodes: a Delete that follows belongs to an
// older object under create_before_destroy, and these nodes are the new one's.
func (r *Runs) wasCreated(name string) (nodes []site.Node, created bool) {
	found, created := r.sites.Load(name)
	nodes, _ = found.([]site.Node)
	return nodes, created
}

// cache returns the cache of a site; a new one where nothing is shared.
func (r *Runs) cache(site string) *engine.Cache {
	cache := &engine.Cache{}
	if r != nil {
		found, _ := r.caches.LoadOrStore(site, cache)
		cache, _ = found.(*engine.Cache)
	}
	return cache
}

// working returns a context of what is at work until it is cancelled: GiveUp waits for it, and Stop ends it.
func (r *Runs) working(ctx context.Context) (context.Context, context.CancelFunc) {
	r.work.Add(1)
	ctx, stop := r.stoppable(ctx)
	return ctx, func() { stop(); r.work.Done() }
}

// within bounds a run. The run counts as at work until it is cancelled.
func (r *Runs) within(ctx context.Context, operation string, limit time.Duration) (context.Context,
	context.CancelFunc) {
	ctx, end := r.working(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &engine.TimeLimitError{Setting: "timeouts." + operation,
		Limit: limit})
	return ctx, func() { cancel(); end() }
}

// replaced is a tainted deployment, as Delete saw it. The Create that follows in the same apply gets no prior state,
// and learns from it which nodes the failed creation worked on.
type replaced struct {
	nodes []site.Node
	value values.Opaque // the same as they stand in the state
}

// replace remembers a tainted deployment of a site.
func (r *Runs) replace(site string, old replaced) { r.replaced.Store(site, old) }

// replacedBy returns the tainted deployment that a new one of a site replaces, once.
func (r *Runs) replacedBy(site string) replaced {
	found, _ := r.replaced.LoadAndDelete(site)
	old, _ := found.(replaced)
	return old
}

// Planned are the nodes that a plan connects to otherwise. Terraform gives the refresh of a deployment its state alone,
// with the connections of the last apply; but in one plan nodes come before the deployment that depends on them, in the
// same process. This is the one exception to the rule that what a deployment knows of the site comes through its
// configuration and its state: it serves the refresh, to connect, and a warning of a plan of a tainted deployment, and
// it may be missing. Then, as with -refresh-only, the refresh uses the connections of the state. Secrets stay in
// memory.
type Planned struct {
	mu    sync.Mutex
	nodes map[string][]planned // by name
	runs  sync.Map             // site in the state -> the last run of its deployment, an int64; 0: it has no steps
}

// planned is one node in the prior state and in the plan.
type planned struct{ was, is site.Node }

// note takes a node that changes.
func (p *Planned) note(was, is site.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes == nil {
		p.nodes = map[string][]planned{}
	}
	p.nodes[was.Name] = append(p.nodes[was.Name], planned{was, is})
}

// noteState takes a deployment that is in the state. A plan without prior state replaces it when it is tainted.
func (p *Planned) noteState(state deploymentModelV1) {
	if p == nil {
		return
	}
	run := state.Run.ValueInt64()
	if len(state.Steps.Elements()) == 0 {
		run = 0
	}
	p.runs.Store(state.Site.ValueString(), run)
}

// runOf returns the last run of a site that is in the state, as far as that was noted; 0: the state has no steps of it.
func (p *Planned) runOf(site string) (run int64, inState bool) {
	if p == nil {
		return 0, false
	}
	found, inState := p.runs.Load(site)
	run, _ = found.(int64)
	return run, inState
}

// of returns how a plan reaches a node of the state. ok is false when it does so as the state does, and when that is
// not certain: names are unique in a deployment only.
func (p *Planned) of(n site.Node) (is site.Node, ok bool) {
	if p == nil {
		return n, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	candidates := p.nodes[n.Name]
	if len(candidates) != 1 || !engine.ReachedAlike(candidates[0].was, n) || engine.ReachedAlike(candidates[0].is, n) {
		return n, false
	}
	is = n
	is.Address, is.Connection = candidates[0].is.Address, candidates[0].is.Connection
	return is, true
}

// Configure takes what the provider shares.
func (n *node) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, _ := values.Shared[ProviderData]("slipway_node", req.ProviderData, &resp.Diagnostics)
	n.planned = data.Planned
}

// Quiet promises that ModifyPlan does nothing for a node that does not change.
func (*node) Quiet() {}

// ModifyPlan changes nothing: it notes how a node that changes is reached, for the refresh of its deployment.
func (n *node) ModifyPlan(_ context.Context, req resource.ModifyPlanRequest, _ *resource.ModifyPlanResponse) {
	if n.planned == nil || req.State.Raw.IsNull() || req.Plan.Raw.IsNull() || !req.Plan.Raw.IsFullyKnown() {
		return
	}
	nodes, _, errs := document.NewValues(false).Nodes([]any{values.Plain(req.State.Raw), values.Plain(req.Plan.Raw)})
	if len(errs) == 0 && nodes[0].Name == nodes[1].Name { // the deployment says what is wrong
		n.planned.note(nodes[0], nodes[1])
	}
}
