package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// Destroyed is what a tear-down left behind.
type Destroyed struct {
	Report *rollout.TearDownReport // nil: no node was touched
	State  State                   // what to remember when anything stays
	// Stays says that something is still to be undone: the site must not be forgotten.
	Stays bool
	// Silent are the nodes that did not answer, sorted. Lost are those of them that answered the last check or run: as
	// long as there are any, the site stays. Others are forgotten with the site.
	Silent, Lost []string
	Messages
}

// Destroy undoes on every node of a site what slipway did there.
func (e *Engine) Destroy(ctx context.Context, siteName string, prior Prior, how Run) (out Destroyed) {
	own := prior.State.Reaching(prior.Nodes)
	nodes := prior.State.WithGiven(own)
	given := nodes[len(own):]
	out.State = prior.State
	r, m := e.start(ctx, "delete", siteName, nil)
	if out.Messages = m; m.Failed() {
		return out
	}
	executor := e.Executor()
	nodes = Reach(nodes, how.Connection)
	for i, n := range nodes { // one that did not answer is tried again, no longer than by default
		if slices.Contains(prior.Unreachable, n.Name) {
			nodes[i].Connection.ConnectTimeout = min(n.Connection.ConnectTimeout, transport.DefaultConnectTimeout)
		}
	}
	report := rollout.TearDown(ctx, siteName, nodes, rollout.Options{
		Executor: executor, Recorder: r, Lost: r.writer.Lost(), RunID: r.id,
		Parallelism: how.Parallelism, GiveUp: e.GiveUp, Now: e.Now,
		Owner: how.Owner, TakeOver: how.TakeOver, Fence: r.writer.Fence(),
	})
	_ = executor.Close() // every answer that counts has been read
	if report.Status == rollout.StatusSucceeded {
		revisions, events := services.DeletedRevisions(prior.State.Services, siteName, e.Now())
		out.add(r.recordServices(context.WithoutCancel(ctx), revisions, events))
	}
	out.add(r.finish(ctx, string(report.Status), report.String()))
	if report.Err != nil {
		out.fail("The tear-down was stopped", "%v", report.Err)
	}
	if over := (*TimeLimitError)(nil); errors.As(context.Cause(ctx), &over) {
		out.fail("The tear-down ran out of time", "%v.", over)
	}
	if len(report.Warnings) > 0 {
		out.warn("Not everything could be brought back", "%s", strings.Join(report.Warnings, "\n"))
	}
	out.Report, out.Stays = &report, report.Status == rollout.StatusInterrupted
	out.State.Applied = maps.Clone(prior.State.Applied)
	for _, node := range slices.Sorted(maps.Keys(report.Nodes)) {
		switch report.Nodes[node].Status {
		case rollout.NotTornDown:
			out.Stays = true
		case rollout.TornDown:
			delete(out.State.Applied, node)
		case rollout.Unreachable:
			out.Silent = append(out.Silent, node)
			// It answered the last check or run; those that are given up are in no check.
			isGiven := slices.ContainsFunc(given, func(n site.Node) bool { return n.Name == node })
			if !isGiven && !slices.Contains(prior.Unreachable, node) {
				out.Lost = append(out.Lost, node)
			}
		}
	}
	out.Stays = out.Stays || len(out.Lost) > 0
	return out
}
