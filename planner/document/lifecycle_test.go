package document

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// small is a lifecycle with every key.
const small = `lifecycles:
  small:
    description: Up, or gone.
    initial: start
    alternative_initial: [imported]
    annotations: {owner: core}
    states:
      start: {self: candidate, label: null, values: {cost: 0}}
      imported: {self: candidate, others: null, model_state: null}
      up: {description: It runs., export: true, self: active, others: active, label: success, previous_on_validate: active, previous_on_export: rollback}
      deleting: {export: true, others: active, purge: true, annotations: {web_label: Going}}
      gone: {deleted: true}
    transfers:
    - {from: start, to: up, trigger: auto, validate: true, error: gone, config: auto_up, op: promote, error_op: clear candidate}
    - {from: imported, to: up, trigger: api_set_state, error: null, config: null, op: promote}
    - {from: up, to: up, trigger: resource_based, error: up, same: true, error_same: true, description: Repair., annotations: {x: [1]}}
    - {from: up, to: deleting, trigger: on_delete}
    - {from: deleting, to: gone, trigger: resource_based, error: deleting}
  old:
    initial: s
    states: {s: {model_state: active}, t: {model_state: inactive, deleted: true}}
    transfers: [{from: s, to: t, trigger: on_delete}]
`

func parseLifecycles(texts ...string) ([]lifecycle.Lifecycle, error) {
	sources := make([]Source, len(texts))
	for i, text := range texts {
		sources[i] = Source{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)}
	}
	return ParseLifecycles(sources)
}

