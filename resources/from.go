package resources

import (
	"context"
	"errors"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/passthrough"
)

// The functions below read a part of a deployment, or an argument of a function that has the same form. known is false
// when anything inside is unknown; there is then no value, but errors of what is known are reported.

// NodesFrom reads the nodes of a deployment.
func NodesFrom(ctx context.Context, v attr.Value) (nodes []site.Node, known bool, diags diag.Diagnostics) {
	return from(ctx, v, reader().Nodes)
}

// GroupsFrom reads the groups of a deployment. They are nil, and not just empty, when the attribute is null.
func GroupsFrom(ctx context.Context, v attr.Value) (groups []site.Group, known bool, diags diag.Diagnostics) {
	return from(ctx, v, reader().Groups)
}

// ServicesFrom reads the services of a deployment. Those of one entity share it.
func ServicesFrom(ctx context.Context, v attr.Value) (services []site.Service, known bool, diags diag.Diagnostics) {
	return from(ctx, v, reader().Services)
}

// OverridesFrom reads the overrides of a deployment.
func OverridesFrom(ctx context.Context, v attr.Value) (overrides []site.Override, known bool, diags diag.Diagnostics) {
	return from(ctx, v, reader().Overrides)
}

// PluginsFrom reads the plugins of a deployment.
func PluginsFrom(ctx context.Context, v attr.Value) (plugins []site.Plugin, known bool, diags diag.Diagnostics) {
	return from(ctx, v, reader().Plugins)
}

// OrderingFrom reads what a catalog says of the order of tasks, nil when it says nothing.
func OrderingFrom(ctx context.Context, v attr.Value) (o *catalog.Ordering, known bool, diags diag.Diagnostics) {
	return from(ctx, v, reader().Ordering)
}

// ConnectionFrom reads the provider's connection. What is unknown is left unset.
func ConnectionFrom(ctx context.Context, v attr.Value) (c site.Connection, known bool, diags diag.Diagnostics) {
	value, err := opened(ctx, v)
	if err != nil {
		diags.AddError("Invalid connection", err.Error())
	}
	c, known, errs := reader().Connection(value)
	for _, wrong := range errs {
		diags.AddAttributeError(path.Root("connection"), "Invalid connection",
			"connection."+wrong.Attribute+": "+wrong.Message+".")
	}
	return c, known, diags
}

func reader() *document.Values { return document.NewValues(false) }

func from[T any](ctx context.Context, v attr.Value, read func(any) (T, bool, invalid.Errors)) (out T, known bool,
	diags diag.Diagnostics) {
	value, err := opened(ctx, v)
	if err != nil {
		diags.AddError("Invalid value", err.Error())
		return out, false, diags
	}
	out, known, errs := read(value)
	return out, known, Diagnostics(errs)
}

// opened returns a value, or what an attribute of the deployment holds that is opaque, as a plain one.
func opened(ctx context.Context, v attr.Value) (any, error) {
	if s, ok := v.(passthrough.Value); ok {
		value, err := s.Decode()
		return plain(value), err
	}
	value, err := v.ToTerraformValue(ctx)
	return plain(value), err
}

// plain returns a value as [document.Values] takes it.
func plain(v tftypes.Value) any {
	switch {
	case !v.IsKnown():
		return planresource.Unknown{}
	case v.IsNull():
		return nil
	}
	if entries, ok := entriesOf(v); ok {
		out := make(map[string]any, len(entries))
		for key, e := range entries {
			out[key] = plain(e)
		}
		return out
	}
	if elements, ok := elementsOf(v); ok {
		out := make([]any, len(elements))
		for i, e := range elements {
			out[i] = plain(e)
		}
		return out
	}
	var (
		number big.Float
		text   string
		flag   bool
	)
	switch {
	case v.As(&text) == nil:
		return text
	case v.As(&flag) == nil:
		return flag
	case v.As(&number) == nil:
		return planresource.Number(&number)
	}
	return v // for the reader to refuse
}

// Plain returns a value that is known as strings, bools, int64, float64, []any and map[string]any. What is null is nil;
// in objects and maps it is left out, because there null means not given.
func Plain(v tftypes.Value) (any, error) {
	if !v.IsFullyKnown() {
		return nil, errors.New("holds a value that is not known yet")
	}
	return withoutNulls(plain(v)), nil
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = withoutNulls(e)
		}
	case map[string]any:
		for key, e := range v {
			if e == nil {
				delete(v, key)
			} else {
				v[key] = withoutNulls(e)
			}
		}
	}
	return v
}

// entriesOf returns what an object or map holds.
func entriesOf(v tftypes.Value) (map[string]tftypes.Value, bool) {
	if !v.Type().Is(tftypes.Object{}) && !v.Type().Is(tftypes.Map{}) {
		return nil, false
	}
	var entries map[string]tftypes.Value
	return entries, v.As(&entries) == nil
}

// objectOf returns the object that holds entries.
func objectOf(entries map[string]tftypes.Value) tftypes.Value {
	attributeTypes := make(map[string]tftypes.Type, len(entries))
	for name, v := range entries {
		attributeTypes[name] = v.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: attributeTypes}, entries)
}

// elementsOf returns what a tuple, list or set holds.
func elementsOf(v tftypes.Value) ([]tftypes.Value, bool) {
	if !v.Type().Is(tftypes.Tuple{}) && !v.Type().Is(tftypes.List{}) && !v.Type().Is(tftypes.Set{}) {
		return nil, false
	}
	var elements []tftypes.Value
	return elements, v.As(&elements) == nil
}

// textsOf returns the texts of a list or set; none where it is null or unknown.
func textsOf(collection interface{ Elements() []attr.Value }) (out []string) {
	for _, v := range collection.Elements() {
		if s, ok := v.(types.String); ok {
			out = append(out, s.ValueString())
		}
	}
	return out
}

func namePath(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
