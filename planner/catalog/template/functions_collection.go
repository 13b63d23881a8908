package template

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// lengthFunction is the length of a list, a map or a text.
var lengthFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true, AllowUnknown: true, AllowMarked: true}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		value, marks := args[0].Unmark()
		if t := value.Type(); t == cty.DynamicPseudoType || t == cty.String && !value.IsKnown() {
			return cty.UnknownVal(cty.Number).WithMarks(marks), nil
		}
		if value.Type() == cty.String {
			length, err := stdlib.Strlen(value)
			return length.WithMarks(marks), err
		}
		if t := value.Type(); !t.IsListType() && !t.IsMapType() && !t.IsSetType() && !t.IsTupleType() && !t.IsObjectType() {
			return cty.NilVal, function.NewArgError(0, errors.New("must be a list, a map or a text"))
		}
		return value.Length().WithMarks(marks), nil
	},
})

// allOf makes a function over the elements of a list of one kind.
func allOf(element, gives cty.Type, work func([]cty.Value) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(element)}},
		Type:   function.StaticReturnType(gives),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[0].IsWhollyKnown() {
				return cty.UnknownVal(gives), nil
			}
			return work(args[0].AsValueSlice())
		},
	})
}

var (
	allTrueFunction = allOf(cty.Bool, cty.Bool, func(list []cty.Value) (cty.Value, error) {
		for _, v := range list {
			if v.IsNull() || v.False() {
				return cty.False, nil
			}
		}
		return cty.True, nil
	})
	anyTrueFunction = allOf(cty.Bool, cty.Bool, func(list []cty.Value) (cty.Value, error) {
		for _, v := range list {
			if !v.IsNull() && v.True() {
				return cty.True, nil
			}
		}
		return cty.False, nil
	})
	sumFunction = allOf(cty.Number, cty.Number, func(list []cty.Value) (cty.Value, error) {
		if len(list) == 0 {
			return cty.NilVal, function.NewArgError(0, errors.New("is empty; a sum needs a number"))
		}
		total := cty.Zero
		for _, v := range list {
			if v.IsNull() {
				return cty.NilVal, function.NewArgError(0, errors.New("has null among its elements; a sum needs numbers"))
			}
			total = total.Add(v)
		}
		return total, nil
	})
)

// oneFunction gives the one element of a list, or null when it is empty.
var oneFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch t := args[0].Type(); {
		case t.IsListType() || t.IsSetType():
			return t.ElementType(), nil
		case t.IsTupleType() && t.Length() == 0:
			return cty.DynamicPseudoType, nil
		case t.IsTupleType() && t.Length() == 1:
			return t.TupleElementType(0), nil
		case t.IsTupleType():
			return cty.NilType, function.NewArgError(0, errors.New("must have one element at most"))
		}
		return cty.NilType, function.NewArgError(0, errors.New("must be a list"))
	},
	Impl: func(args []cty.Value, gives cty.Type) (cty.Value, error) {
		list := args[0].AsValueSlice()
		switch len(list) {
		case 0:
			return cty.NullVal(gives), nil
		case 1:
			return convert.Convert(list[0], gives)
		}
		return cty.NilVal, function.NewArgError(0, errors.New("must have one element at most"))
	},
})
