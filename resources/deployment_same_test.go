package resources

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/resources/values"
)

func TestSame(t *testing.T) {
	text := func(s any) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	object := func(attributes map[string]tftypes.Value) tftypes.Value {
		of := map[string]tftypes.Type{}
		for name, v := range attributes {
			of[name] = v.Type()
		}
		return tftypes.NewValue(tftypes.Object{AttributeTypes: of}, attributes)
	}
	list := func(kind func([]tftypes.Value) tftypes.Type, elements ...tftypes.Value) tftypes.Value {
		return tftypes.NewValue(kind(elements), elements)
	}
	tuple := func(elements []tftypes.Value) tftypes.Type {
		of := make([]tftypes.Type, len(elements))
		for i, e := range elements {
			of[i] = e.Type()
		}
		return tftypes.Tuple{ElementTypes: of}
	}
	maps := func(elements map[string]tftypes.Value) tftypes.Value {
		return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, elements)
	}
	before := object(map[string]tftypes.Value{"name": text("a")})
	now := object(map[string]tftypes.Value{"name": text("a"), "new": text(nil)})
	set := object(map[string]tftypes.Value{"name": text("a"), "new": text("x")})
	for name, tt := range map[string]struct {
		a, b tftypes.Value
		want bool
	}{
		"equal":                 {before, before, true},
		"a null attribute more": {before, now, true},
		"an attribute more":     {before, set, false},
		"another value":         {now, set, false},
		"below":                 {list(tuple, before, now), list(tuple, now, before), true},
		"another order":         {list(tuple, before, set), list(tuple, set, now), false},
		"one more":              {list(tuple, before), list(tuple, before, before), false},
		"nulls of two types": {tftypes.NewValue(before.Type(), nil),
			tftypes.NewValue(now.Type(), nil), true},
		"null and not null": {tftypes.NewValue(before.Type(), nil), before, false},
		"unknown":           {tftypes.NewValue(before.Type(), tftypes.UnknownValue), before, false},
		// it counts as left out everywhere
		"a null in a map": {maps(map[string]tftypes.Value{"a": text(nil)}), maps(map[string]tftypes.Value{}), true},
		"a key of a map":  {maps(map[string]tftypes.Value{"a": text("")}), maps(map[string]tftypes.Value{}), false},
		"an object and a list": {before,
			list(tuple, text("a")), false},
	} {
		a, err := values.Encode(tt.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := values.Encode(tt.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := same(a, b); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
		if got := same(b, a); got != tt.want {
			t.Errorf("%s, the other way round: got %t", name, got)
		}
	}
}
