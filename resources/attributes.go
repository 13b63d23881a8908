package resources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// rule is a validator of values that are not null, and not unknown unless it says so.
type rule struct {
	text    string // what is right, for descriptions
	unknown bool   // unknown values are checked, too
	check   func(ctx context.Context, at path.Path, v attr.Value) diag.Diagnostics
}

func (r rule) Description(context.Context) string         { return r.text }
func (r rule) MarkdownDescription(context.Context) string { return r.text }

func (r rule) of(ctx context.Context, at path.Path, v attr.Value) diag.Diagnostics {
	if v.IsNull() || v.IsUnknown() && !r.unknown {
		return nil
	}
	return r.check(ctx, at, v)
}

func (r rule) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	resp.Diagnostics.Append(r.of(ctx, req.Path, req.ConfigValue)...)
}

func (r rule) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	resp.Diagnostics.Append(r.of(ctx, req.Path, req.ConfigValue)...)
}

func (r rule) ValidateMap(ctx context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	resp.Diagnostics.Append(r.of(ctx, req.Path, req.ConfigValue)...)
}

func (r rule) ValidateDynamic(ctx context.Context, req validator.DynamicRequest, resp *validator.DynamicResponse) {
	resp.Diagnostics.Append(r.of(ctx, req.Path, req.ConfigValue)...)
}

// textRule accepts a string for which check finds nothing wrong.
func textRule(text string, check func(string) error) validator.String {
	return rule{text: text, check: func(_ context.Context, at path.Path, v attr.Value) (diags diag.Diagnostics) {
		if err := check(textOf(v)); err != nil {
			diags.AddAttributeError(at, "Invalid value of "+at.String(), err.Error())
		}
		return diags
	}}
}

func textOf(v attr.Value) string {
	s, _ := v.(types.String)
	return s.ValueString()
}

// durationValidator accepts a duration above zero.
func durationValidator() validator.String {
	return textRule("a duration above zero, such as 30s, 10m or 1h30m", func(s string) error {
		_, err := document.ParseDuration(s)
		return err
	})
}

// labelSelectorValidator accepts `key:value`: exactly one colon, neither side empty after trimming (airship.md 3,
// D-20).
func labelSelectorValidator() validator.String {
	return textRule("a label as key:value", func(s string) error {
		_, _, err := site.ParseLabel(s)
		return err
	})
}

// labelValidator accepts the key or the value of a node's label: one that a selector can name.
func labelValidator() validator.String {
	return textRule("not empty, no colon, no white space around it", site.CheckLabelSide)
}

// rolePatternValidator accepts a role or `/regular expression/` (fuel.md B4).
func rolePatternValidator() validator.String {
	return textRule("a role or /regular expression/", func(s string) error {
		if s == "" {
			return errors.New("the role is empty; write a role or /regular expression/")
		}
		_, err := site.ParseRolePattern(s)
		return err
	})
}

// addressValidator accepts a host name or an IP address, nothing around it.
func addressValidator() validator.String {
	return textRule("a host name or IP address", site.CheckAddress)
}

// oneCriterion accepts an object that gives at least one of its attributes.
func oneCriterion(consequence string) validator.Object {
	return rule{text: "at least one attribute must be given",
		check: func(_ context.Context, at path.Path, v attr.Value) (diags diag.Diagnostics) {
			object, _ := v.(types.Object)
			for _, value := range object.Attributes() {
				if !value.IsNull() {
					return nil
				}
			}
			diags.AddAttributeError(at, "Nothing given in "+at.String(),
				fmt.Sprintf("The object is empty; give at least one of %s. %s Terraform passes over any other name.",
					strings.Join(slices.Sorted(maps.Keys(object.Attributes())), ", "), consequence))
			return diags
		}}
}

