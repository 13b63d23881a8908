package schema

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A guard is a list of commands, of which each is a line for the shell or a list of words, as in Puppet.
func TestGuardsAsWords(t *testing.T) {
	for _, tt := range []struct {
		guard any
		want  string
	}{
		{[]any{[]any{"test", "-f", "/x"}, "true"}, ""},
		{[]any{[]any{"true"}}, ""},
		{[]any{[]any{"test", int64(5)}}, `unless[0][1]: must be a string, in quotes, not 5`},
		{[]any{"true", []any{}}, `unless: must not be empty`},
		{[]any{[]any{"", "-f"}}, `unless: must not be empty`},
		{[]any{[]any{"a", []any{"b"}}}, `unless[0][1]: must be a string, not a list`},
		{[]any{}, `unless: must not be empty`},
		{"", `unless: must not be empty`},
	} {
		errs := Exec().Validate(resource.Resource{Type: "exec", Title: "x",
			Parameters: resource.Parameters{"unless": tt.guard}})
		got := ""
		for _, e := range errs {
			got += e.Attribute + ": " + e.Message
		}
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.guard, got, tt.want)
		}
	}
	command := resource.Parameters{"command": []any{[]any{"a", "b"}}}
	if errs := Exec().Validate(resource.Resource{Type: "exec", Title: "x", Parameters: command}); len(errs) == 0 {
		t.Error("a command took a list of commands")
	}
}
