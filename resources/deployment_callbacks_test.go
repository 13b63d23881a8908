package resources

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// kept is private state.
type kept map[string][]byte

func (k kept) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) { return k[key], nil }
func (k kept) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	k[key] = value
	return nil
}

func TestCache(t *testing.T) {
	want := memory{
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
		want  memory
		saved bool
		diags string
	}{
		"nothing":      {},
		"version 1":    {`{"version":1,"applied":{"a":{"file[/x]":"1"}}}`, memory{Applied: planner.Applied{"a": {"file[/x]": "1"}}}, true, ""},
		"version 2":    {`{"version":2,"applied":{"a":{"file[/x]":"1"}},"values":{"s":{"n":1}}}`, memory{Applied: planner.Applied{"a": {"file[/x]": "1"}}, Values: map[string]map[string]any{"s": {"n": int64(1)}}}, true, ""},
		"a later one":  {`{"version":4,"applied":{}}`, memory{}, false, "has version 4 (<nil>); this slipway reads versions 1 to 3"},
		"no version":   {`{}`, memory{}, false, "has version 0"},
		"not readable": {`{`, memory{}, false, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			got, saved, diags := recall(t.Context(), kept{privateKey: []byte(tt.raw)})
			if d := cmp.Diff(tt.want, got); saved != tt.saved || d != "" {
				t.Errorf("%t %s", saved, d)
			}
			if told := texts(diags); (tt.diags == "") != (told == "") || !strings.Contains(told, tt.diags) {
				t.Errorf("got %s, want %s", told, tt.diags)
			}
		})
	}
}

