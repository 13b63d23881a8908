package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
