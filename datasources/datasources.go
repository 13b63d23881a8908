// Package datasources holds what configurations ask of slipway: catalogs, plugins, nodes, strategies, plans, runs and
// services. Like the resources they only translate between Terraform's values and the planner's; none of them changes a
// node, and slipway_nodes alone asks some, for their facts.
package datasources

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// Provider is what the provider shares with data sources when it is configured.
type Provider interface {
	// Journals returns where the journals are.
	Journals() journal.Location
	// Facts asks nodes what they are like, and changes nothing there. Those of a node that does not answer are null, and
	// a warning says why.
	Facts(ctx context.Context, nodes []site.Node) (types.Map, diag.Diagnostics)
}

// All returns the data sources for the provider's table. To add one, add its file and its line here. facts is the type
// of the facts of a node.
func All(facts types.ObjectType) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		NewCatalog,
		NewPlugin,
		func() datasource.DataSource { return NewNodes(facts) },
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

// configured returns what the provider shares with a data source, once it is configured.
func configured(name named, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) (Provider, bool) {
	return values.Shared[Provider]("slipway_"+string(name), req.ProviderData, &resp.Diagnostics)
}

// take reads one attribute of a site. Terraform reads a data source only when all that it is given is known, so
// anything unknown is an error.
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

// asked reads the attributes that a data source is given, by their names, and reports whether that went well.
func asked(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse, into map[string]any) bool {
	for name, target := range into {
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root(name), target)...)
	}
	return !resp.Diagnostics.HasError()
}

// answer sets the state: what the data source was given, and of found what the schema has, by its names in JSON.
// Attributes that are in neither are null.
func answer(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse, found any) {
	typ, _ := req.Config.Schema.Type().TerraformType(ctx).(tftypes.Object)
	members, err := fromJSON(found, typ)
	given := map[string]tftypes.Value{}
	if err = errors.Join(err, req.Config.Raw.As(&given)); err != nil {
		resp.Diagnostics.AddError("The answer cannot be shown", err.Error()+". This is a defect of slipway; please report it.")
		return
	}
	for name, v := range given {
		if !v.IsNull() {
			members[name] = v
		}
	}
	resp.State.Raw = tftypes.NewValue(typ, members)
}

// fromJSON returns the attributes of an object as its JSON has them.
func fromJSON(v any, typ tftypes.Object) (members map[string]tftypes.Value, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	object, err := tftypes.ValueFromJSONWithOpts(text, typ, tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true})
	if err != nil {
		return nil, err
	}
	err = object.As(&members)
	return members, err
}

// name is the name of something that a data source is asked for.
func name(description string) schema.StringAttribute {
	return schema.StringAttribute{Required: true, Validators: []validator.String{values.NameValidator()},
		MarkdownDescription: description}
}

// The functions below are the attributes that a data source sets.

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func flag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

func number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func list(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func objects(description string, attributes map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}
