package template

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// secretScope has a sensitive list and a sensitive text.
func secretScope() Scope {
	return NewScope(catalog.Structure{Attributes: []catalog.Attribute{
		{Name: "codes", Type: catalog.Type{Kind: catalog.String, List: true}, Modifier: catalog.Fixed, Sensitive: true},
		{Name: "json", Type: catalog.Type{Kind: catalog.String}, Modifier: catalog.Fixed, Sensitive: true},
	}}, map[string]any{"codes": []any{"hunter2"}, "json": "zhunter2"}, "web", "lon1")
}

func TestErrorsInLoopsKeepSecrets(t *testing.T) {
	for _, text := range []string{
		`${[for c in self.codes : tonumber(c)]}`,
		`%{ for c in self.codes }${tonumber(c)}%{ endfor }`,
		`${[for c in split(",", self.json) : tonumber(c)]}`,
		`${jsondecode(self.json)}`,
	} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parsed.Evaluate(secretScope())
		if err == nil {
			t.Errorf("%s: no error", text)
		} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "'z'") {
			t.Errorf("%s: %s", text, err)
		}
	}
}

func TestTryAwaits(t *testing.T) {
	for _, text := range []string{`${try(self.vni, 3)}`, `a${try(self.vni, 3)}`, `${can(self.vni)}`} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Evaluate(sampleScope())
		if err != nil || !got.Unknown || !slices.Equal(got.Awaits, []string{"self.vni"}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
