package values

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// NoNulls refuses a list, set or map with an element that is null. The error names the element; those of a set have no
// name.
type NoNulls struct{}

var (
	_ validator.List = NoNulls{}
	_ validator.Set  = NoNulls{}
	_ validator.Map  = NoNulls{}
)

// Description says what is right.
func (NoNulls) Description(context.Context) string { return "no element is null" }

// MarkdownDescription is the same.
func (n NoNulls) MarkdownDescription(ctx context.Context) string { return n.Description(ctx) }

// ValidateList implements validator.List.
func (NoNulls) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	for i, element := range req.ConfigValue.Elements() {
		refuseNull(&resp.Diagnostics, req.Path.AtListIndex(i), element)
	}
}

// ValidateSet implements validator.Set.
func (NoNulls) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	for _, element := range req.ConfigValue.Elements() {
		refuseNull(&resp.Diagnostics, req.Path, element)
	}
}

// ValidateMap implements validator.Map.
func (NoNulls) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	elements := req.ConfigValue.Elements()
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		refuseNull(&resp.Diagnostics, req.Path.AtMapKey(key), elements[key])
	}
}

func refuseNull(diags *diag.Diagnostics, at path.Path, element attr.Value) {
	if element.IsNull() {
		diags.AddAttributeError(at, "Invalid value of "+at.String(), "An element is null; leave it out instead.")
	}
}