// tunnel is an entity with attributes that callbacks set.
func tunnel(t *testing.T) *catalog.Entity {
	t.Helper()
	attribute := func(name, typ string, m catalog.Modifier, sensitive bool) catalog.Attribute {
		return catalog.Attribute{Name: name, Type: catalog.Type{Name: typ}, Modifier: m, Sensitive: sensitive}
	}
	call := func(name string, perNode bool, returns map[string]string) catalog.Task {
		return catalog.Task{Name: name, Callback: &catalog.CallbackTask{Type: "command", Parameters: map[string]any{"argv": []any{"true"}}, PerNode: perNode, Returns: returns}}
	}
	c, problems := catalog.Resolve(catalog.Definitions{Entities: []catalog.Entity{{
		Name: "tunnel",
		Structure: catalog.Structure{Attributes: []catalog.Attribute{
			attribute("vni", "int", catalog.Allocated, false), attribute("name", "string", catalog.Allocated, false), attribute("key", "string", catalog.Allocated, true), attribute("peer", "string", catalog.Fixed, false),
		}},
		Tasks: []catalog.Task{
			call("allocate", false, map[string]string{"vni": "n", "key": "secret"}),
			{Name: "both", Steps: []catalog.Task{call("name", false, map[string]string{"name": "n"})}},
		},
	}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e, _ := c.Entity("tunnel")
	return e
}

// gives is a caller that gives the same values to every callback.
type gives map[string]any

func (g gives) Call(context.Context, task.Task) (map[string]any, error) { return g, nil }

// TestPromisedValues: a callback that does not return what it is called for has failed.
func TestPromisedValues(t *testing.T) {
	s := site.Site{Services: []site.Service{{Name: "t1", Entity: tunnel(t)}, {Name: "motd"}}}
	for name, tt := range map[string]struct {
		callback string
		values   map[string]any
		want     string
	}{
		"all":              {"t1/allocate", map[string]any{"n": int64(1), "secret": "", "more": true}, ""},
		"none":             {"t1/allocate", nil, `command: it succeeded and did not return what it is called for: "secret", for the attribute key; "n", for the attribute vni; it returned no value.`},
		"another name":     {"t1/allocate", map[string]any{"secret": "topsecret", "nn": int64(1)}, `what it is called for: "n", for the attribute vni; it returned nn, secret.`},
		"null":             {"t1/allocate", map[string]any{"secret": "topsecret", "n": nil}, `"n", for the attribute vni`},
		"of a step":        {"t1/name", nil, `"n", for the attribute name; it returned no value`},
		"nothing promised": {"t1/other", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := promising(s, gives(tt.values)).Call(t.Context(), task.Task{Kind: task.Callback, Name: tt.callback, Resource: planresource.Resource{Type: "command", Title: tt.callback}})
			switch {
			case tt.want == "" && (err != nil || len(values) != len(tt.values)):
				t.Errorf("got %v, %v", values, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "topsecret")):
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestLearn(t *testing.T) {
	s := site.Site{Services: []site.Service{{Name: "t1", Entity: tunnel(t)}, {Name: "t2", Entity: tunnel(t)}, {Name: "motd"}}}
	type values = map[string]map[string]any
	for name, tt := range map[string]struct {
		before   values
		now      rollout.Values
		want     values
		misfits  []string
		unwanted string
	}{
		"nothing":                  {want: values{}},
		"returned":                 {now: rollout.Values{"t1": {"n": int64(7)}}, want: values{"t1": {"vni": int64(7)}}, misfits: []string{`Service "t1", callback "name": the returned value "n" is that of the attribute name: is the number 7, not a string.`}},
		"over what was":            {before: values{"t1": {"vni": int64(1), "name": "x"}, "t2": {"vni": int64(2)}}, now: rollout.Values{"t2": {"other": "x"}}, want: values{"t1": {"vni": int64(1), "name": "x"}, "t2": {"vni": int64(2)}}},
		"a secret is not kept":     {before: values{"t1": {"key": "old"}}, now: rollout.Values{"t1": {"secret": "new"}}, want: values{}},
		"a wrong secret is hidden": {now: rollout.Values{"t1": {"secret": int64(4711)}}, want: values{}, misfits: []string{`Service "t1", callback "allocate": the returned value "secret" is that of the attribute key: is a number, not a string.`}},
		"of a service that left":   {before: values{"t9": {"vni": int64(1)}, "motd": {"vni": int64(1)}}, want: values{}},
		"of no r attribute":        {before: values{"t1": {"peer": "x", "none": "y"}}, want: values{}},
		"of another type now":      {before: values{"t1": {"vni": "x"}}, want: values{}, misfits: []string{`Service "t1", callback "allocate": the returned value "n" is that of the attribute vni: is the string "x", not a whole number.`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, misfits := learn(s, tt.before, tt.now)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			var told []string
			for _, m := range misfits {
				told = append(told, m.String())
			}
			if d := cmp.Diff(tt.misfits, told); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMemoryOfASite(t *testing.T) {
	s := site.Site{Services: []site.Service{{Name: "t1", Entity: tunnel(t)}}}
	ran := map[planresource.ID]string{"command[t1/allocate]": "1", "command[t1/allocated]": "2", `command[t1/allocate["x"]]`: "3"}
	m := memory{Applied: planner.Applied{planner.Controller: ran, "a": {"file[/x]": "1"}}, Values: map[string]map[string]any{"t1": {"vni": "x"}}}
	got := m.of(s)
	want := memory{Values: map[string]map[string]any{}, Applied: planner.Applied{"a": {"file[/x]": "1"},
		planner.Controller: {"command[t1/allocate]": "", "command[t1/allocated]": "2", `command[t1/allocate["x"]]`: ""}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if ran["command[t1/allocate]"] != "1" || m.Values["t1"]["vni"] != "x" {
		t.Error("the memory itself was changed")
	}
	if got := (memory{Values: map[string]map[string]any{"t1": {"vni": "x"}}}).of(s); len(got.Applied) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestCalled(t *testing.T) {
	call := func(name string) task.Task {
		return task.Task{Kind: task.Callback, Name: name, Action: task.Run, Resource: planresource.Resource{Type: "command", Title: strings.Split(name, "@")[0]}}
	}
	p := &planner.Plan{Forgotten: []planresource.ID{"command[t0/x]"}, Phases: []planner.Phase{{Tasks: []task.Task{call("t1/a"), call("t1/b"), call("t1/c@n1"), call("t1/late")}}}}
	report := rollout.Report{Callbacks: map[string]string{"t1/a": "new", "t1/b": "", "t1/c@n1": "c"}}
	in := rollInput{past: memory{Applied: planner.Applied{planner.Controller: {"command[t0/x]": "0", "command[t1/a]": "old", "command[t1/late]": "before", "command[t2/stays]": "2"}}}}
	done := rolled{memory: memory{Applied: planner.Applied{"n1": {"file[/x]": "1"}, planner.Controller: in.past.Applied[planner.Controller]}}}
	if diags := done.called(in, site.Site{}, p, p.Called(in.past.Applied[planner.Controller], report.Callbacks), report); len(diags) > 0 {
		t.Error(diags)
	}
	want := planner.Applied{"n1": {"file[/x]": "1"}, planner.Controller: {
		"command[t1/a]": "new", "command[t1/b]": "", "command[t1/c@n1]": "c", "command[t1/late]": "", "command[t2/stays]": "2"}}
	if d := cmp.Diff(want, done.Applied); d != "" {
		t.Error(d)
	}
}
