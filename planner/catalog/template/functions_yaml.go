package template

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"gopkg.in/yaml.v3"
)

// yamlEncodeFunction writes a value as YAML in block style, keys sorted.
var yamlEncodeFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(cty.String), nil
		}
		left := MaxResult
		value, err := toGo(args[0], &left)
		if err != nil {
			return cty.NilVal, err
		}
		var b bytes.Buffer
		encoder := yaml.NewEncoder(&b)
		encoder.SetIndent(2)
		if err := encoder.Encode(value); err != nil {
			return cty.NilVal, fmt.Errorf("cannot be written as YAML: %w", err)
		}
		return cty.StringVal(b.String()), tooLarge(b.Len())
	},
})

// yamlDecodeFunction reads one YAML document without aliases.
var yamlDecodeFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "src", Type: cty.String}},
	Type: func(args []cty.Value) (cty.Type, error) {
		if !args[0].IsKnown() {
			return cty.DynamicPseudoType, nil
		}
		value, err := decodeYAML(args[0].AsString())
		return value.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return decodeYAML(args[0].AsString()) },
})

func decodeYAML(text string) (cty.Value, error) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		return cty.DynamicVal, function.NewArgErrorf(0, "is not well-formed YAML")
	}
	if aliased(&n, 0) {
		return cty.DynamicVal, function.NewArgErrorf(0, "has aliases, or lists and maps more than %d levels deep",
			maxDepth)
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return cty.DynamicVal, function.NewArgErrorf(0,
			"is YAML that has a key twice, or a value that is no text, number, true, false or null")
	}
	return decoded(value)
}

func aliased(n *yaml.Node, depth int) bool {
	return n.Kind == yaml.AliasNode || depth > maxDepth ||
		slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return aliased(c, depth+1) })
}

func decoded(value any) (cty.Value, error) {
	switch v := value.(type) {
	case nil:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case int:
		return cty.NumberIntVal(int64(v)), nil
	case uint64:
		return cty.NumberUIntVal(v), nil
	case int64, string, bool:
		return fromGo(v), nil
	case float64:
		if v-v != 0 {
			return cty.DynamicVal, function.NewArgErrorf(0, "has a number that is not finite")
		}
		return fromGo(v), nil
	case []any:
		out := make([]cty.Value, len(v))
		for i, e := range v {
			var err error
			if out[i], err = decoded(e); err != nil {
				return cty.DynamicVal, err
			}
		}
		return cty.TupleVal(out), nil
	case map[string]any:
		out := make(map[string]cty.Value, len(v))
		for k, e := range v {
			var err error
			if out[k], err = decoded(e); err != nil {
				return cty.DynamicVal, err
			}
		}
		return cty.ObjectVal(out), nil
	}
	return cty.DynamicVal, function.NewArgErrorf(0,
		"has a value that is no text, number, true, false or null; write it in quotes")
}
