package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
)

// secretNodes is part of the description of every parameter that takes nodes.
const secretNodes = "Terraform counts what is returned as sensitive when a node has `connect`, because that may hold secrets; no secret is in it, so it may be wrapped in `nonsensitive`."

// newSelectNodes returns provider::slipway::select_nodes.
func newSelectNodes() function.Function {
	return &callable{"select_nodes", function.Definition{
		Summary: "Names of the nodes that selectors select.",
		MarkdownDescription: "Returns the names of the nodes that selectors select, sorted: those that `slipway_group` and `slipway_service` would have with these `selectors`. " +
			"Names of nodes that do not exist select nothing; a malformed label is an error.",
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "nodes",
				MarkdownDescription: "Nodes, as a list or map: `slipway_node` resources, or objects with the same attributes, of which only `name` is required. " +
					secretNodes},
			function.DynamicParameter{Name: "selectors",
				MarkdownDescription: "List of selectors, as in `slipway_group`: objects with `node_names`, `node_tags`, `node_labels`, `rack_names`. `[]` selects all nodes."},
		},
		Return: function.ListReturn{ElementType: types.StringType},
	}, selectNodes}
}

func selectNodes(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var nodesGiven, selectorsGiven types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &nodesGiven, &selectorsGiven); resp.Error != nil {
		return
	}
	nodes, ferr := nodesOf(ctx, 0, nodesGiven)
	if ferr != nil {
		resp.Error = ferr
		return
	}
	value, err := plainOf(ctx, selectorsGiven)
	if err != nil {
		resp.Error = wrong(1, err)
		return
	}
	source, err := sourceOf("selectors", value)
	if err != nil {
		resp.Error = wrong(1, err)
		return
	}
	selectors, err := document.ParseSelectors(source)
	if err != nil {
		resp.Error = wrong(1, misread(err))
		return
	}
	for _, p := range selectors.Validate("selectors", "", nodes).Errors() {
		resp.Error = function.ConcatFuncErrors(resp.Error, function.NewArgumentFuncError(1, p.Attribute+": "+p.Message))
	}
	if resp.Error == nil {
		resp.Error = resp.Result.Set(ctx, selectors.Members(nodes))
	}
}
