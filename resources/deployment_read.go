package resources

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

const defaultReadTimeout = 5 * time.Minute

// Read compares every node with its ledger. It keeps three outcomes apart: in sync, drifted (listed, planned for
// repair) and unreachable (a warning; what is known of the node stays as it is). It never concludes from silence that
// something is gone.
func (d *Deployment) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state deploymentModelV1
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, "site", state.Site)...)
	past, _, diags := recall(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	d.provider.Seen.NoteState(state.Site.ValueString(), state.shown())
	done, diags := d.readHanded(ctx, req, resp, &state, &past)
	if resp.Diagnostics.Append(diags...); resp.State.Raw.IsNull() {
		return
	}
	if done || resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
		resp.Diagnostics.Append(remember(ctx, resp.Private, past)...)
		return
	}
	e := d.provider.engine()
	past, known, found := e.Adopt(ctx, state.Site.ValueString(), past)
	resp.Diagnostics.Append(values.Diagnostics(found)...)
	if known != nil {
		before := state.ServiceValues
		state.setServices(known, nil, nil)
		state.ServiceValues = before
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	resp.Diagnostics.Append(remember(ctx, resp.Private, past)...)
	defer func() { resp.Diagnostics.Append(d.warnOfCreation(ctx, state, past)...) }() // with what the check finds
	timeout, diags := state.Timeouts.Read(ctx, defaultReadTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || state.DriftDetection.ValueString() == driftOff || state.Nodes.IsNull() {
		return
	}
	if d.provider.Unknown {
		resp.Diagnostics.AddWarning("Drift was not checked",
			"Some of the provider's configuration (connection, journal, engine, encryption_key) is not known before the apply, so no node could be reached. The plan counts on the nodes being as they were left.")
		return
	}
	s, _, diags := state.Value(ctx)
	if errs := diags.Errors(); len(errs) > 0 {
		lines := make([]string, len(errs))
		for i, e := range errs {
			lines[i] = e.Detail()
		}
		resp.Diagnostics.Append(values.Diagnostics(engine.Unplannable(strings.Join(lines, "\n")))...)
		return
	}

	ctx, stop := d.provider.Runs.Stoppable(ctx)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &engine.TimeLimitError{Setting: "timeouts.read", Limit: timeout})
	defer cancel()
	drift, diags := state.driftItems(ctx)
	resp.Diagnostics.Append(diags...)
	how := engine.Inspection{Settings: d.settings(state, nil, types.StringNull()), Known: drift,
		Parallelism: int(state.Parallelism.ValueInt64()), Corrected: map[string]site.Node{}}
	for _, n := range past.Reaching(s.Nodes) {
		if now, corrected := d.provider.Seen.Of(n); corrected {
			how.Corrected[n.Name] = now
		}
	}
	looked := e.Check(ctx, past, s, how)
	resp.Diagnostics.Append(values.Diagnostics(looked.Messages)...)
	if !looked.Done {
		return
	}
	state.setDrift(looked.Drift)
	state.Unreachable = stringList(looked.Unreachable)
	if !state.NodeFacts.IsNull() { // an earlier version wrote the state: the next run with work fills them in
		state.NodeFacts = factsOf(looked.State.Machines, state.Nodes, types.MapUnknown(FactsType))
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	past = looked.State
	resp.Diagnostics.Append(remember(ctx, resp.Private, past)...)
}

// warnOfCreation says after a creation that failed what is left, and explains the plan that follows. Whether the
// deployment is still tainted is in no request.
func (d *Deployment) warnOfCreation(ctx context.Context, state deploymentModelV1,
	past engine.State) (diags diag.Diagnostics) {
	shown := state.shown()
	// see Create
	if shown.Status != engine.Failed && shown.Status != engine.Interrupted || state.Steps.IsNull() ||
		len(state.Steps.Elements()) > 0 {
		return nil
	}
	s, known, diags := state.Value(ctx)
	prior, more := state.before(ctx, state, s, past)
	if !known || diags.HasError() || more.HasError() {
		return nil
	}
	return values.Diagnostics(shown.Unfinished(*prior, s, d.settings(state, nil, types.StringNull())))
}
