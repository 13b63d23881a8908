package resources

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// defaults reads type -> parameters, sorted by type. The titles of the blocks are empty.
func (r *reading) defaults(at string, v tftypes.Value) []block {
	var blocks []block
	for _, t := range r.entries(at, v, nullsAreErrors, "types") {
		blocks = append(blocks, r.block(keyedPath(at, t.key), planresource.Resource{Type: t.key}, t.value, nullsAreErrors))
	}
	return blocks
}

// defaultsFrom reads `options.defaults` into the planner's form.
func defaultsFrom(ctx context.Context, v types.Dynamic) (map[string]map[string]any, invalid.Errors) {
	const at = "options.defaults"
	value, err := v.ToTerraformValue(ctx)
	if err != nil {
		return nil, invalid.Errors{{Attribute: at, Code: invalid.BadStructure, Message: err.Error()}}
	}
	var r reading
	var out map[string]map[string]any
	for _, b := range r.defaults(at, value) {
		if out == nil {
			out = map[string]map[string]any{}
		}
		out[b.Type] = b.Parameters
	}
	return out, r.errs
}

// defaultsValidator checks `options.defaults` against the configuration resource types.
type defaultsValidator struct{}

func (v defaultsValidator) Description(context.Context) string {
	return "parameters of configuration resource types: type, parameters"
}

func (v defaultsValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v defaultsValidator) ValidateDynamic(ctx context.Context, req validator.DynamicRequest,
	resp *validator.DynamicResponse) {
	if req.ConfigValue.IsNull() {
		return
	}
	value, err := req.ConfigValue.ToTerraformValue(ctx)
	if err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid defaults", err.Error())
		return
	}
	var r reading
	schemas := schema.Types()
	for _, b := range r.defaults(req.Path.String(), value) {
		schema, known := schemas[b.Type]
		if !known {
			r.errs = append(r.errs, site.UnknownTypeError("", "", b.at, b.Type, schemas))
			continue
		}
		b.Title = "any" // the parameters count for every title
		r.errs = append(r.errs, configurationValidator{nulls: nullsAreErrors, partial: true}.check(schema, b)...)
	}
	for _, p := range r.errs {
		resp.Diagnostics.Append(diagnostic(req.Path, p, p.Attribute+": "+p.Message))
	}
}

// sortedStrings returns the elements of a set, sorted, because a set arrives in an order of its own.
func sortedStrings(v types.Set) []string {
	out, _ := stringsOf(v)
	slices.Sort(out)
	return out
}
