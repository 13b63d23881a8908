package values

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// validated makes a call of the framework that validates the configuration of a request, and cleans the diagnostics,
// which are at of. A number that is not whole, where a whole one is declared, is to the framework a defect of the
// provider, and it says no more of the attribute. So that is an error of slipway, and the framework validates the rest.
func validated[Q, R any](ctx context.Context, typ tftypes.Type, req *Q, config **tfprotov6.DynamicValue,
	call func(context.Context, *Q) (*R, error), of func(*R) *[]*tfprotov6.Diagnostic) (*R, error) {
	resp, err := call(ctx, req)
	if err != nil {
		return resp, err
	}
	if len(*of(resp)) > 0 && *config != nil && typ != nil {
		rest, wrong, err := wholeNumbers(typ, *config)
		if err != nil {
			return resp, err
		}
		if *config = rest; len(wrong) > 0 {
			if resp, err = call(ctx, req); err != nil {
				return resp, err
			}
			*of(resp) = append(wrong, *of(resp)...)
		}
	}
	visible(of(resp))
	return resp, nil
}

// wholeNumbers returns an error for each number in a configuration that is no whole one of 64 bits, and the
// configuration in which these are unknown. Every number that slipway's schemas declare is whole; what is in attributes
// of any type is not looked at.
func wholeNumbers(typ tftypes.Type, config *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, []*tfprotov6.Diagnostic,
	error) {
	object, err := config.Unmarshal(typ)
	if err != nil {
		return nil, nil, err
	}
	var wrong []*tfprotov6.Diagnostic
	object, err = tftypes.Transform(object, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		declared, _, _ := tftypes.WalkAttributePath(typ, at) // nil: it is in an attribute of any type
		if t, ok := declared.(tftypes.Type); !ok || !t.Is(tftypes.Number) || v.IsNull() || !v.IsKnown() {
			return v, nil
		}
		var n big.Float
		if err := v.As(&n); err != nil {
			return v, err
		}
		detail := notWhole(&n)
		if detail == "" {
			return v, nil
		}
		wrong = append(wrong, &tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityError, Attribute: at,
			Summary: "Invalid value of " + pathText(at), Detail: detail})
		return tftypes.NewValue(tftypes.Number, tftypes.UnknownValue), nil
	})
	if err != nil || len(wrong) == 0 {
		return config, nil, err
	}
	rest, err := tfprotov6.NewDynamicValue(typ, object)
	return &rest, wrong, err
}

// notWhole says what is wrong with a number that is no whole one of 64 bits; empty: it is one.
func notWhole(n *big.Float) string {
	whole, exact := n.Int64()
	switch text := n.Text('g', -1); {
	case exact == big.Exact:
		return ""
	case !n.IsInt():
		return fmt.Sprintf("%s is not a whole number; give one, such as %d.", text, max(whole, 1))
	case n.Sign() < 0:
		return fmt.Sprintf("%s is too small; give a whole number of at least %d.", text, math.MinInt64)
	default:
		return fmt.Sprintf("%s is too large; give a whole number of at most %d.", text, math.MaxInt64)
	}
}

// pathText is a path as configurations write it.
func pathText(at *tftypes.AttributePath) string {
	p := path.Empty()
	for _, step := range at.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			p = p.AtName(string(step))
		case tftypes.ElementKeyInt:
			p = p.AtListIndex(int(step))
		case tftypes.ElementKeyString:
			p = p.AtMapKey(string(step))
		}
	}
	return p.String()
}
