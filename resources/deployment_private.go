package resources

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// privateKey is where a deployment has what is remembered of its site. Create, Read and Update always set it, because
// its absence means something: Terraform gives Delete no private state when it replaces a tainted deployment, and then
// no node may be touched (terraform.md 5.5).
const privateKey = "applied"

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// recall returns what is remembered; saved is false when there is no private state.
func recall(ctx context.Context, from privateReader) (past engine.State, saved bool, diags diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, privateKey)
	if diags.HasError() || len(raw) == 0 {
		return past, false, diags
	}
	if err := past.UnmarshalJSON(raw); err != nil {
		diags.AddError("Private state is not readable", "The deployment's private state "+err.Error()+".")
		return past, false, diags
	}
	return past, true, diags
}

// remember saves what is to be remembered.
func remember(ctx context.Context, to privateWriter, state engine.State) (diags diag.Diagnostics) {
	raw, err := state.MarshalJSON()
	if err != nil {
		diags.AddError("Private state cannot be saved", err.Error())
		return diags
	}
	diags.Append(to.SetKey(ctx, replacementKey, nil)...)
	diags.Append(to.SetKey(ctx, privateKey, raw)...)
	return diags
}

// refusal is an error that the plan notes under [replacementKey].
type refusal struct{ Summary, Detail string }

func noteRefusal(ctx context.Context, private privateWriter, refused diag.Diagnostics) (diags diag.Diagnostics) {
	var errs []refusal
	for _, e := range refused {
		errs = append(errs, refusal{e.Summary(), e.Detail()})
	}
	raw, err := json.Marshal(errs)
	if err != nil {
		diags.AddError("The plan cannot be noted", err.Error())
		return diags
	}
	return private.SetKey(ctx, replacementKey, raw)
}

// refuseReplacement returns what the first call noted.
func refuseReplacement(ctx context.Context, private privateReader) diag.Diagnostics {
	raw, diags := private.GetKey(ctx, replacementKey)
	var errs []refusal
	if err := json.Unmarshal(raw, &errs); len(raw) > 0 && err != nil {
		diags.AddError("Private state is not readable", err.Error())
	}
	for _, e := range errs {
		diags.AddError(e.Summary, e.Detail)
	}
	return diags
}
