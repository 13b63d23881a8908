package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFillNulls(t *testing.T) {
	nullable := Type{Name: "string?", Kind: String, Nullable: true}
	s := Structure{
		Attributes: []Attribute{
			{Name: "a", Type: nullable, Modifier: Fixed},
			{Name: "b", Type: nullable, Modifier: Fixed, HasDefault: true, Default: "x"},
			{Name: "c", Type: nullable, Modifier: Allocated},
			{Name: "d", Type: Type{Name: "string", Kind: String}, Modifier: Fixed},
		},
		Embedded: []Embedded{{Name: "list", Structure: Structure{Attributes: []Attribute{{Name: "a", Type: nullable}}}},
			{Name: "one"}},
	}
	for name, tt := range map[string]struct{ in, want map[string]any }{
		"nothing": {nil, map[string]any{"a": nil}},
		"given":   {map[string]any{"a": "1", "z": "2"}, map[string]any{"a": "1", "z": "2"}},
		"embedded": {map[string]any{"a": "1", "list": []any{map[string]any{}, "x"}},
			map[string]any{"a": "1", "list": []any{map[string]any{"a": nil}, "x"}}},
		"an object in place of a list": {map[string]any{"a": "1", "list": map[string]any{}, "one": 5},
			map[string]any{"a": "1", "list": map[string]any{"a": nil}, "one": 5}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, s.FillNulls(tt.in)); d != "" {
				t.Error(d)
			}
		})
	}
	given := map[string]any{"list": []any{map[string]any{}}}
	s.FillNulls(given)
	if d := cmp.Diff(map[string]any{"list": []any{map[string]any{}}}, given); d != "" {
		t.Errorf("the argument was changed: %s", d)
	}
}
