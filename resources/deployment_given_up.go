package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/sealed"
)

// replaced is a tainted deployment, as Delete saw it. The Create that follows in the same apply gets no prior state,
// and learns from it which nodes the failed creation worked on.
type replaced struct {
	nodes []site.Node
	value sealed.Value // the same as they stand in the state
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

// giveUp finds the nodes of a tainted deployment that the configuration has no more. Nothing is undone on them without
// a plan that shows it: a successful creation remembers them, so that the next plan tears them down, and a failed one
// keeps them in the state.
func (done *rolled) giveUp(ctx context.Context, old replaced, w *work, o rollout.Options, failed bool) (diags diag.Diagnostics) {
	nodes := notAmong(old.nodes, w.desired.Nodes)
	if len(nodes) == 0 {
		return nil
	}
	wanted := slices.Collect(maps.Values(o.Machines.Known()))
	found := rollout.Survey(ctx, nodes, nil, w.desired.Name, rollout.Options{Executor: o.Executor, Parallelism: o.Parallelism, RunID: o.RunID})
	kept := map[string]string{}
	var lines []string
	for _, n := range nodes {
		survey := found[n.Name]
		switch {
		case survey.Error == nil && len(survey.Ledger) == 0, slices.ContainsFunc(wanted, survey.Identity.Same):
			continue
		case failed:
			lines = append(lines, fmt.Sprintf("node %q stays in the state, but for the secrets of its own connect", n.Name))
		case survey.Error != nil:
			lines = append(lines, fmt.Sprintf("node %q cannot be asked, and is forgotten: put it back, apply, and take it out again to have it torn down: %v", n.Name, survey.Error))
			continue
		default:
			if done.Given == nil {
				done.Given = map[string]site.Node{}
			}
			done.Applied[n.Name], done.Given[n.Name] = survey.Ledger, n
			if done.Machines == nil {
				done.Machines = map[string]converge.Identity{}
			}
			done.Machines[n.Name] = survey.Identity
			lines = append(lines, fmt.Sprintf("node %q is torn down by the next plan", n.Name))
		}
		kept[n.Name] = n.Name
	}
	if len(lines) == 0 {
		return nil
	}
	diags.AddWarning("Nodes of a failed creation are not in the configuration any more",
		"What it applied there is still there:\n"+strings.Join(lines, "\n"))
	if failed {
		nodes, err := withNodes(done.model.Nodes, old.value, kept)
		if err != nil {
			diags.AddWarning("Departed nodes are not in the state", err.Error())
			return diags
		}
		done.model.Nodes = nodes
	}
	return diags
}

// notAmong returns the nodes that others do not have, neither by name nor by place.
func notAmong(nodes, others []site.Node) []site.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n site.Node) bool {
		return slices.ContainsFunc(others, func(o site.Node) bool { return o.Name == n.Name || o.Place() == n.Place() })
	})
}

// leftBehind warns of the nodes of a deployment that was replaced under create_before_destroy which the new one does not have. The new one is in the state by then, and
// cannot learn of them any more.
func (m memory) leftBehind(nodes, now []site.Node) (diags diag.Diagnostics) {
	var lines []string
	for _, n := range notAmong(nodes, now) {
		if count := len(m.Applied[n.Name]); count > 0 {
			what := "resources"
			if count == 1 {
				what = "resource"
			}
			lines = append(lines, fmt.Sprintf("node %q: %d %s", n.Name, count, what))
		}
	}
	if len(lines) > 0 {
		diags.AddWarning("Nodes of the replaced deployment are not in the configuration any more",
			"With create_before_destroy nothing is torn down, so what was applied there is still there. To have it undone, put the nodes back, apply, and take them out again.\n"+strings.Join(firstLines(lines), "\n"))
	}
	return diags
}

// given returns the nodes that are remembered for a tear-down, by name, but for those that the nodes have again.
func (m memory) given(nodes []site.Node) []site.Node {
	var out []site.Node
	for _, name := range sortedKeys(m.Given) {
		if !slices.ContainsFunc(nodes, func(n site.Node) bool { return n.Name == name }) {
			out = append(out, m.Given[name])
		}
	}
	return out
}