// onlyOneOf accepts an object of which at most one of some attributes is given. The name of an attribute of a nested
// object has a dot: `credentials.private_key`.
func onlyOneOf(why string, names ...string) validator.Object {
	return rule{text: "at most one of " + strings.Join(names, ", "),
		check: func(_ context.Context, at path.Path, v attr.Value) (diags diag.Diagnostics) {
			object, _ := v.(types.Object)
			given := ""
			for _, name := range names {
				value, place := attributeAt(object, at, name)
				if value == nil || value.IsNull() || value.IsUnknown() || textOf(value) == "" {
					continue
				}
				if given != "" {
					diags.AddAttributeError(place, "Both "+given+" and "+name+" are given", why)
					return diags
				}
				given = name
			}
			return nil
		}}
}

// attributeAt returns an attribute of an object and its path; there is none in a nested object that is null or unknown.
func attributeAt(object types.Object, at path.Path, name string) (attr.Value, path.Path) {
	first, rest, nested := strings.Cut(name, ".")
	value, at := object.Attributes()[first], at.AtName(first)
	if !nested {
		return value, at
	}
	inner, ok := value.(types.Object)
	if !ok {
		return nil, at
	}
	return attributeAt(inner, at, rest)
}

// moved refuses an attribute that has another place in the same object now, also a value that is not known yet.
func moved(to string) validator.String {
	return rule{text: "moved to " + to, unknown: true,
		check: func(_ context.Context, at path.Path, _ attr.Value) diag.Diagnostics { return hasMoved(at, to) }}
}

func hasMoved(at path.Path, to string) diag.Diagnostics {
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(at, at.String()+" has moved",
		"Give "+invalid.PathTo(at.ParentPath().String(), to)+" instead.")}
}

// movedSecrets refuses what [movedAttribute] refuses, in a node that is known.
func movedSecrets(node tftypes.Value) (diags diag.Diagnostics) {
	object, _ := values.Plain(node).(map[string]any)
	connection, _ := object[nodeConnection].(map[string]any)
	refuse := func(at path.Path, below map[string]any, fields []ConnectionField) {
		for _, f := range fields {
			if f.Sensitive && below[f.Name] != nil {
				diags.Append(hasMoved(at.AtName(f.Name), invalid.PathTo(nodeCredentials, f.Name))...)
			}
		}
	}
	at := path.Root(nodeConnection)
	refuse(at, connection, ConnectionFields())
	hops, _ := connection["bastions"].([]any)
	for i, hop := range hops {
		below, _ := hop.(map[string]any)
		refuse(at.AtName("bastions").AtListIndex(i), below, hopFields())
	}
	return diags
}

// misplaced refuses `credentials` of the provider's connection, which is of nodes only.
func misplaced() validator.Map {
	return rule{text: "is for nodes only", unknown: true,
		check: func(_ context.Context, at path.Path, _ attr.Value) (diags diag.Diagnostics) {
			diags.AddAttributeError(at, at.String()+" is for nodes only",
				"Give "+at.ParentPath().String()+".private_key, and whatever else is in it, instead.")
			return diags
		}}
}

// orderingRule checks the rules of a catalog as soon as they are known.
func orderingRule() validator.String {
	return rule{text: "must be the ordering of a catalog",
		check: func(ctx context.Context, _ path.Path, v attr.Value) diag.Diagnostics {
			_, _, diags := values.From(ctx, v, (*document.Values).Ordering)
			return diags
		}}
}

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

func list(description string, validators ...validator.List) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: append([]validator.List{values.NoNulls{}}, validators...)}
}

// set is a set of texts that each accepts.
func set(description string, each validator.String, validators ...validator.Set) schema.SetAttribute {
	return schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: append([]validator.Set{values.NoNulls{}, setvalidator.ValueStringsAre(each)}, validators...)}
}

func mapping(element attr.Type, description string, validators ...validator.Map) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: element, MarkdownDescription: description,
		Validators: validators}
}

func object(description string, attributes map[string]schema.Attribute,
	validators ...validator.Object) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true, MarkdownDescription: description, Attributes: attributes,
		Validators: validators}
}

// amount is a whole number from 1 to most, usual where it is left out.
func amount(description string, usual, most int64) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(usual),
		MarkdownDescription: description, Validators: []validator.Int64{int64validator.Between(1, most)}}
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
