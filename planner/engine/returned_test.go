package engine

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// tunnel is an entity with attributes that callbacks set.
func tunnel(t *testing.T) *catalog.Entity {
	t.Helper()
	attribute := func(name, typ string, m catalog.Modifier, sensitive bool) catalog.Attribute {
		return catalog.Attribute{Name: name, Type: catalog.Type{Name: typ}, Modifier: m, Sensitive: sensitive}
	}
	call := func(name string, perNode bool, returns map[string]string) catalog.Task {
		return catalog.Task{Name: name, Callback: &catalog.CallbackTask{Type: "command", Parameters: map[string]any{"argv": []any{"true"}}, PerNode: perNode, Returns: returns}}
	}
	c, errs := catalog.Resolve(catalog.Definitions{Entities: []catalog.Entity{{
		Name: "tunnel",
		Structure: catalog.Structure{Attributes: []catalog.Attribute{
			attribute("vni", "int", catalog.Allocated, false), attribute("name", "string", catalog.Allocated, false), attribute("key", "string", catalog.Allocated, true), attribute("peer", "string", catalog.Fixed, false),
		}},
		Tasks: []catalog.Task{
			call("allocate", false, map[string]string{"vni": "n", "key": "secret"}),
			{Name: "both", Steps: []catalog.Task{call("name", false, map[string]string{"name": "n"})}},
		},
	}}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	e, _ := c.Entity("tunnel")
	return e
}

// gives is a caller that gives the same values to every callback.
type gives map[string]any

func (g gives) Call(context.Context, io.Writer, task.Task) (map[string]any, error) { return g, nil }

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
			values, err := promising(s, gives(tt.values)).Call(t.Context(), io.Discard, task.Task{Kind: task.Callback, Name: tt.callback, Resource: resource.Resource{Type: "command", Title: tt.callback}})
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

func TestStateOfASite(t *testing.T) {
	s := site.Site{Services: []site.Service{{Name: "t1", Entity: tunnel(t)}}}
	ran := map[resource.ID]string{"command[t1/allocate]": "1", "command[t1/allocated]": "2", `command[t1/allocate["x"]]`: "3"}
	m := State{Applied: planner.Applied{planner.Controller: ran, "a": {"file[/x]": "1"}}, Values: map[string]map[string]any{"t1": {"vni": "x"}}}
	got := m.of(s)
	want := State{Values: map[string]map[string]any{}, Applied: planner.Applied{"a": {"file[/x]": "1"},
		planner.Controller: {"command[t1/allocate]": "", "command[t1/allocated]": "2", `command[t1/allocate["x"]]`: ""}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if ran["command[t1/allocate]"] != "1" || m.Values["t1"]["vni"] != "x" {
		t.Error("the state itself was changed")
	}
	if got := (State{Values: map[string]map[string]any{"t1": {"vni": "x"}}}).of(s); len(got.Applied) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestCalled(t *testing.T) {
	call := func(name string) task.Task {
		return task.Task{Kind: task.Callback, Name: name, Action: task.Run, Resource: resource.Resource{Type: "command", Title: strings.Split(name, "@")[0]}}
	}
	p := &planner.Plan{Forgotten: []resource.ID{"command[t0/x]"}, Phases: []planner.Phase{{Tasks: []task.Task{call("t1/a"), call("t1/b"), call("t1/c@n1"), call("t1/late")}}}}
	report := rollout.Report{Callbacks: map[string]string{"t1/a": "new", "t1/b": "", "t1/c@n1": "c"}}
	past := State{Applied: planner.Applied{planner.Controller: {"command[t0/x]": "0", "command[t1/a]": "old",
		"command[t1/late]": "before", "command[t2/stays]": "2"}}}
	ran := past.Applied[planner.Controller]
	a := &application{Planned: &Planned{}, past: past, called: p.Called(ran, report.Callbacks)}
	out := Outcome{State: State{Applied: planner.Applied{"n1": {"file[/x]": "1"}, planner.Controller: ran}}}
	if a.learn(&out, p, report); len(out.Messages) > 0 {
		t.Error(out.Messages)
	}
	want := planner.Applied{"n1": {"file[/x]": "1"}, planner.Controller: {
		"command[t1/a]": "new", "command[t1/b]": "", "command[t1/c@n1]": "c", "command[t1/late]": "", "command[t2/stays]": "2"}}
	if d := cmp.Diff(want, out.State.Applied); d != "" {
		t.Error(d)
	}
}
