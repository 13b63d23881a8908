package template

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// markFunction makes a function of a value of any type with its marks.
func markFunction(gives func(cty.Value) cty.Type, work func(cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true,
			AllowMarked: true, AllowNull: true, AllowUnknown: true}},
		Type: func(args []cty.Value) (cty.Type, error) { return gives(args[0]), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return work(args[0]), nil },
	})
}

var (
	sensitiveFunction    = markFunction(cty.Value.Type, func(v cty.Value) cty.Value { return v.Mark(sensitive) })
	nonsensitiveFunction = markFunction(cty.Value.Type, func(v cty.Value) cty.Value {
		v, marks := v.Unmark()
		delete(marks, sensitive)
		return v.WithMarks(marks)
	})
	isSensitiveFunction = markFunction(func(cty.Value) cty.Type { return cty.Bool },
		func(v cty.Value) cty.Value { return cty.BoolVal(v.HasMark(sensitive)) })
)
