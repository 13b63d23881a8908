package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFunctionsAsTerraform(t *testing.T) {
	for text, want := range map[string]any{
		`${index(["a", "b"], "b")}`: int64(1), `${index(self.servers, "a")}`: int64(
			0), `${index([1, "x"], "x")}`: int64(1),
		`${coalesce("", "b")}`: "b", `${coalesce(null, 0, 1)}`: int64(0), `${coalesce(self.note, self.name)}`: "n",
		`${lookup(node.labels, "os")}`: "linux", `${lookup({a = 1}, "a")}`: int64(
			1), `${lookup({a = 1}, "b", 2)}`: int64(2), `${lookup(node.labels, "b", "c")}`: "c",
		`${matchkeys(["i-1", "i-2", "i-3"], ["us", "eu", "us"], ["us"])}`: []any{"i-1",
			"i-3"}, `${matchkeys(["a"], [1], ["1"])}`: []any{
			"a"}, `${matchkeys(self.servers, self.servers, [])}`: []any{}, `${matchkeys(["a", null], ["a", null], ["a", null])}`: []any{"a", nil},
		`${transpose({a = ["1", "2"], b = ["2"]})}`: map[string]any{"1": []any{"a"},
			"2": []any{"a",
				"b"}}, `${transpose({})}`: map[string]any{}, `${matchkeys([], [], [])}`: []any{}, `${matchkeys([1], [{a = 1}], [{a = 1}])}`: []any{int64(1)},
		`${formatdate("DD MMM YYYY hh:mm ZZZ", "2018-01-02T23:12:01Z")}`: "02 Jan 2018 23:12 UTC", `${timeadd("2017-11-22T00:00:00Z", "10m")}`: "2017-11-22T00:10:00Z",
		`${timecmp("2017-11-22T00:00:00Z", "2017-11-22T01:00:00Z")}`: int64(
			-1), `${timecmp("2017-11-22T01:00:00Z", "2017-11-22T00:00:00-01:00")}`: int64(0),
		`${issensitive(self.password)}`: true, `${issensitive(self.name)}`: false, `${issensitive(sensitive(1))}`: true,
		`${nonsensitive(self.password)}`: "hunter2", `${nonsensitive(self.name)}`: "n",
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
	for _, text := range []string{`${index([], 1)}`, `${index(["a"], "b")}`, `${index("a", "b")}`,
		`${coalesce("", null)}`, `${coalesce()}`,
		`${lookup({a = 1}, "b")}`, `${lookup(node.labels, "b")}`, `${lookup([], "b")}`, `${lookup({}, "b", 1, 2)}`, `${log(-1, 2)}`,
		`${matchkeys(["a"], [], ["a"])}`, `${matchkeys(["a"], ["a"], [[]])}`, `${transpose({a = [null]})}`, `${transpose({a = "x"})}`, `${formatdate("QQQ", "2018-01-02T23:12:01Z")}`,
		`${timeadd("today", "1h")}`, `${timecmp("2017-11-22", "2017-11-22T00:00:00Z")}`, `${regex("(", "x")}`, `${regexall("x{1001}", "x")}`, `${replace("x", "/(/", "y")}`} {
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

func TestSensitiveFunctions(t *testing.T) {
	for text, want := range map[string]Result{
		`x${sensitive("y")}`:                         {Value: "xy", Sensitive: true},
		`${sensitive(null)}`:                         {Sensitive: true},
		`${nonsensitive(self.password)}${self.name}`: {Value: "hunter2n"},
		`${sensitive(self.vni)}`:                     {Unknown: true, Awaits: []string{"self.vni"}, Sensitive: true},
		`${nonsensitive(self.vni)}`:                  {Unknown: true, Awaits: []string{"self.vni"}},
		`${issensitive(self.vni)}`:                   {Value: false},
	} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Evaluate(sampleScope())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

// The groups of all matches are held at once.
func TestGroupsOfMatchesAreBounded(t *testing.T) {
	scope := NewScope(sample, sampleValues(), strings.Repeat("x", 1<<13), "lon1")
	expression := strings.Repeat("(", 900) + "x" + strings.Repeat(")", 900)
	for _, text := range []string{`${regexall("` + expression + `", service.name)}`, `${replace(service.name, "/` +
		expression + `/", "")}`} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsed.Evaluate(scope); err == nil || !strings.Contains(err.Error(), "too many groups") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// Regular expressions that would take minutes are refused.
func TestHostileExpressions(t *testing.T) {
	scope := NewScope(sample, sampleValues(), strings.Repeat("x", 1<<20), "lon1")
	for _, text := range []string{`${regex("(x{1,100}){1,10}y", service.name)}`,
		`${regexall("(x{1,100}){1,10}y", service.name)}`, `${replace(service.name, "/(?:x?){1000}y/", "")}`} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsed.Evaluate(scope); err == nil || !strings.Contains(err.Error(), "too much work") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
