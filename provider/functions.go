package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

var _ provider.ProviderWithFunctions = (*slipway)(nil)

// Functions returns the provider's functions. They do nothing but call the planner: what they return is what a plan
// does.
func (p *slipway) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newSelectNodes, newDeploymentStrategy, newMergeOverrides, newStageOrder}
}

// callable is one of the provider's functions.
type callable struct {
	name       string
	definition function.Definition
	run        func(context.Context, function.RunRequest, *function.RunResponse)
}

func (c *callable) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = c.name
}

func (c *callable) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = c.definition
}

func (c *callable) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	c.run(ctx, req, resp)
}

// objectsOf reads an argument that is a list or map of objects. Terraform should call a function only when all of its
// arguments are known.
func objectsOf[T any](ctx context.Context, argument int64, given types.Dynamic,
	read func(*document.Values, any) ([]T, bool, invalid.Errors)) ([]T, *function.FuncError) {
	objects, known, diags := values.From(ctx, given, read)
	if err := argumentError(argument, diags); err != nil {
		return nil, err
	}
	if !known {
		return nil, function.NewArgumentFuncError(argument, "holds a value that is not known yet")
	}
	return objects, nil
}

// argumentError makes an error of a function's argument from diagnostics; nil when there are none. Functions cannot
// warn.
func argumentError(argument int64, diags diag.Diagnostics) *function.FuncError {
	var lines []string
	for _, d := range diags.Errors() {
		lines = append(lines, d.Summary()+": "+d.Detail())
	}
	if last := len(lines) - 1; last >= 0 {
		lines[last] = strings.TrimSuffix(lines[last], ".") // Terraform ends the text with one
	}
	if len(lines) == 0 {
		return nil
	}
	return function.NewArgumentFuncError(argument, short(strings.Join(lines, "\n")))
}

// maxLines bounds the errors that one error of a function lists.
const maxLines = 200

// short leaves out the errors after the first ones.
func short(text string) string {
	lines := strings.SplitN(text, "\n", maxLines+1)
	if len(lines) <= maxLines {
		return text
	}
	more := strings.Count(lines[maxLines], "\n") + 1
	return strings.Join(lines[:maxLines], "\n") + fmt.Sprintf("\nand %d more", more)
}

// nodesOf reads the nodes of an argument.
func nodesOf(ctx context.Context, argument int64, given types.Dynamic) ([]site.Node, *function.FuncError) {
	nodes, err := objectsOf(ctx, argument, given, (*document.Values).Nodes)
	if err == nil {
		err = argumentError(argument, values.Diagnostics(site.ValidateNodeNames(nodes)))
	}
	return nodes, err
}

// wrong makes an error of a function's argument.
func wrong(argument int64, err error) *function.FuncError {
	return function.NewArgumentFuncError(argument, short(err.Error()))
}
