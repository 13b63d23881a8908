package document_test

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// What is nearly a secret or a template is refused with how one is written, and a secret of which the name is not known
// yet where none is taken.
func TestSecretsWrittenWrongly(t *testing.T) {
	type object = map[string]any
	const (
		template = `write a template as { template = "text" }`
		secret   = `write a secret of the deployment as { secret = "name" }, with letters, digits, _, . and - in its name, ` +
			`or as $${secrets.name} in { template = "text" }`
		none = "takes no secret of the deployment, which others could read there; of the type "
	)
	for _, c := range []struct {
		typ, parameter string
		value          any
		want           string // empty: no error
	}{
		{"file", "content", object{"secrets": "pw"}, "content: must be a string, not a map; " + secret},
		{"file", "content", object{"secret": nil}, "content: must be a string, not a map; " + secret},
		{"file", "content", object{"secret": "a b"}, "content: must be a string, not a map; " + secret},
		{"file", "content", object{"template": "x", "foo": "y"}, "content: must be a string, not a map; " + secret},
		{"file", "owner", object{"template": "x", "foo": "y"}, "owner: must be a string, not a map; " + template},
		{"file", "noop", object{"template": "true"}, "noop: must be true or false, without quotes, not a map"},
		{"exec", "environment", object{"PGPASSWORD": object{"secret": "pw"}},
			`environment: must be a list of strings, such as "NAME=value", not a map; ` + secret},
		{"exec", "environment", []any{object{"secrets": "pw"}}, `environment[0]: must be a string, not a map; ` + secret},
		{"file", "owner", object{"secret": resource.Unknown{}}, "owner: " + none + "file, what takes one is content"},
		{"exec", "command", []any{"x", object{"secret": resource.Unknown{}}}, "command: " + none + "exec, what takes one is environment"},
		{"file", "content", object{"secret": resource.Unknown{}}, ""},
		{"file", "owner", resource.Unknown{}, ""},
		{"file", "owner", object{"template": resource.Unknown{}}, ""},
	} {
		given := object{c.typ: object{"/x": object{c.parameter: c.value}}}
		read, _, errs := document.NewValues(true).Configuration(given, "configuration", false)
		got := errs.Error()
		r := resource.Resource{Type: c.typ, Title: "/x", Parameters: read[c.typ]["/x"]}
		for _, e := range (&refine.Templates{}).Types()[c.typ].Validate(r) {
			if strings.HasPrefix(e.Attribute, c.parameter) {
				got += e.Error()
			}
		}
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s of %s as %v: %q, want %q", c.parameter, c.typ, c.value, got, c.want)
		}
	}
}
