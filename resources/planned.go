package resources

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// Planned are the nodes that a plan connects to otherwise. Terraform gives the refresh of a deployment its state alone,
// with the connections of the last apply; but in one plan nodes come before the deployment that depends on them, in the
// same process. This is the one exception to the rule that what a deployment knows of the site comes through its
// configuration and its state: it serves the refresh, to connect, and a warning of a plan of a tainted deployment, and
// it may be missing. Then, as with -refresh-only, the refresh uses the connections of the state. Secrets stay in
// memory.
type Planned struct {
	mu    sync.Mutex
	nodes map[string][]planned // by name
	runs  map[string]int64     // site -> the last run of a deployment that was refreshed
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

// noteRun takes a deployment that was refreshed. A plan without prior state replaces it when it is tainted.
func (p *Planned) noteRun(site string, run int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[string]int64{}
	}
	p.runs[site] = run
}

// runOf returns the last run of a site that is in the state, as far as it was refreshed.
func (p *Planned) runOf(site string) (run int64, inState bool) {
	if p == nil {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	run, inState = p.runs[site]
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
	if req.ProviderData == nil {
		return
	}
	data, ok := req.ProviderData.(ProviderData)
	if !ok {
		resp.Diagnostics.AddError("Provider is not configured",
			fmt.Sprintf("slipway_node got %T from the provider. This is a defect of slipway; please report it.",
				req.ProviderData))
		return
	}
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
