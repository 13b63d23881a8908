package resources

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// kept is private state.
type kept map[string][]byte

func (k kept) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) { return k[key], nil }
func (k kept) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	k[key] = value
	return nil
}

func TestPrivateState(t *testing.T) {
	want := engine.State{
		Applied: planner.Applied{"a": {"file[/x]": "1"}, planner.Controller: {"command[s/t]": "2"}},
		Values:  map[string]map[string]any{"s": {"vni": int64(9007199254740993), "ratio": 0.5, "list": []any{"x", int64(1)}, "map": map[string]any{"k": int64(2)}}},
	}
	k := kept{}
	if diags := remember(t.Context(), k, want); diags.HasError() {
		t.Fatal(diags)
	}
	got, saved, diags := recall(t.Context(), k)
	if d := cmp.Diff(want, got); !saved || diags.HasError() || d != "" {
		t.Errorf("%t %v %s", saved, diags, d)
	}
	for name, tt := range map[string]struct {
		raw   string
		want  engine.State
		saved bool
		diags string
	}{
		"nothing":      {},
		"version 1":    {`{"version":1,"applied":{"a":{"file[/x]":"1"}}}`, engine.State{Applied: planner.Applied{"a": {"file[/x]": "1"}}}, true, ""},
		"version 2":    {`{"version":2,"applied":{"a":{"file[/x]":"1"}},"values":{"s":{"n":1}}}`, engine.State{Applied: planner.Applied{"a": {"file[/x]": "1"}}, Values: map[string]map[string]any{"s": {"n": int64(1)}}}, true, ""},
		"a later one":  {`{"version":4,"applied":{}}`, engine.State{}, false, "has version 4 (<nil>); this slipway reads versions 1 to 3"},
		"no version":   {`{}`, engine.State{}, false, "has version 0"},
		"not readable": {`{`, engine.State{}, false, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			got, saved, diags := recall(t.Context(), kept{privateKey: []byte(tt.raw)})
			if d := cmp.Diff(tt.want, got); saved != tt.saved || d != "" {
				t.Errorf("%t %s", saved, d)
			}
			if got := details(diags); (tt.diags == "") != (got == "") || !strings.Contains(got, tt.diags) {
				t.Errorf("got %s, want %s", got, tt.diags)
			}
		})
	}
}
