package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// strategyValue is what the function returns.
type strategyValue struct {
	Order  []string   `tfsdk:"order"`
	Levels [][]string `tfsdk:"levels"`
}

// newDeploymentStrategy returns provider::slipway::deployment_strategy.
func newDeploymentStrategy() function.Function {
	return &callable{"deployment_strategy", function.Definition{
		Summary: "Order in which groups are rolled out.",
		MarkdownDescription: "Returns the order in which groups are rolled out, as an object: `order` has the names of the groups as a run handles them, one at a time; `levels` has the same names by " +
			"how deep they lie in the dependencies, first those that depend on no group. Unknown groups, duplicate names and cycles are errors.",
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "groups",
				MarkdownDescription: "Groups, as a list or map: `slipway_group` resources, or objects with the same attributes, of which only `name`, `critical` and `selectors` are required. " +
					"Their order decides where dependencies leave a choice; a map counts in the order of its keys."},
		},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"order":  types.ListType{ElemType: types.StringType},
			"levels": types.ListType{ElemType: types.ListType{ElemType: types.StringType}},
		}},
	}, deploymentStrategy}
}

func deploymentStrategy(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var given types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &given); resp.Error != nil {
		return
	}
	groups, ferr := objectsOf(ctx, 0, given, (*document.Values).Groups)
	if ferr != nil {
		resp.Error = ferr
		return
	}
	errs := site.ValidateDependencies(groups)
	for _, g := range groups {
		errs = append(errs, g.Validate()...)
	}
	if failures := errs.Errors(); len(failures) > 0 {
		resp.Error = wrong(0, failures)
		return
	}
	order, err := strategy.Order(groups)
	if err != nil {
		resp.Error = wrong(0, err)
		return
	}
	levels, err := strategy.Levels(groups)
	if err != nil {
		resp.Error = wrong(0, err)
		return
	}
	resp.Error = resp.Result.Set(ctx, strategyValue{order, levels})
}
