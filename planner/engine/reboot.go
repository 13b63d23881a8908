package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Reboot is the operation of a run that restarts nodes and does nothing else.
const Reboot = "reboot"

// Reboot restarts nodes of a site, given by name, one after the other, and waits for each: at most limit, 0 is none
// besides that of ctx. It takes the lease of the site, so that no run is at work meanwhile. done is called for each
// node that is back. A node that is named again restarts once. The first one that fails is the last. On the nodes,
// nothing is left of it. Parts of a second in limit count as a whole one.
func (e *Engine) Reboot(ctx context.Context, s site.Site, nodes []string, limit time.Duration, how Settings,
	done func(node string)) (m Messages) {
	var chosen []site.Node
	for _, name := range nodes {
		i := slices.IndexFunc(s.Nodes, func(n site.Node) bool { return n.Name == name })
		if i < 0 {
			m.fail("No such node", "The site %q has no node %q; name one of its nodes. No node was restarted.", s.Name, name)
			continue
		}
		if !slices.ContainsFunc(chosen, func(n site.Node) bool { return n.Name == name }) {
			chosen = append(chosen, s.Nodes[i])
		}
	}
	if m.Failed() {
		return m
	}
	if e.Handing != nil {
		m.fail("Nodes cannot be restarted here", "engine: runs are executed by workers, and the connections to the nodes are "+
			"theirs. Give a service of the node a remote task with the action reboot. No node was restarted.")
		return m
	}
	r, m := e.start(ctx, Reboot, s.Name, nil)
	if m.Failed() {
		return m
	}
	executor := e.Executor()
	status, back, failed := rollout.StatusSucceeded, []string{}, ""
	for _, n := range Reach(chosen, how.Connection) {
		if err := r.reboot(ctx, executor, s.Name, n, limit, how); err != nil {
			status, failed = rollout.StatusFailed, fmt.Sprintf("node %q: %v", n.Name, err)
			break
		}
		back = append(back, n.Name)
		done(n.Name)
	}
	report := fmt.Sprintf("restarted: %d of %d nodes", len(back), len(chosen))
	if failed != "" {
		report += "\n" + failed
		m.fail("A node was not restarted", "%s\nNodes that were restarted before: %s. Those after it were left alone.", failed,
			cmp.Or(strings.Join(FirstLines(back), ", "), "none"))
	}
	_ = executor.Close() // every answer that counts has been read
	m.add(r.finish(ctx, string(status), report))
	return m
}

// reboot restarts one node, in a session that ends when it is back, and another one that takes the restart out of the
// ledger.
func (r *run) reboot(ctx context.Context, executor rollout.Executor, siteName string, n site.Node, limit time.Duration,
	how Settings) error {
	restart := resource.Resource{Type: types.RebootType, Title: "action",
		Parameters: resource.Parameters{"timeout": int64((limit + time.Second - 1) / time.Second)}}
	begin := time.Now()
	event := journal.Event{Kind: journal.TaskStarted, Node: n.Name, Resource: string(restart.ID())}
	if err := r.Record(ctx, event); err != nil {
		return err
	}
	manifest := converge.Manifest{Protocol: converge.Protocol, Site: siteName, Run: r.id, Mode: converge.Apply,
		Owner: how.Owner, Fence: r.writer.Fence(), Items: []converge.Item{{Resource: restart, Digest: r.id}}}
	err := one(ctx, executor, n, manifest)
	if err == nil {
		manifest.Items[0].Remove = true
		err = one(ctx, executor, n, manifest)
	}
	event.Kind, event.Status, event.Millis = journal.TaskFinished, string(converge.Changed),
		time.Since(begin).Milliseconds()
	if err != nil {
		event.Status, event.Message = string(converge.Failed), err.Error()
	}
	return errors.Join(err, r.Record(context.WithoutCancel(ctx), event))
}

// one runs a manifest with one item, and returns why it failed.
func one(ctx context.Context, executor rollout.Executor, n site.Node, m converge.Manifest) error {
	var failed error
	summary, err := executor.Converge(ctx, n, m, func(result converge.Result) {
		if result.Status == converge.Failed || result.Status == converge.Skipped {
			failed = errors.New(result.Message)
		}
	})
	if err == nil && summary.Error != nil {
		err = summary.Error
	}
	return errors.Join(err, failed)
}
