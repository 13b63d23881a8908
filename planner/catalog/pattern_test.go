package catalog

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var (
	expressions = []string{"", "a", "a*", "^", "^a", "(?m)^a", "(b)?a|c", `\bx`, `\B`, `x\b`, "é+", "(?i)A(?P<n>b)?",
		`\s+`, "a|b*?", `\z`, `(a*)(b*)$`}
	texts = []string{"", "a", "abacx", "x y xx ééa", "b\na\n\na ab", "ÄéB\xffab\xc3", strings.Repeat("ab ", 20)}
)

func mustCompile(t testing.TB, text string) *Pattern {
	t.Helper()
	p, err := CompilePattern(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func TestMatches(t *testing.T) {
	for _, expression := range expressions {
		p := mustCompile(t, expression)
		for _, text := range texts {
			want := regexp.MustCompile(expression).FindAllStringSubmatchIndex(text, -1)
			if got, err := p.Matches(text); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q in %q: %v, %v; want %v", expression, text, got, err, want)
			}
			if got, err := p.scan(text, 1<<20); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q in %q, scanned: %v, %v; want %v", expression, text, got, err, want)
			}
			if got, err := p.Match(text); err != nil || got != (len(want) > 0) {
				t.Errorf("%q in %q: %v, %v", expression, text, got, err)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, expression := range expressions {
		for _, text := range texts {
			f.Add(expression, text)
		}
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		p, err := CompilePattern(expression)
		if err != nil || len(text) > 1000 || p.size > 1000 {
			return
		}
		want := p.FindAllStringSubmatchIndex(text, -1)
		if got, err := p.scan(text, 1<<24); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q in %q: %v, %v; want %v", expression, text, got, err, want)
		}
	})
}

func TestWhatIsNoPattern(t *testing.T) {
	for expression, words := range map[string]string{
		"(":                            "missing closing )",
		"a)|(b":                        "unexpected )",
		"x{1001}":                      "invalid repeat count",
		strings.Repeat("x{1000}", 100): "instructions",
		`\pL{1000}`:                    "",
	} {
		if _, err := CompilePattern(expression); (err == nil) != (words == "") || err != nil &&
			!strings.Contains(err.Error(), words) {
			t.Errorf("%.20s: %v, want %q", expression, err, words)
		}
	}
}

// Searches that would take minutes are refused; long texts with many matches are not.
func TestWorkIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, expression := range []string{"(x{1,100}){1,10}y", "(?:x?){1000}y"} {
		p := mustCompile(t, expression)
		if _, err := p.Match(long); !errors.Is(err, ErrTooMuch) {
			t.Errorf("%s: %v", expression, err)
		}
		if _, err := p.Matches(long); !errors.Is(err, ErrTooMuch) {
			t.Errorf("%s: %v", expression, err)
		}
	}
	p := mustCompile(t, "x(?:.*y)?") // each match looks at the whole rest
	if _, err := p.scan(long, 4<<20); !errors.Is(err, ErrTooMuch) {
		t.Errorf("many matches: %v", err)
	}
	if ok, err := p.Match(long); !ok || err != nil {
		t.Errorf("one match: %v, %v", ok, err)
	}
	if found, err := mustCompile(t, "xx").Matches(long); len(found) != 1<<19 || err != nil {
		t.Errorf("%d short matches, %v", len(found), err)
	}
}
