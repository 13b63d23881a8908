package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
)

var _ provider.ProviderWithFunctions = (*slipway)(nil)

// Functions returns the provider's functions. They do nothing but call the planner: what they return is what a plan does.
func (p *slipway) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newSelectNodes, newDeploymentStrategy, newMergeOverrides, newStageOrder}
}

// told makes an error of a function's argument out of diagnostics; nil when there are none. Functions cannot warn.
func told(argument int64, diags diag.Diagnostics) *function.FuncError {
	var lines []string
	for _, d := range diags.Errors() {
		lines = append(lines, d.Summary()+": "+d.Detail())
	}
	if len(lines) == 0 {
		return nil
	}
	return function.NewArgumentFuncError(argument, strings.Join(lines, "\n"))
}

// wrong makes an error of a function's argument.
func wrong(argument int64, err error) *function.FuncError {
	return function.NewArgumentFuncError(argument, err.Error())
}

// stillUnknown tells of a value that Terraform should have held back: it calls a function only when all arguments are known.
func stillUnknown(argument int64) *function.FuncError {
	return function.NewArgumentFuncError(argument, "holds a value that is not known yet")
}
