package template

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// mark is what a value carries along to everything that is made from it.
type mark string

// sensitive marks values that are never shown.
const sensitive mark = "sensitive"

// awaits marks a value that is not known yet with the path of the attribute that it waits for.
type awaits string

// pending is a value of an attribute that is not known yet.
func pending(t cty.Type, path string) cty.Value { return cty.UnknownVal(t).Mark(awaits(path)) }

// fromGo makes a value of string, bool, int64, finite float64, []any and map[string]any. Anything else becomes null: no
// checked attribute has it.
func fromGo(value any) cty.Value {
	switch v := value.(type) {
	case string:
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case int64:
		return cty.NumberIntVal(v)
	case float64:
		if v-v == 0 { // finite
			return cty.NumberFloatVal(v)
		}
	case []any:
		out := make([]cty.Value, len(v))
		for i, e := range v {
			out[i] = fromGo(e)
		}
		return cty.TupleVal(out)
	case map[string]any:
		out := make(map[string]cty.Value, len(v))
		for k, e := range v {
			out[k] = fromGo(e)
		}
		return cty.ObjectVal(out)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// toGo turns a result into string, bool, int64, float64, []any, map[string]any, and nil for null. left counts what the
// result may still hold.
func toGo(v cty.Value, left *int) (any, error) {
	*left -= 1
	if *left < 0 {
		return nil, errTooLarge
	}
	if v.IsNull() {
		return nil, nil
	}
	switch t := v.Type(); {
	case t == cty.String:
		s := v.AsString()
		if *left -= len(s); *left < 0 {
			return nil, errTooLarge
		}
		return s, nil
	case t == cty.Bool:
		return v.True(), nil
	case t == cty.Number:
		return number(v.AsBigFloat())
	case t.IsListType() || t.IsTupleType() || t.IsSetType():
		out := []any{}
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			value, err := toGo(e, left)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case t.IsMapType() || t.IsObjectType():
		out := make(map[string]any)
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			name := k.AsString()
			if *left -= len(name); *left < 0 {
				return nil, errTooLarge
			}
			value, err := toGo(e, left)
			if err != nil {
				return nil, err
			}
			out[name] = value
		}
		return out, nil
	default:
		return nil, fmt.Errorf("the result is %s, which is no value of an attribute", t.FriendlyName())
	}
}

var errTooLarge = fmt.Errorf("the result is larger than %d bytes", MaxResult)

// number returns a number in its one form.
func number(f *big.Float) (any, error) {
	if f.IsInf() {
		return nil, errors.New("the result is infinite, as what is divided by zero is")
	}
	n := resource.Number(f)
	if float, ok := n.(float64); ok && math.IsInf(float, 0) {
		return nil, errors.New("the result is a number that is too large")
	}
	return n, nil
}

// marksOf returns what a value, at any depth, was made from.
func marksOf(marks []cty.PathValueMarks) (secret bool, waits []string) {
	for _, m := range marks {
		for each := range m.Marks {
			switch each := each.(type) {
			case mark:
				secret = true
			case awaits:
				waits = append(waits, string(each))
			}
		}
	}
	slices.Sort(waits)
	return secret, slices.Compact(waits)
}
