package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/document"
)

// plain returns a value that is known as strings, bools, int64, float64, []any and map[string]any. What is null is nil; in
// objects and maps it is left out, because there null means not given.
func plain(v tftypes.Value) (any, error) {
	if !v.IsKnown() {
		return nil, errors.New("holds a value that is not known yet")
	}
	if v.IsNull() {
		return nil, nil
	}
	var (
		members  map[string]tftypes.Value
		elements []tftypes.Value
		number   big.Float
		text     string
		flag     bool
	)
	switch {
	case v.As(&text) == nil:
		return text, nil
	case v.As(&flag) == nil:
		return flag, nil
	case v.As(&number) == nil:
		if n, accuracy := number.Int64(); accuracy == big.Exact {
			return n, nil
		}
		f, _ := number.Float64()
		return f, nil
	case v.As(&members) == nil:
		out := make(map[string]any, len(members))
		for _, key := range slices.Sorted(maps.Keys(members)) {
			value, err := plain(members[key])
			if err != nil {
				return nil, err
			}
			if value != nil {
				out[key] = value
			}
		}
		return out, nil
	case v.As(&elements) == nil:
		out := make([]any, len(elements))
		for i, e := range elements {
			value, err := plain(e)
			if err != nil {
				return nil, err
			}
			out[i] = value
		}
		return out, nil
	}
	return nil, fmt.Errorf("holds a value of the type %s, which no document has", v.Type())
}

// plainOf is plain for an argument of a function.
func plainOf(ctx context.Context, v types.Dynamic) (any, error) {
	value, err := v.ToTerraformValue(ctx)
	if err != nil {
		return nil, err
	}
	return plain(value)
}

// sourceOf writes a value as the document that it would be, so that there is one reader for both.
func sourceOf(name string, v any) (document.Source, error) {
	data, err := yaml.Marshal(v)
	return document.Source{Name: name, Data: data}, err
}

// misread tells of a document that was an argument: by path, because the user never saw lines and columns of it.
func misread(err error) error {
	var problems document.Problems
	if !errors.As(err, &problems) {
		return err
	}
	var all []error
	for _, p := range problems {
		p.Line, p.Column = 0, 0
		all = append(all, p)
	}
	return errors.Join(all...)
}

// valueOf returns a plain value as Terraform's.
func valueOf(ctx context.Context, v any) (attr.Value, error) {
	switch v := v.(type) {
	case nil:
		return types.DynamicNull(), nil
	case string:
		return types.StringValue(v), nil
	case bool:
		return types.BoolValue(v), nil
	case int64:
		return types.NumberValue(new(big.Float).SetInt64(v)), nil
	case float64:
		return types.NumberValue(big.NewFloat(v)), nil
	case []any:
		elements := make([]attr.Value, len(v))
		kinds := make([]attr.Type, len(v))
		for i, e := range v {
			value, err := valueOf(ctx, e)
			if err != nil {
				return nil, err
			}
			elements[i], kinds[i] = value, value.Type(ctx)
		}
		tuple, diags := types.TupleValue(kinds, elements)
		return tuple, failed(diags)
	case map[string]any:
		members := make(map[string]attr.Value, len(v))
		kinds := make(map[string]attr.Type, len(v))
		for key, e := range v {
			value, err := valueOf(ctx, e)
			if err != nil {
				return nil, err
			}
			members[key], kinds[key] = value, value.Type(ctx)
		}
		object, diags := types.ObjectValue(kinds, members)
		return object, failed(diags)
	}
	return nil, fmt.Errorf("a %T is no value of a configuration", v)
}

// failed makes an error of diagnostics that only a defect of slipway causes.
func failed(diags diag.Diagnostics) error {
	for _, d := range diags.Errors() {
		return fmt.Errorf("%s: %s", d.Summary(), d.Detail())
	}
	return nil
}
