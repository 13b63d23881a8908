package resources

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

var _ resource.ResourceWithModifyPlan = (*service)(nil)

// ModifyPlan asks for replacement where attributes change that are fixed once a service is there, at any depth (lsm.md
// 20), or where it becomes one of another entity. A service of a deployment is then a new one under the same name.
func (*service) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return
	}
	before, was, diags := plannedService(ctx, req.State.GetAttribute)
	resp.Diagnostics.Append(diags...)
	after, is, diags := plannedService(ctx, req.Plan.GetAttribute)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || before == nil || after == nil {
		return
	}
	if before.Name != after.Name {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("entity"))
		return
	}
	if len(replacedBy(after, was, is)) > 0 {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("attributes"))
	}
}

// plannedService reads entity and attributes of a service. The entity is nil when there is none, or it is not known.
func plannedService(ctx context.Context, get func(context.Context, path.Path, any) diag.Diagnostics) (*catalog.Entity,
	attributes, diag.Diagnostics) {
	var entity types.Object
	var value types.Dynamic
	diags := get(ctx, path.Root("entity"), &entity)
	diags.Append(get(ctx, path.Root("attributes"), &value)...)
	if diags.HasError() || entity.IsNull() || entity.IsUnknown() {
		return nil, attributes{}, diags
	}
	var m entityModelV0
	diags.Append(entity.As(ctx, &m, asGiven)...)
	if diags.HasError() || m.Definition.IsUnknown() || m.Name.IsUnknown() || m.Digest.IsUnknown() {
		return nil, attributes{}, diags
	}
	e, _ := entities{}.parse(m) // ValidateConfig reports what is wrong
	raw, err := value.ToTerraformValue(ctx)
	if e == nil || err != nil {
		return nil, attributes{}, diags
	}
	return e, attributesOf(raw), diags
}

// replacedBy returns the places of the changes that only a new service can have. A fixed attribute that is not known
// yet counts as changed.
func replacedBy(e *catalog.Entity, was, is attributes) []string {
	before, errs := e.Check(e.FillNulls(was.given))
	if len(errs) > 0 {
		return nil // the entity changed, so the old attributes say nothing
	}
	after := e.FillNulls(is.given)
	var out []string
	for _, unknown := range is.unknown {
		name, _, _ := strings.Cut(strings.ReplaceAll(unknown, "[", "."), ".")
		if a, ok := e.Attribute(name); ok && a.Modifier == catalog.Fixed {
			out = append(out, name)
		}
		after[name] = before[name]
	}
	if complete, errs := e.Check(after); len(errs) == 0 {
		out = append(out, lifecycle.ReplacementPaths(e, before, complete)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
