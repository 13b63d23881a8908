package provider

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// newMergeOverrides returns provider::slipway::merge_overrides.
func newMergeOverrides() function.Function {
	return &callable{"merge_overrides", function.Definition{
		Summary: "One override made of several layers.",
		MarkdownDescription: "Merges layers of overrides, the weakest first, and returns `configuration` and `options` of the override that stands for all of them. Maps merge at every depth, lists are united with the " +
			"weaker layer's elements first, of other values the stronger one counts; an empty list or map clears nothing, and a null counts as not given. A layer with `merge = \"title\"` replaces a title whole, and an option or the defaults of a type, too. " +
			"The options of all layers become one set that counts for all entries, while each `slipway_override` of a deployment keeps its options to its own entries.",
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "overrides", MarkdownDescription: "Layers, as a list or map: `slipway_override` resources, or objects with the same attributes, of which only `name` and `configuration` are required. Their scopes do not matter; a map counts in the order of its keys."},
		},
		Return: function.DynamicReturn{},
	}, mergeOverrides}
}

func mergeOverrides(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var given types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &given); resp.Error != nil {
		return
	}
	layers, ferr := objectsOf(ctx, 0, given, (*document.Values).Overrides)
	if ferr != nil {
		resp.Error = ferr
		return
	}
	for _, l := range layers {
		if l.Merge != "parameter" && l.Merge != "title" {
			resp.Error = wrong(0, fmt.Errorf("override %q: merge: %q is not a way to merge; use \"parameter\" or \"title\"",
				l.Name, l.Merge))
			return
		}
	}
	value, err := valueOf(ctx, overrideValue(override.Combine(layers)))
	if err != nil {
		resp.Error = function.NewFuncError(err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, types.DynamicValue(value))
}

// overrideValue is what the function returns: options that no layer gives are left out.
func overrideValue(o site.Override) map[string]any {
	options, _ := document.PlainOf(o.Options).(map[string]any)
	if options["defaults"] = nested(o.Options.Defaults, func(p map[string]any) any { return p }); len(o.Options.Defaults) == 0 {
		delete(options, "defaults")
	}
	maps.DeleteFunc(options, func(_ string, v any) bool {
		list, is := v.([]any)
		return v == nil || is && len(list) == 0
	})
	return map[string]any{"options": options, "configuration": nested(o.Configuration,
		func(titles map[string]resource.Parameters) any {
			return nested(titles, func(p resource.Parameters) any { return map[string]any(p) })
		})}
}

func nested[V any](m map[string]V, plain func(V) any) map[string]any {
	out := make(map[string]any, len(m))
	for key, v := range m {
		out[key] = plain(v)
	}
	return out
}