func TestParseLifecycles(t *testing.T) {
	got, err := parseLifecycles(small)
	if err != nil {
		t.Fatal(err)
	}
	want := []lifecycle.Lifecycle{
		{
			Name: "small", Description: "Up, or gone.", Initial: "start", AlternativeInitial: []string{
				"imported"}, Annotations: map[string]any{"owner": "core"},
			States: []lifecycle.State{
				{Name: "start", ValidateSelf: lifecycle.Candidate, Values: map[string]any{"cost": int64(0)}},
				{Name: "imported", Label: lifecycle.Info, ValidateSelf: lifecycle.Candidate},
				{Name: "up", Description: "It runs.", Label: lifecycle.Success, Export: true,
					ValidateSelf: lifecycle.Active, ValidateOthers: lifecycle.Active,
					PreviousOnValidate: lifecycle.Active, PreviousOnExport: lifecycle.Rollback},
				{Name: "deleting", Label: lifecycle.Info, Export: true, ValidateOthers: lifecycle.Active, Purge: true,
					Annotations: map[string]any{"web_label": "Going"}},
				{Name: "gone", Label: lifecycle.Info, Deleted: true},
			},
			Transfers: []lifecycle.Transfer{
				{Source: "start", Target: "up", Error: "gone", Trigger: lifecycle.Auto, Validate: true,
					Config: "auto_up", Operation: lifecycle.Promote, ErrorOperation: lifecycle.ClearCandidate},
				{Source: "imported", Target: "up", Trigger: lifecycle.APISetState, Operation: lifecycle.Promote},
				{Source: "up", Target: "up", Error: "up", Trigger: lifecycle.ResourceBased, Preserves: true,
					ErrorPreserves: true, Description: "Repair.", Annotations: map[string]any{"x": []any{int64(1)}}},
				{Source: "up", Target: "deleting", Trigger: lifecycle.OnDelete},
				{Source: "deleting", Target: "gone", Error: "deleting", Trigger: lifecycle.ResourceBased},
			},
		},
		{
			Name: "old", Initial: "s",
			States: []lifecycle.State{{Name: "s", Label: lifecycle.Info, ModelState: lifecycle.ActiveModel},
				{Name: "t", Label: lifecycle.Info, ModelState: lifecycle.Inactive, Deleted: true}},
			Transfers: []lifecycle.Transfer{{Source: "s", Target: "t", Trigger: lifecycle.OnDelete}},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestParseLifecyclesErrors(t *testing.T) {
	const form = "lifecycles:\n  l:\n    initial: s\n    states:\n      s: %state\n      t: {deleted: true}\n    transfers:\n    - %transfer\n"
	with := func(state, transfer string) string {
		return strings.NewReplacer("%state", state, "%transfer", transfer).Replace(form)
	}
	const good = "{from: s, to: t, trigger: on_delete}"
	tests := []struct{ name, text, want string }{
		{"empty", "", "a.yaml: the document is empty; lifecycles stand under the key lifecycles"},
		{"another key", "lifecycle: {}", "a.yaml:1:1: unknown key \"lifecycle\"; did you mean \"lifecycles\"?"},
		{"nothing in it", "lifecycles: {l: {}}", `a.yaml:1:17: lifecycles.l: the key "initial" is missing`},
		{"a list", "lifecycles: []", "a.yaml:1:13: lifecycles: is a list, not a mapping"},
		{"unknown key of a state", with("{exports: true}", good),
			`a.yaml:5:11: lifecycles.l.states.s: unknown key "exports"; did you mean "export"?`},
		{"unknown key of a transfer", with("{}", "{from: s, to: t, triggers: on_delete}"),
			`a.yaml:8:24: lifecycles.l.transfers[0]: unknown key "triggers"; did you mean "trigger"?`},
		{"a key twice", with("{export: true, export: false}", good),
			`a.yaml:5:25: is there twice|key "export" is there twice, first at line 5`},
		{"wrong type", with("{export: maybe}", good),
			"a.yaml:5:19: lifecycles.l.states.s.export: is text, not true or false"},
		{"an empty text", with("{self: ''}", good), "a.yaml:5:17: lifecycles.l.states.s.self: is empty; write null"},
		{"bad label", with("{label: green}", good),
			`a.yaml:5:18: lifecycle "l": states.s.label: there is no label "green"`},
		{"bad set", with("{self: activ}", good),
			`a.yaml:5:17: lifecycle "l": states.s.self: "activ" is no set of attributes for it; did you mean "active"?`},
		{"unknown state", with("{}", "{from: s, to: tt, trigger: on_delete}"),
			`a.yaml:8:21: lifecycle "l": transfers[0].to: there is no state "tt"; did you mean "t"?`},
		{"bad trigger", with("{}", "{from: s, to: t, trigger: on_deletion}"),
			`a.yaml:8:33: lifecycle "l": transfers[0].trigger: there is no trigger "on_deletion"`},
		{"unreachable", with("{}\n      island: {}", good),
			`a.yaml:6:7: lifecycle "l": states.island: no transfers lead to the state "island"`},
		{"about the whole", with("{}", "{from: s, to: s, trigger: on_update}"),
			`a.yaml:2:3: lifecycle "l": no transfers lead from the initial state`},
		{"a shipped name", strings.Replace(with("{}", good), "  l:", "  simple:", 1),
			`a.yaml:2:3: lifecycle "simple": slipway brings a lifecycle of this name`},
		{"a bad name", strings.Replace(with("{}", good), "  l:", "  my own:", 1),
			`a.yaml:2:3: lifecycle "my own": "my own" is not a usable name`},
		{"a state that needs quotes", with("{}\n      a.b: {label: x}", good),
			`a.yaml:6:20: lifecycle "l": states["a.b"].label: there is no label`},
		{"itself", "lifecycles: &l\n  a: {states: *l, initial: s, transfers: []}", "a.yaml:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseLifecycles(tt.text)
			var errs invalid.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("got %v", err)
			}
			found := false
			for want := range strings.SplitSeq(tt.want, "|") {
				found = found || strings.Contains(err.Error(), want)
			}
			if !found {
				t.Errorf("got:\n%v\nwant %q in it", err, tt.want)
			}
		})
	}
}

func TestParseLifecyclesReportsAllErrors(t *testing.T) {
	const other = "lifecycles:\n  m: {initial: x, states: {s: {label: green}}, transfers: [{from: s, to: s, trigger: a}]}\n"
	_, err := parseLifecycles(small, small, other)
	var errs invalid.Errors
	if !errors.As(err, &errs) || len(errs) != 7 {
		t.Errorf("got %d:\n%v\nwant 7: two names twice; initial state, label, trigger, reach and end of m",
			len(errs), err)
	}
	for _, want := range []string{
		`b.yaml:2:3: lifecycle "small": there is another lifecycle of this name; give each a name of its own, or leave one out; the first one is at a.yaml:2`, "c.yaml:2:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got:\n%v\nwant %q in it", err, want)
		}
	}
	// The form comes first: what is read wrongly is not judged.
	_, err = parseLifecycles("lifecycles: {m: {initial: 1, states: {}, transfers: {}}}\n---\nx: 1\n")
	if !errors.As(err, &errs) || len(errs) != 4 {
		t.Errorf("got %d:\n%v", len(errs), err)
	}
}

func FuzzParseLifecycles(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("lifecycles: {a: &a {initial: s, states: {s: &s {}, t: *s}, transfers: &t [*t]}, b: *a}"))
	f.Add(
		[]byte(
			"lifecycles:\n  x: {initial: s, states: {\"a.b\": {deleted: true}, ? [] : {}}, transfers: [{from: \"a.b\", to: s, trigger: auto, same: true}]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ParseLifecycles([]Source{{"a.yaml", data}})
		if err != nil {
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("not problems: %v", err)
			}
			for _, p := range errs {
				if p.Message == "" || p.File != "a.yaml" {
					t.Fatalf("%+v tells nothing", p)
				}
			}
			return
		}
		for _, l := range got {
			if _, errs := lifecycle.New(l); errs != nil {
				t.Fatalf("a lifecycle that is not sound was read: %v", errs)
			}
		}
	})
}
