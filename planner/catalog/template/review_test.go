package template

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// secretScope has a sensitive list and a sensitive text.
func secretScope() Scope {
	return NewScope(catalog.Structure{Attributes: []catalog.Attribute{
		{Name: "codes", Type: catalog.Type{Kind: catalog.String, List: true}, Modifier: catalog.Fixed, Sensitive: true},
		{Name: "json", Type: catalog.Type{Kind: catalog.String}, Modifier: catalog.Fixed, Sensitive: true},
	}}, map[string]any{"codes": []any{"hunter2"}, "json": "zhunter2"}, "web", "lon1")
}

func TestMistakesInLoopsKeepSecrets(t *testing.T) {
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

func TestTooMuchWorkIsNoValue(t *testing.T) {
	loop := "[for i in range(1024) : [for j in range(1024) : [for k in range(1024) : k]]]"
	double := `"x"`
	for i := 28; i > 0; i-- {
		if i == 28 {
			double = "true ? a28 : a28"
		}
		before := `"x"`
		if i > 1 {
			before = fmt.Sprintf("a%d", i-1)
		}
		double = fmt.Sprintf("[for a%d in [[%s, %s]] : %s][0]", i, before, before, double)
	}
	for name, text := range map[string]string{"try": "${try(" + loop + `, "x")}`, "can": "${can(" + loop + ")}", "doubling": "${" + double + "}",
		"doubling in an operator": "${" + strings.Replace(double, "true ? a28 : a28", "-a28", 1) + "}"} {
		t.Run(name, func(t *testing.T) {
			parsed, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if got, err := parsed.Evaluate(sampleScope()); err == nil || !strings.Contains(err.Error(), "does too much") {
				t.Errorf("gives %v, %v", got, err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
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

func TestFunctionsAsTerraform(t *testing.T) {
	for text, want := range map[string]any{
		`${index(["a", "b"], "b")}`: int64(1), `${index(self.servers, "a")}`: int64(0), `${index([1, "x"], "x")}`: int64(1),
		`${coalesce("", "b")}`: "b", `${coalesce(null, 0, 1)}`: int64(0), `${coalesce(self.note, self.name)}`: "n",
		`${lookup(node.labels, "os")}`: "linux", `${lookup({a = 1}, "a")}`: int64(1), `${lookup({a = 1}, "b", 2)}`: int64(2), `${lookup(node.labels, "b", "c")}`: "c",
	} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Evaluate(sampleScope())
		if err != nil {
			t.Errorf("%s: %s", text, err)
		} else if diff := cmp.Diff(want, got.Value); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{`${index([], 1)}`, `${index(["a"], "b")}`, `${index("a", "b")}`, `${coalesce("", null)}`, `${coalesce()}`,
		`${lookup({a = 1}, "b")}`, `${lookup(node.labels, "b")}`, `${lookup([], "b")}`, `${lookup({}, "b", 1, 2)}`, `${log(-1, 2)}`} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Evaluate(sampleScope())
		if err == nil || strings.Contains(err.Error(), "goroutine") || strings.Contains(err.Error(), "panic") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
