package resources

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner"
)

// privateKey holds what is applied on the nodes, as their ledgers told. Create, Read and Update always set it, because its
// absence means something: Terraform gives Delete no private state when it replaces a tainted deployment, and then no
// node may be touched (terraform.md 5.5).
const privateKey = "applied"

// privateV1 is the content of privateKey.
type privateV1 struct {
	Version int             `json:"version"`
	Applied planner.Applied `json:"applied"`
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readApplied returns what is applied; saved is false when there is no private state.
func readApplied(ctx context.Context, from privateReader) (applied planner.Applied, saved bool, diags diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, privateKey)
	if diags.HasError() || len(raw) == 0 {
		return nil, false, diags
	}
	var p privateV1
	if err := json.Unmarshal(raw, &p); err != nil || p.Version != 1 {
		diags.AddError("Private state is not readable",
			fmt.Sprintf("The deployment's private state has version %d (%v); this slipway reads version 1. Use the version of slipway that wrote it, or a newer one.", p.Version, err))
		return nil, false, diags
	}
	return p.Applied, true, diags
}

// writeApplied saves what is applied.
func writeApplied(ctx context.Context, to privateWriter, applied planner.Applied) (diags diag.Diagnostics) {
	raw, err := json.Marshal(privateV1{Version: 1, Applied: applied})
	if err != nil {
		diags.AddError("Private state cannot be saved", err.Error())
		return diags
	}
	return to.SetKey(ctx, privateKey, raw)
}
