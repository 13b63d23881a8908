package resources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// handedKey is where a deployment has the last run that was handed over and whose outcome is in the state.
const handedKey = "handed"

// rememberHanded saves the run whose outcome is in the state; empty: nothing changes.
func rememberHanded(ctx context.Context, to privateWriter, run string) diag.Diagnostics {
	if run == "" {
		return nil
	}
	return setPrivate(ctx, to, handedKey, run)
}

// modelOf returns a planned deployment as bytes, for a run that is handed over: whoever finds its outcome has the model
// that it belongs to.
func modelOf(ctx context.Context, plan tfsdk.Plan) ([]byte, error) {
	value, err := tfprotov6.NewDynamicValue(plan.Schema.Type().TerraformType(ctx), plan.Raw)
	return value.MsgPack, err
}

// readHanded brings the last run that was handed over into the state, unless it is there. done says that nothing more
// may be read, because the run is active, or has torn the site down.
func (d *Deployment) readHanded(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse,
	state *deploymentModelV1, past *engine.State) (done bool, diags diag.Diagnostics) {
	h, diags := d.lastHanded(ctx, req.State, req.Private, state, past)
	switch {
	case diags.HasError():
		return true, diags
	case h == nil:
	case h.Active:
		state.ActiveRun = types.StringValue(h.Run.ID)
		diags.AddWarning(engine.WasActive,
			h.Working(fmt.Sprintf("was active on the site %q, so no node was looked at", h.Run.Site)))
		return true, diags
	case h.Outcome.Status == engine.Destroyed:
		resp.State.RemoveResource(ctx)
		return true, diags
	default:
		diags.Append(rememberHanded(ctx, resp.Private, h.Run.ID)...)
	}
	if state.ActiveRun.ValueString() != "" {
		state.ActiveRun = types.StringValue("")
	}
	return false, diags
}

// warnOfHanded says what became of the last run that was handed over for a site that is not in the state, or of which a
// plan without refresh, or a creation before the destroy, does not know that it is.
func (d *Deployment) warnOfHanded(ctx context.Context, siteName types.String) diag.Diagnostics {
	_, inState := d.provider.Seen.RunOf(siteName.ValueString())
	if inState || d.provider.Unknown || siteName.IsUnknown() {
		return nil // of a site in the state, the refresh, or the apply, has said it
	}
	return values.Diagnostics(d.provider.engine().HandedBefore(ctx, siteName.ValueString()))
}

// lastHanded returns the last run that was handed over, unless its outcome is in the state; nil: there is none. The
// outcome of one that has ended is brought into state and past.
func (d *Deployment) lastHanded(ctx context.Context, from tfsdk.State, private privateReader, state *deploymentModelV1,
	past *engine.State) (h *engine.Handed, diags diag.Diagnostics) {
	known, diags := privateValue[string](ctx, private, handedKey)
	if diags.HasError() {
		return nil, diags
	}
	h, err := d.provider.engine().LastHanded(ctx, state.Site.ValueString(), known)
	switch {
	case err != nil:
		diags.AddWarning("The last run is not known", err.Error()+"\n\nThe state counts as it is.")
	case h != nil && !h.Active:
		diags.Append(adopt(ctx, from, h, state, past)...)
	}
	return h, diags
}

// adopt takes over what a run left behind for whose end nobody waited.
func adopt(ctx context.Context, from tfsdk.State, h *engine.Handed, state *deploymentModelV1,
	past *engine.State) (diags diag.Diagnostics) {
	detail := h.Report()
	if h.Outcome.Status == "" { // no node was touched
		diags.AddWarning("A run ended without Terraform", detail)
		return diags
	}
	if h.Run.Operation == engine.Delete {
		diags.AddWarning("A run ended without Terraform", detail)
		state.Unreachable = stringList(h.Outcome.Unreachable)
		past.Applied, past.Unasked = h.Outcome.State.Applied, h.Outcome.State.Unasked
		return diags
	}
	typ := from.Schema.Type().TerraformType(ctx)
	var model deploymentModelV1
	raw, err := tfprotov6.DynamicValue{MsgPack: h.Model}.Unmarshal(typ)
	if err == nil {
		diags.Append(tfsdk.Plan{Raw: raw, Schema: from.Schema}.Get(ctx, &model)...)
	}
	s, _, wrong := model.Value(ctx)
	if err != nil || diags.HasError() || wrong.HasError() {
		diags = nil
		diags.AddWarning("A run ended without Terraform", detail+"\n\nIt was asked for with another version of slipway, so "+
			"that the state has what is applied, and the next plan shows the rest.")
		*past = h.Outcome.State
		return diags
	}
	was := *state
	diags.Append(model.show(h.Outcome.Of(s), &was, was.Nodes)...)
	*state, *past = model, h.Outcome.State
	diags.AddWarning("A run ended without Terraform", detail)
	return diags
}
