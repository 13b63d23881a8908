package template

import (
	"errors"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// lengthFunction is the length of a list, a map or a text.
var lengthFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true,
		AllowUnknown: true, AllowMarked: true}},
	Type: function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		value, marks := args[0].Unmark()
		if t := value.Type(); t == cty.DynamicPseudoType || t == cty.String && !value.IsKnown() {
			return cty.UnknownVal(cty.Number).WithMarks(marks), nil
		}
		if value.Type() == cty.String {
			length, err := stdlib.Strlen(value)
			return length.WithMarks(marks), err
		}
		if t := value.Type(); !t.IsListType() && !t.IsMapType() && !t.IsSetType() && !t.IsTupleType() &&
			!t.IsObjectType() {
			return cty.NilVal, function.NewArgErrorf(0, "must be a list, a map or a text")
		}
		return value.Length().WithMarks(marks), nil
	},
})

// allOf makes a function over the elements of a list of one kind.
func allOf(element, gives cty.Type, work func([]cty.Value) (cty.Value, error)) function.Function {
	return newFunction(gives, func(args []cty.Value) (cty.Value, error) {
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(gives), nil
		}
		return work(args[0].AsValueSlice())
	}, parameters(cty.List(element), "list")...)
}

var (
	allTrueFunction = allOf(cty.Bool, cty.Bool, func(list []cty.Value) (cty.Value, error) {
		return cty.BoolVal(!slices.ContainsFunc(list, func(v cty.Value) bool { return v.IsNull() || v.False() })), nil
	})
	anyTrueFunction = allOf(cty.Bool, cty.Bool, func(list []cty.Value) (cty.Value, error) {
		return cty.BoolVal(slices.ContainsFunc(list, func(v cty.Value) bool { return !v.IsNull() && v.True() })), nil
	})
	sumFunction = allOf(cty.Number, cty.Number, func(list []cty.Value) (cty.Value, error) {
		if len(list) == 0 {
			return cty.NilVal, function.NewArgErrorf(0, "is empty; a sum needs a number")
		}
		total := cty.Zero
		for _, v := range list {
			if v.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "has null among its elements; a sum needs numbers")
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
			return cty.NilType, function.NewArgErrorf(0, "must have one element at most")
		}
		return cty.NilType, function.NewArgErrorf(0, "must be a list")
	},
	Impl: func(args []cty.Value, gives cty.Type) (cty.Value, error) {
		list := args[0].AsValueSlice()
		switch len(list) {
		case 0:
			return cty.NullVal(gives), nil
		case 1:
			return convert.Convert(list[0], gives)
		}
		return cty.NilVal, function.NewArgErrorf(0, "must have one element at most")
	},
})

// indexFunction gives the place of the first element of a list that equals a value.
var indexFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType},
		{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
	Type: function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if t := args[0].Type(); !t.IsListType() && !t.IsTupleType() {
			return cty.NilVal, function.NewArgErrorf(0, "must be a list")
		}
		if !args[0].IsWhollyKnown() || !args[1].IsWhollyKnown() {
			return cty.UnknownVal(cty.Number), nil
		}
		for it := args[0].ElementIterator(); it.Next(); {
			i, e := it.Element()
			if same, err := stdlib.Equal(e, args[1]); err == nil && same.True() {
				return i, nil
			}
		}
		return cty.NilVal, function.NewArgErrorf(1, "is no element of the list")
	},
})

// coalesceFunction gives the first value that is neither null nor an empty text.
var coalesceFunction = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "vals", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true,
		AllowNull: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, a := range args {
			types[i] = a.Type()
		}
		t, _ := convert.UnifyUnsafe(types)
		if t == cty.NilType {
			return cty.NilType, errors.New("all arguments must have the same type")
		}
		return t, nil
	},
	Impl: func(args []cty.Value, gives cty.Type) (cty.Value, error) {
		for _, a := range args {
			v, err := convert.Convert(a, gives)
			switch {
			case err != nil:
				return cty.NilVal, err
			case !v.IsKnown():
				return cty.UnknownVal(gives), nil
			case v.IsNull() || v.Type() == cty.String && v.AsString() == "":
				continue
			}
			return v, nil
		}
		return cty.NilVal, errors.New("no argument is other than null and an empty text")
	},
})

