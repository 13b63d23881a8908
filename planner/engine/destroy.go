package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// Delete is the operation of a run that destroys a site.
const Delete = "delete"

// Destroy undoes on every node of a site what slipway did there. As long as the status of the outcome is not
// [Destroyed], the site must not be forgotten.
func (e *Engine) Destroy(ctx context.Context, siteName string, prior Prior, how Run) (out Outcome) {
	if e.Handing == nil {
		return e.destroy(ctx, siteName, prior, how, nil, nil)
	}
	if out.add(e.Handed(nil, how.Connection)); out.Failed() {
		return out
	}
	if out = e.handOver(ctx, Delete, &prior, site.Site{Name: siteName}, how, &Planned{}); out.Status != "" {
		left := out.State
		out.State = prior.State // with what does not travel
		out.State.Applied, out.State.Unasked = left.Applied, left.Unasked
	}
	return out
}

// destroy is Destroy; r is a run that the journal has already, and drive drives its machine; nil: this process does.
func (e *Engine) destroy(ctx context.Context, siteName string, prior Prior, how Run, r *run,
	drive Drive) (out Outcome) {
	own := prior.State.Reaching(prior.Nodes)
	nodes := prior.State.WithGiven(own)
	given := nodes[len(own):]
	if r == nil {
		var m Messages
		if r, m = e.start(ctx, Delete, siteName, nil); m.Failed() {
			return Outcome{Messages: m}
		}
		out.Messages = m
	}
	executor := e.Executor()
	nodes = Reach(nodes, how.Connection)
	silent := prior.State.Silent(prior.Unreachable)
	for i, n := range nodes { // one that did not answer is tried again, no longer than by default
		if slices.Contains(silent, n.Name) {
			nodes[i].Connection.ConnectTimeout = min(n.Connection.ConnectTimeout, transport.DefaultConnectTimeout)
		}
	}
	options := e.options(r, executor, how)
	if m := r.handTo(&options, drive, opening{Now: e.Now()}); m.Failed() {
		out.add(m)
		_ = executor.Close() // nothing is lost
		return out
	}
	report := rollout.TearDown(ctx, siteName, nodes, options)
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
	out.Report, out.State, out.Status = report.String(), prior.State, Destroyed
	out.State.Applied, out.State.Unasked = maps.Clone(prior.State.Applied), nil // those in Unreachable were asked
	for _, node := range slices.Sorted(maps.Keys(report.Nodes)) {
		switch report.Nodes[node].Status {
		case rollout.NotTornDown:
			out.Status = Failed
		case rollout.TornDown:
			delete(out.State.Applied, node)
		case rollout.Unreachable:
			out.Unreachable = append(out.Unreachable, node)
			// It answered the last check or run, or nobody asked it there; those that are given up are in no check.
			isGiven := slices.ContainsFunc(given, func(n site.Node) bool { return n.Name == node })
			if !isGiven && !slices.Contains(silent, node) {
				out.Lost, out.Status = append(out.Lost, node), Failed
			}
		}
	}
	switch report.Status {
	case rollout.StatusInterrupted:
		out.Status = Interrupted
	case rollout.StatusFailed:
		out.Status = Failed
	}
	return out
}

// TornDown says what a tear-down left behind.
func (o Outcome) TornDown() (m Messages) {
	switch {
	case o.Status == "": // no node was touched, or the run goes on
	case o.Status != Destroyed:
		var answered string
		if len(o.Lost) > 0 {
			answered = fmt.Sprintf("\nNodes that the state does not list as unreachable, or that nobody could ask before, do not "+
				"answer: %s. Bring them back; "+
				"those that are gone for good are forgotten by the next destroy, when they do not answer then either.",
				strings.Join(FirstLines(o.Lost), ", "))
		}
		m.fail("The site was not torn down", "%s%s\nThe deployment stays in the state. Fix the cause and destroy again, or "+
			"set on_destroy = \"retain\" and apply to let go of the nodes as they are.", o.Report, answered)
	case len(o.Unreachable) > 0:
		m.warn("Nodes were forgotten", "%s\nThey did not answer. What slipway applied there is still there; their ledger is "+
			"kept in /var/lib/slipway.", o.Report)
	}
	return m
}
