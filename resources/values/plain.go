package values

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
)

// From reads a part of a deployment, or an argument of a function that has the same form. known is false when anything
// inside is unknown; there is then no value, but errors of what is known are reported.
func From[T any](ctx context.Context, v attr.Value, read func(*document.Values, any) (T, bool, invalid.Errors)) (out T,
	known bool, diags diag.Diagnostics) {
	value, err := Opened(ctx, v)
	if err != nil {
		diags.AddError("Invalid value", err.Error())
		return out, false, diags
	}
	out, known, errs := read(document.NewValues(false), value)
	return out, known, Diagnostics(errs)
}

// Opened returns a value, also an opaque one, as a plain one.
func Opened(ctx context.Context, v attr.Value) (any, error) {
	if s, ok := v.(Opaque); ok {
		value, err := s.Decode()
		return Plain(value), err
	}
	value, err := v.ToTerraformValue(ctx)
	return Plain(value), err
}

// Plain returns a value as [document.Values] takes it.
func Plain(v tftypes.Value) any {
	switch {
	case !v.IsKnown():
		return planresource.Unknown{}
	case v.IsNull():
		return nil
	}
	if entries, ok := Entries(v); ok {
		out := make(map[string]any, len(entries))
		for key, e := range entries {
			out[key] = Plain(e)
		}
		return out
	}
	if elements, ok := Elements(v); ok {
		out := make([]any, len(elements))
		for i, e := range elements {
			out[i] = Plain(e)
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

// Known returns a value that is known as strings, bools, int64, float64, []any and map[string]any. What is null is nil;
// in objects and maps it is left out, because there null means not given.
func Known(v tftypes.Value) (any, error) {
	if !v.IsFullyKnown() {
		return nil, errors.New("holds a value that is not known yet")
	}
	return WithoutNulls(Plain(v)), nil
}

// WithoutNulls takes what is null out of the objects of a plain value.
func WithoutNulls(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = WithoutNulls(e)
		}
	case map[string]any:
		for key, e := range v {
			if e == nil {
				delete(v, key)
			} else {
				v[key] = WithoutNulls(e)
			}
		}
	}
	return v
}

// Entries returns what an object or map holds.
func Entries(v tftypes.Value) (map[string]tftypes.Value, bool) {
	if !v.Type().Is(tftypes.Object{}) && !v.Type().Is(tftypes.Map{}) {
		return nil, false
	}
	var entries map[string]tftypes.Value
	return entries, v.As(&entries) == nil
}

// Object returns the object that holds entries.
func Object(entries map[string]tftypes.Value) tftypes.Value {
	attributeTypes := make(map[string]tftypes.Type, len(entries))
	for name, v := range entries {
		attributeTypes[name] = v.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: attributeTypes}, entries)
}

// Elements returns what a tuple, list or set holds.
func Elements(v tftypes.Value) ([]tftypes.Value, bool) {
	if !v.Type().Is(tftypes.Tuple{}) && !v.Type().Is(tftypes.List{}) && !v.Type().Is(tftypes.Set{}) {
		return nil, false
	}
	var elements []tftypes.Value
	return elements, v.As(&elements) == nil
}

// Texts returns the texts of a list or set; none where it is null or unknown.
func Texts(collection interface{ Elements() []attr.Value }) (out []string) {
	for _, v := range collection.Elements() {
		if s, ok := v.(types.String); ok {
			out = append(out, s.ValueString())
		}
	}
	return out
}

// Shared returns what the provider shares with name, once it is configured; ok is false before.
func Shared[T any](name string, given any, diags *diag.Diagnostics) (shared T, ok bool) {
	if shared, ok = given.(T); !ok && given != nil {
		diags.AddError("Provider is not configured",
			fmt.Sprintf("%s got %T from the provider. This is a defect of slipway; please report it.", name, given))
	}
	return shared, ok
}

// NameRule says what the names of sites, nodes, groups, services and overrides are.
const NameRule = "must begin with a letter or digit and go on with letters, digits, dots, underscores and hyphens"

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// IsName reports whether a text is a name.
func IsName(s string) bool { return namePattern.MatchString(s) }

// NameValidator accepts names.
func NameValidator() validator.String { return stringvalidator.RegexMatches(namePattern, NameRule) }
