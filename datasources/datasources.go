// Package datasources holds what configurations ask of slipway: catalogs, plugins, nodes, strategies, plans, runs and
// services. Like the resources they only translate between Terraform's values and the planner's; none of them touches a
// node.
package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// All returns the data sources for the provider's table. To add one, add its file and its line here.
func All() []func() datasource.DataSource {
	return []func() datasource.DataSource{
		NewCatalog,
		NewPlugin,
		NewNodes,
		NewDeploymentStrategy,
		NewPlan,
		NewRun,
		NewServices,
		NewServiceLog,
	}
}

// named is a data source by its name in the provider.
type named string

// Metadata names the type.
func (n named) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + string(n)
}

// take reads one attribute of a site. Terraform reads a data source only when all that it is given is known, so anything
// unknown is an error.
func take[T any](ctx context.Context, name string, v attr.Value,
	read func(*document.Values, any) ([]T, bool, invalid.Errors), diags *diag.Diagnostics) []T {
	out, known, found := values.From(ctx, v, read)
	diags.Append(found...)
	if !known && !found.HasError() {
		diags.AddAttributeError(path.Root(name), "Value is not known",
			name+" holds a value that is not known yet. This is a defect; please report it.")
	}
	return out
}

// texts returns a list that is never null.
func texts(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
