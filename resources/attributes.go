package resources

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// The functions below are the forms that most attributes have. What is given besides the description are validators.

func text(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

func number(description string, validators ...validator.Int64) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

func flag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

// choice is one of some texts, the first where it is left out.
func choice(description string, allowed ...string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(allowed[0]),
		MarkdownDescription: description, Validators: []validator.String{stringvalidator.OneOf(allowed...)}}
}

// wholeObjects is an attribute that takes resources as they are.
func wholeObjects(required bool, description string) schema.Attribute {
	return schema.StringAttribute{Required: required, Optional: !required, CustomType: values.OpaqueType{},
		MarkdownDescription: description}
}

// shown is an attribute that a run sets.
func shown(typ attr.Type, description string) schema.Attribute {
	switch typ := typ.(type) {
	case types.ListType:
		return schema.ListAttribute{Computed: true, ElementType: typ.ElemType, MarkdownDescription: description}
	case types.MapType:
		return schema.MapAttribute{Computed: true, ElementType: typ.ElemType, MarkdownDescription: description}
	case basetypes.Int64Type:
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}
