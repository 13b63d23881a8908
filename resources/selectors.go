package resources

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// selectorModelV0 is one element of `selectors`.
type selectorModelV0 struct {
	NodeNames  types.List `tfsdk:"node_names"`
	NodeTags   types.List `tfsdk:"node_tags"`
	NodeLabels types.List `tfsdk:"node_labels"`
	RackNames  types.List `tfsdk:"rack_names"`
}

// selectorsOf returns the selectors that the models describe.
func selectorsOf(models []selectorModelV0) (site.Selectors, invalid.Errors) {
	selectors := make(site.Selectors, len(models))
	var errs invalid.Errors
	for i, m := range models {
		if m.NodeNames.IsNull() && m.NodeTags.IsNull() && m.NodeLabels.IsNull() && m.RackNames.IsNull() {
			errs = append(errs, invalid.Error{Attribute: elementPath("selectors", i), Code: invalid.MissingField,
				Message: "a selector needs at least one of node_labels, node_names, node_tags and rack_names; " + allNodes})
		}
		selectors[i].NodeNames, _ = stringsOf(m.NodeNames)
		selectors[i].NodeTags, _ = stringsOf(m.NodeTags)
		selectors[i].NodeLabels, _ = stringsOf(m.NodeLabels)
		selectors[i].RackNames, _ = stringsOf(m.RackNames)
	}
	return selectors, errs
}

const allNodes = "write selectors = [] for all nodes"

// selectorsAttribute is `selectors` of groups and services.
func selectorsAttribute(what string) schema.ListNestedAttribute {
	criterion := func(description string, element ...validator.String) schema.ListAttribute {
		return schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: description + " A criterion that is left out or empty is ignored.",
			Validators:          []validator.List{listvalidator.NoNullValues(), listvalidator.ValueStringsAre(element...)},
		}
	}
	return schema.ListNestedAttribute{
		Required: true, Validators: []validator.List{listvalidator.NoNullValues()},
		MarkdownDescription: "Which nodes " + what +
			": those that any of the selectors selects; `[]` selects all nodes. A selector selects the nodes that meet all of its criteria; " +
			"a criterion is met by any one of its values.",
		NestedObject: schema.NestedAttributeObject{
			Validators: []validator.Object{oneCriterion{consequence: strings.ToUpper(allNodes[:1]) + allNodes[1:] + "."}},
			Attributes: map[string]schema.Attribute{
				"node_names":  criterion("Names of nodes.", stringvalidator.LengthAtLeast(1)),
				"node_tags":   criterion("Tags, any of which the node has.", stringvalidator.LengthAtLeast(1)),
				"node_labels": criterion("Labels as `key:value`, any of which the node has. White space around the colon is dropped.", labelSelectorValidator()),
				"rack_names":  criterion("Names of racks.", stringvalidator.LengthAtLeast(1)),
			},
		},
	}
}
