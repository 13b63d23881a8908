package resource_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPlain: a whole number is an int64 however it is written, from JSON as from Terraform and templates.
func TestPlain(t *testing.T) {
	want := []any{int64(1000), int64(1), 0.5, int64(9007199254740993), 1e300, "x", map[string]any{"k": []any{int64(-20)}}}
	text := `[1e3, 1.0, 0.5, 9007199254740993, 1e300, "x", {"k": [-2.0E1]}]`
	for nulls := range resource.RefuseNulls + 1 {
		got, err := resource.Plain(decode(t, text), nulls)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v: %v %s", nulls, err, d)
		}
	}
	for text, want := range map[string]any{"1e3": int64(1000), "0.5": 0.5, "9007199254740993": int64(9007199254740993)} {
		f, _, _ := big.ParseFloat(text, 10, 512, big.ToNearestEven)
		if got := resource.Number(f); got != want {
			t.Errorf("%s of Terraform is %T %v, want %v", text, got, got, want)
		}
	}
	if got := resource.PlainNumbers(decode(t, "[1e999, null]")); cmp.Diff(got, []any{"1e999", nil}) != "" {
		t.Errorf("got %#v", got)
	}
}

func TestPlainNulls(t *testing.T) {
	for _, tt := range []struct {
		text  string
		nulls resource.Nulls
		want  any // nil: an error
	}{
		{`{"a": null, "b": [{"c": null}]}`, resource.DropNulls, map[string]any{"b": []any{map[string]any{}}}},
		{`[null]`, resource.DropNulls, nil},
		{`[{"a": null}]`, resource.RefuseNulls, nil},
		{`[null]`, resource.KeepNulls, []any{nil}},
		{`[1e999]`, resource.KeepNulls, nil},
	} {
		got, err := resource.Plain(decode(t, tt.text), tt.nulls)
		if d := cmp.Diff(tt.want, got); d != "" || (err == nil) != (tt.want != nil) {
			t.Errorf("%s: %v %s", tt.text, err, d)
		}
	}
}
