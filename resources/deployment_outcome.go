package resources

import (
	"context"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// show shows the outcome of a run. older are the nodes of the prior state, or of the deployment that is replaced.
func (m *deploymentModelV1) show(out engine.Outcome, prior *deploymentModelV1,
	older values.Opaque) (diags diag.Diagnostics) {
	m.Status = types.StringValue(string(out.Status))
	m.NodeStatus, m.GroupStatus, m.Unreachable = stringMap(out.Nodes), stringMap(out.Groups), stringList(out.Unreachable)
	failed := out.Status == engine.Failed || out.Status == engine.Interrupted
	if failed && prior != nil && !prior.Drift.IsNull() {
		m.Drift = prior.Drift // what was not repaired is still there; the next refresh shows it
	}
	if m.LastRunSteps.IsUnknown() { // there was work
		m.LastRunSteps = stringList(engine.Numbered(m.Run.ValueInt64(), out.Done))
	}
	promised := m.ServiceValues
	m.setServices(out.Services, out.State.Values, nil)
	m.ServiceValues = keepPromises(promised, m.ServiceValues)
	if len(out.Kept) == 0 {
		return nil
	}
	// Only a failed run may save what was not planned. The secrets of the connections are in the private state: Terraform
	// does not know that they are sensitive any more, and would show them in the next plan.
	nodes, err := withNodes(m.Nodes, older, out.Kept)
	if err != nil {
		diags.AddWarning("Departed nodes are not in the state", err.Error())
		return diags
	}
	m.Nodes = nodes
	if prior != nil {
		numbers := maps.Clone(m.ChangedNodes.Elements())
		for _, name := range out.Kept {
			numbers[name] = m.Run // so that the next plan prints it again
		}
		m.ChangedNodes = types.MapValueMust(types.Int64Type, numbers)
	}
	return diags
}

// forReplacement leaves out what the plan of the replacement is to print: Terraform calls a deployment whose creation
// failed tainted, and prints what is not in the state.
func (m *deploymentModelV1) forReplacement() {
	numbers := make(map[string]attr.Value)
	for name := range m.NodeStatus.Elements() {
		numbers[name] = types.Int64Value(0)
	}
	m.Steps, m.ChangedNodes = stringList(nil), types.MapValueMust(types.Int64Type, numbers)
}

// save writes state, identity and private state.
func save(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, private privateWriter,
	model deploymentModelV1, remembered engine.State) diag.Diagnostics {
	model.PrivateKeyWO = types.StringNull()
	diags := state.Set(ctx, &model)
	diags.Append(setSiteIdentity(ctx, identity, model.Site)...)
	diags.Append(remember(ctx, private, remembered)...)
	return diags
}

// setSiteIdentity sets the identity; Terraform 1.11 fails without it even where nothing changed (terraform.md 5.8).
func setSiteIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, name types.String) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.SetAttribute(ctx, path.Root("site"), name)
}

// messages shows what an operation of the engine reports.
func messages(of engine.Messages) (diags diag.Diagnostics) {
	for _, e := range of {
		switch e := e.(type) {
		case invalid.Error:
			diags.Append(values.Diagnostics(invalid.Errors{e})...)
		case *engine.Message:
			at := path.Empty()
			for name := range strings.SplitSeq(e.Attribute, ".") {
				if name != "" {
					at = at.AtName(name)
				}
			}
			diags.Append(values.DiagnosticAt(at, e.Warning, e.Summary, e.Detail))
		default:
			diags.AddError("The operation failed", e.Error())
		}
	}
	return diags
}
