package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// OrderingFrom reads what a catalog says of the order of tasks, as data.slipway_catalog gives it; nil when it says
// nothing. known is false when it is not known yet.
func OrderingFrom(at path.Path, v types.String) (o *catalog.Ordering, known bool, diags diag.Diagnostics) {
	if v.IsNull() || v.IsUnknown() {
		return nil, !v.IsUnknown(), nil
	}
	o, errs := catalog.ParseOrdering(v.ValueString())
	for _, m := range errs {
		p := invalid.Error{Object: "deployment", Attribute: at.String(), Code: m.Code, Message: m.Message}
		if m.Attribute != "" {
			p.Attribute += "." + m.Attribute
		}
		diags.Append(diagnostic(at, p, where(p)+": "+p.Message))
	}
	return o, true, diags
}

// orderingValidator checks the rules as soon as they are known.
type orderingValidator struct{}

func (orderingValidator) Description(context.Context) string {
	return "must be the ordering of a catalog"
}

func (v orderingValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (orderingValidator) ValidateString(_ context.Context, req validator.StringRequest,
	resp *validator.StringResponse) {
	_, _, diags := OrderingFrom(req.Path, req.ConfigValue)
	resp.Diagnostics.Append(diags...)
}
