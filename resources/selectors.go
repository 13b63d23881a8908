package resources

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

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
			Validators: []validator.Object{oneCriterion(strings.ToUpper(allNodes[:1]) + allNodes[1:] + ".")},
			Attributes: map[string]schema.Attribute{
				"node_names":  criterion("Names of nodes.", stringvalidator.LengthAtLeast(1)),
				"node_tags":   criterion("Tags, any of which the node has.", stringvalidator.LengthAtLeast(1)),
				"node_labels": criterion("Labels as `key:value`, any of which the node has. White space around the colon is dropped.", labelSelectorValidator()),
				"rack_names":  criterion("Names of racks.", stringvalidator.LengthAtLeast(1)),
			},
		},
	}
}
