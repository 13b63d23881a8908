package provider

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// TestFunctionsBadInput gives every argument of every function what it cannot take. Each answers with an error at that argument, soon and short.
func TestFunctionsBadInput(t *testing.T) {
	const many = 20_000
	dynamic := func(v any) types.Dynamic {
		t.Helper()
		value, err := valueOf(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := value.(types.Dynamic); ok {
			return d
		}
		return types.DynamicValue(value)
	}
	tuple1 := func(v attr.Value) types.Dynamic {
		return types.DynamicValue(types.TupleValueMust([]attr.Type{v.Type(t.Context())}, []attr.Value{v}))
	}
	list := func(element func(i int) any) types.Dynamic {
		out := make(tuple, many)
		for i := range out {
			out[i] = element(i)
		}
		return dynamic(out)
	}
	deep := any("x")
	for range 500 {
		deep = tuple{deep}
	}
	bad := map[string]types.Dynamic{
		"null":             types.DynamicNull(),
		"null list":        types.DynamicValue(types.ListNull(types.StringType)),
		"unknown":          types.DynamicUnknown(),
		"unknown list":     types.DynamicValue(types.ListUnknown(types.DynamicType)),
		"unknown element":  tuple1(types.DynamicUnknown()),
		"unknown text":     tuple1(types.StringUnknown()),
		"unknown member":   tuple1(types.ObjectValueMust(map[string]attr.Type{"name": types.StringType}, map[string]attr.Value{"name": types.StringUnknown()})),
		"null element":     tuple1(types.DynamicNull()),
		"null object":      tuple1(types.ObjectNull(map[string]attr.Type{"name": types.StringType})),
		"true":             dynamic(true),
		"a number":         dynamic(int64(7)),
		"a text":           dynamic("x"),
		"texts":            dynamic(tuple{"x", "y"}),
		"numbers":          dynamic(tuple{int64(1), 0.5}),
		"lists":            dynamic(tuple{tuple{}, tuple{tuple{}}}),
		"deep":             dynamic(deep),
		"strange object":   dynamic(tuple{object{"nmae": "a", "": int64(1)}}),
		"wrong types":      dynamic(tuple{object{"name": tuple{}, "selectors": int64(1), "configuration": true, "tasks": "x", "node_tags": object{}}}),
		"control":          dynamic(tuple{object{"name": "a\x00\x1b[31m\n", "node_names": "\x00"}}),
		"many texts":       list(func(i int) any { return fmt.Sprintf("text%d", i) }),
		"many mistakes":    list(func(i int) any { return object{fmt.Sprintf("nmae%d", i): "x"} }),
		"many of one name": list(func(int) any { return object{"name": "a", "node_tag": tuple{}} }),
	}
	// Terraform itself refuses a null argument where it is not optional; what comes through is no object at all.
	null := map[string]bool{"null": true, "null list": true}
	nodes := dynamic(tuple{object{"name": "a"}})
	empty := dynamic(tuple{})
	for name, f := range map[string]struct {
		function.Function
		good     []types.Dynamic
		takes    map[string]bool // what is no error
		argument int
	}{
		"select_nodes: nodes":     {newSelectNodes(), []types.Dynamic{nodes, empty}, null, 0},
		"select_nodes: selectors": {newSelectNodes(), []types.Dynamic{nodes, empty}, nil, 1},
		"deployment_strategy":     {newDeploymentStrategy(), []types.Dynamic{empty}, null, 0},
		"merge_overrides":         {newMergeOverrides(), []types.Dynamic{empty}, null, 0},
		"stage_order: plugins":    {newStageOrder(), []types.Dynamic{empty, types.DynamicNull()}, nil, 0},
		"stage_order: nodes":      {newStageOrder(), []types.Dynamic{empty, nodes}, null, 1},
	} {
		for kind, argument := range bad {
			t.Run(name+": "+kind, func(t *testing.T) {
				given := make([]attr.Value, len(f.good))
				for i, g := range f.good {
					given[i] = g
				}
				given[f.argument] = argument
				var definition function.DefinitionResponse
				f.Definition(t.Context(), function.DefinitionRequest{}, &definition)
				result, ferr := definition.Definition.Return.NewResultData(t.Context())
				if ferr != nil {
					t.Fatal(ferr)
				}
				resp := function.RunResponse{Result: result}
				start := time.Now()
				f.Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData(given)}, &resp)
				if spent := time.Since(start); spent > 2*time.Minute {
					t.Errorf("it took %s", spent)
				}
				switch {
				case f.takes[kind]:
					if resp.Error != nil {
						t.Errorf("got %v", resp.Error)
					}
				case resp.Error == nil:
					t.Errorf("there is no error, but %v", resp.Result.Value())
				case resp.Error.FunctionArgument == nil || *resp.Error.FunctionArgument != int64(f.argument):
					t.Errorf("the error is not at argument %d: %v", f.argument, resp.Error)
				case resp.Error.Text == "" || len(resp.Error.Text) > 1<<20:
					t.Errorf("the error has %d bytes", len(resp.Error.Text))
				case strings.ContainsAny(resp.Error.Text, "\x00\x1b"):
					t.Errorf("control characters are shown: %q", resp.Error.Text)
				}
			})
		}
	}
}