// lookupFunction gives an element of a map by its key, or the default; without a default the key must be there.
var lookupFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "map", Type: cty.DynamicPseudoType}, {Name: "key", Type: cty.String}},
	VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowUnknown: true,
		AllowDynamicType: true, AllowNull: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch {
		case len(args) == 3:
			return stdlib.LookupFunc.ReturnTypeForValues(args)
		case len(args) > 3:
			return cty.NilType, function.NewArgErrorf(3, "is one too many: a map, a key and a default are all")
		case !args[0].Type().IsMapType() && !args[0].Type().IsObjectType():
			return cty.NilType, function.NewArgErrorf(0, "must be a map")
		case !args[0].IsKnown() || !args[1].IsKnown():
			return cty.DynamicPseudoType, nil
		}
		v, err := element(args)
		if err != nil {
			return cty.NilType, err
		}
		return v.Type(), nil
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if len(args) == 3 {
			return stdlib.LookupFunc.Call(args)
		}
		return element(args)
	},
})

func element(args []cty.Value) (cty.Value, error) {
	key := args[1].AsString()
	switch t := args[0].Type(); {
	case t.IsObjectType() && t.HasAttribute(key):
		return args[0].GetAttr(key), nil
	case t.IsMapType() && args[0].HasIndex(args[1]).True():
		return args[0].Index(args[1]), nil
	}
	return cty.NilVal, function.NewArgErrorf(1,
		"is no key of the map; give a default as the third argument if it need not be")
}

// matchKeysFunction gives the elements of a list for which the element of a second list at the same place is in a
// third.
var matchKeysFunction = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "values", Type: cty.List(cty.DynamicPseudoType)}, {Name: "keys",
			Type: cty.List(cty.DynamicPseudoType)}, {Name: "searchset", Type: cty.List(cty.DynamicPseudoType)},
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if t, _ := convert.UnifyUnsafe([]cty.Type{args[1].Type(), args[2].Type()}); t == cty.NilType {
			return cty.NilType, function.NewArgErrorf(2, "must have elements of the same type as the keys")
		}
		return args[0].Type(), nil
	},
	Impl: func(args []cty.Value, gives cty.Type) (cty.Value, error) {
		values, keys := args[0].AsValueSlice(), args[1].AsValueSlice()
		if len(values) != len(keys) {
			return cty.NilVal, function.NewArgErrorf(1,
				"must have as many elements as the values, of which there are %d", len(values))
		}
		if !args[1].IsWhollyKnown() || !args[2].IsWhollyKnown() {
			return cty.UnknownVal(gives), nil
		}
		same, _ := convert.UnifyUnsafe([]cty.Type{args[1].Type(), args[2].Type()})
		wanted, err := convert.Convert(args[2], cty.Set(same.ElementType()))
		if err != nil {
			return cty.NilVal, function.NewArgError(2, err)
		}
		var out []cty.Value
		for i, key := range keys {
			if key, err = convert.Convert(key, same.ElementType()); err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
			if wanted.LengthInt() > 0 && wanted.HasElement(key).True() {
				out = append(out, values[i])
			}
		}
		if len(out) == 0 {
			return cty.ListValEmpty(gives.ElementType()), nil
		}
		return cty.ListVal(out), nil
	},
})

// transposeFunction turns a map of lists of texts around: for each text of the lists, the keys that have it, sorted.
var transposeFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "values", Type: cty.Map(cty.List(cty.String))}},
	Type:   function.StaticReturnType(cty.Map(cty.List(cty.String))),
	Impl: func(args []cty.Value, gives cty.Type) (cty.Value, error) {
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(gives), nil
		}
		keys := make(map[string][]cty.Value)
		for it := args[0].ElementIterator(); it.Next(); { // in the order of keys
			key, list := it.Element()
			if list.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "must have no null")
			}
			for _, text := range list.AsValueSlice() {
				if text.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "must have no null")
				}
				keys[text.AsString()] = append(keys[text.AsString()], key)
			}
		}
		if len(keys) == 0 {
			return cty.MapValEmpty(cty.List(cty.String)), nil
		}
		out := make(map[string]cty.Value, len(keys))
		for text, list := range keys {
			out[text] = cty.ListVal(list)
		}
		return cty.MapVal(out), nil
	},
})
