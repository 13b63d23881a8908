package provider

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/slipway/terraform-provider-slipway/resources/values"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// plainOf is [values.Known] for an argument of a function.
func plainOf(ctx context.Context, v types.Dynamic) (any, error) {
	value, err := v.ToTerraformValue(ctx)
	if err != nil {
		return nil, err
	}
	return values.Known(value)
}

// sourceOf writes a value as the document that it would be, so that there is one reader for both.
func sourceOf(name string, v any) (document.Source, error) {
	data, err := yaml.Marshal(v)
	return document.Source{Name: name, Data: data}, err
}

// misread reports a document that was an argument: by path, because the user never saw lines and columns of it.
func misread(err error) error {
	var errs invalid.Errors
	if !errors.As(err, &errs) {
		return err
	}
	var all []error
	for _, p := range errs {
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
