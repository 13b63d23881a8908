package rollout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// NodeSurvey is what a look at one node found.
type NodeSurvey struct {
	Reachable bool // it answered; a node that did not is neither in order nor drifted
	// why the look could not be taken, or not to its end: then there is no Drift and no Ledger
	Error    error
	Drift    []DriftItem       // items that are not as desired, in the order given
	Noop     []DriftItem       // likewise, of those that have noop: nothing repairs them
	Identity converge.Identity // which machine it is, as far as it answered
	// what the site has applied on the node; with task.LeftLocked when it is left locked, with task.Unchecked when no
	// health check followed
	Ledger   map[resource.ID]string
	LockedBy string // the run that left the node locked; empty when none did
	// Guard says what was put back there, or is about to be; empty when nothing is.
	Guard string
}

// DriftItem is one item that is not as desired, or could not be looked at.
type DriftItem struct {
	ID          resource.ID
	Differences []types.Difference
	Diff        string // unified, of the text that a difference stands for
	Message     string // why it could not be looked at
}

// Survey looks at nodes without changing them: how far they are from their items, and what their ledgers hold. It ends
// when all nodes are done or ctx ends; the nodes that were not done by then are not reachable and carry the cause.
// Options.Parallelism counts over all nodes, or over those of each zone where the executor is [Zoned].
// Nodes that a group prepares (Options.Prepared) are waited for a moment only: their sessions go on, until ctx ends,
// and the run with the same Machines waits for them in their preparation. There is an entry for every node.
func Survey(ctx context.Context, nodes []site.Node, items map[string][]converge.Item, siteName string,
	o Options) map[string]NodeSurvey {
	out := make(map[string]NodeSurvey, len(nodes))
	o, err := o.withDefaults()
	if err != nil {
		for _, n := range nodes {
			out[n.Name] = NodeSurvey{Error: err}
		}
		return out
	}
	named := make(map[string]site.Node, len(nodes))
	for _, n := range nodes {
		named[n.Name] = n
	}
	var mu sync.Mutex
	found := make(map[string]NodeSurvey, len(nodes))
	wait := func(node string) time.Duration {
		if o.Prepared[node] {
			return patience
		}
		return 0
	}
	ask := func(asking context.Context, node string) error {
		survey := checkNode(asking, o.Executor, named[node], converge.Manifest{
			Protocol: converge.Protocol, Site: siteName, Run: o.RunID, Mode: converge.Check, Items: items[node],
			Owner: o.Owner, TakeOver: o.TakeOver, Fence: o.Fence,
		})
		if survey.Error == nil || ctx.Err() == nil {
			o.Machines.record(node, survey.Identity, survey.Error)
			o.Machines.gaveUp(node, survey.Error)
		}
		mu.Lock()
		defer mu.Unlock()
		found[node] = survey
		return survey.Error
	}
	zones := map[string][]string{}
	zoned, may := o.Executor.(Zoned)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		zone := ""
		if may && zoned.Zoned() {
			zone = named[name].Zone
		}
		zones[zone] = append(zones[zone], name)
	}
	var asked sync.WaitGroup
	for _, nodes := range zones {
		asked.Go(func() { o.Machines.inquire(ctx, ctx, nodes, o.Parallelism, wait, ask) })
	}
	asked.Wait()
	mu.Lock()
	defer mu.Unlock()
	for node := range named {
		survey, done := found[node]
		if !done {
			survey.Error = fmt.Errorf("it did not answer within %s", patience)
		}
		out[node] = survey
	}
	return out
}

// Prepared returns the nodes that groups of a plan prepare.
func Prepared(p *planner.Plan) map[string]bool {
	out := map[string]bool{}
	for _, g := range p.Groups {
		for _, node := range g.Owned {
			out[node] = true
		}
	}
	return out
}

// givenUpError is a session that was given up for a cause, and what the session itself says of its end.
type givenUpError struct{ cause, err error }

// Error gives the cause once: the session may know it, too.
func (e givenUpError) Error() string {
	if text := e.err.Error(); strings.Contains(text, e.cause.Error()) {
		return text
	}
	return fmt.Sprintf("%v; the session was given up: %v", e.cause, e.err)
}

func (e givenUpError) Unwrap() []error { return []error{e.cause, e.err} }

// checkNode runs one check session.
func checkNode(ctx context.Context, e Executor, n site.Node, c converge.Manifest) NodeSurvey {
	if ctx.Err() != nil {
		return NodeSurvey{Error: fmt.Errorf("not started: %w", context.Cause(ctx))}
	}
	results := make(map[resource.ID]converge.Result, len(c.Items))
	summary, err := e.Converge(ctx, n, c, func(r converge.Result) { results[r.ID] = r })
	if err == nil && summary.Error != nil {
		err = summary.Error
	}
	if cause := context.Cause(ctx); err != nil || cause != nil && !allChecked(c.Items, results) {
		reachable := outcome{err: err}.answered(false) || len(results) > 0
		switch {
		case err == nil:
			err = fmt.Errorf("%w; the session was given up", cause)
		case cause != nil:
			err = givenUpError{cause, err}
		}
		return NodeSurvey{Reachable: reachable, Error: err, Identity: summary.Identity}
	}
	survey := NodeSurvey{Reachable: true, Identity: summary.Identity, LockedBy: summary.LockedBy,
		Ledger: planner.WithUnchecked(withLock(summary.Ledger, summary.Locked), summary.Unchecked)}
	switch p := summary.PutBack; {
	case summary.Guard != "":
		survey.Guard = fmt.Sprintf("a guarded change waits for its confirmation; the node puts it back within %s of it",
			types.GuardLimit)
	case p != nil:
		survey.Guard = fmt.Sprintf("%s of run %q: %s", firstOf(p.Resources), p.Run, p.Why)
	}
	for _, item := range c.Items {
		if item.RefreshOnly {
			continue
		}
		found := &survey.Drift
		if item.Noop() {
			found = &survey.Noop
		}
		r, ok := results[item.ID()]
		switch {
		case !ok:
			*found = append(*found, DriftItem{ID: item.ID(), Message: "the session ended without its result"})
		case r.Status == converge.Unchanged:
		case r.Status == converge.Differs:
			*found = append(*found, DriftItem{ID: item.ID(), Differences: r.Differences, Diff: r.Diff})
		default:
			*found = append(*found, DriftItem{ID: item.ID(), Differences: r.Differences,
				Message: cmp.Or(r.Message, string(r.Status))})
		}
	}
	return survey
}

// allChecked reports whether every item was looked at: an item that failed or was left out because the session ended
// says nothing about the node.
func allChecked(items []converge.Item, results map[resource.ID]converge.Result) bool {
	for _, item := range items {
		if s := results[item.ID()].Status; !item.RefreshOnly && s != converge.Unchanged && s != converge.Differs {
			return false
		}
	}
	return true
}
