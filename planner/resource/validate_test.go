package resource_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

var thing = resource.Schema{
	Type: "thing",
	Parameters: []resource.Parameter{
		{Name: "path", Kind: resource.String, Required: true},
		{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"}},
		{Name: "size", Kind: resource.Integer, Check: func(v any) error {
			if v.(int64) < 0 {
				return errors.New("must not be negative")
			}
			return nil
		}},
		{Name: "enable", Kind: resource.Bool},
		{Name: "aliases", Kind: resource.StringList},
		{Name: "when", Kind: resource.StringList, Scalars: true},
		{Name: "labels", Kind: resource.StringMap},
		{Name: "password", Kind: resource.String, Sensitive: true, Description: "A hash of crypt(3).",
			Check: func(v any) error {
				if !strings.HasPrefix(v.(string), "$") {
					return errors.New(v.(string) + " is no hash")
				}
				return nil
			}},
	},
	Check: func(r resource.Resource) []invalid.Error {
		if r.Parameters.Has("size") && r.Parameters.Has("enable") {
			return []invalid.Error{{Attribute: "size", Message: "excludes enable; give one of them"}}
		}
		if r.Parameters.String("path") == "leak" {
			return []invalid.Error{{Attribute: "path", Message: "does not go with " +
				r.Parameters.String("password")}}
		}
		return nil
	},
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name       string
		parameters resource.Parameters
		want       []string // errors as text
	}{
		{"fine", resource.Parameters{
			"path": "/x", "ensure": "present", "size": 3.0, "aliases": "one", "when": []any{int64(1), "2", true, 2.5},
			"labels": map[string]any{"a": "b"}, "password": "$6$x", "require": "File[/etc]",
			"before": []any{"a[b]", "c[d]"},
			"noop":   true, "sensitive": false,
		}, nil},
		{"missing", nil, []string{`path: is required by the type thing`}},
		{"several at once, sorted", resource.Parameters{"ensure": "presnt", "size": "3x", "enable": "yes", "pth": "/x"},
			[]string{
				`enable: must be true or false, without quotes, not the string "yes"`,
				`ensure: "presnt" is not allowed; must be one of present, absent (did you mean "present"?)`,
				`path: is required by the type thing`,
				`pth: the type thing has no such parameter; did you mean "path"?`,
				`size: must be a whole number, without quotes, not the string "3x"`,
			}},
		{"unknown, nothing near", resource.Parameters{"path": "/x", "frobnicate": true}, []string{
			`frobnicate: the type thing has no such parameter; it has alias, aliases, before, enable, ensure, guard, labels, loglevel, noop, notify, password, path, require, sensitive, size, subscribe, tag, when`,
		}},
		{"misspelt metaparameter", resource.Parameters{"path": "/x", "notfiy": "a[b]"}, []string{
			`notfiy: the type thing has no such parameter; did you mean "notify"?`,
		}},
		{"a number is no string", resource.Parameters{"path": int64(5)},
			[]string{`path: must be a string, in quotes, not 5`}},
		{"null", resource.Parameters{"path": nil},
			[]string{`path: must be a string, not null (leave the parameter out instead)`}},
		{"fraction", resource.Parameters{"path": "/x", "size": 1.5},
			[]string{`size: must be a whole number, without quotes, not 1.5`}},
		{"not a number", resource.Parameters{"path": "/x", "size": math.NaN(), "when": math.Inf(1)}, []string{
			`size: must be a whole number, without quotes, not a number that is not finite`,
			`when: must be a list of strings, not a number that is not finite`,
		}},
		{"too big to be exact", resource.Parameters{"path": "/x", "size": 1e300},
			[]string{`size: must be a whole number, without quotes, not 1e+300`}},
		{"not data", resource.Parameters{"path": "/x", "size": 5, "when": []any{[]string{"a"}}, "aliases": func() {}},
			[]string{
				`aliases: must be a list of strings, not a value of type func()`,
				`size: must be a whole number, without quotes, not a value of type int`,
				`when[0]: must be a string, not a value of type []string`,
			}},
		{"not UTF-8", resource.Parameters{"path": "\xff", "labels": map[string]any{"\xfe": "x"}}, []string{
			`labels["\xfe"]: the key is not UTF-8 text`,
			`path: is not UTF-8 text`,
		}},
		{"inside lists and maps", resource.Parameters{"path": "/x", "aliases": []any{"a", int64(1), nil},
			"labels": map[string]any{"k": []any{}}}, []string{
			`aliases[1]: must be a string, in quotes, not 1`,
			`aliases[2]: must be a string, not null (leave the parameter out instead)`,
			`labels["k"]: must be a string, not a list`,
		}},
		{"list and map mixed up", resource.Parameters{"path": []any{"x"}, "labels": []any{},
			"aliases": map[string]any{}, "enable": int64(1)}, []string{
			`aliases: must be a list of strings, not a map`,
			`enable: must be true or false, without quotes, not 1`,
			`labels: must be a map of strings, not a list`,
			`path: must be a string, not a list`,
		}},
		{"own check", resource.Parameters{"path": "/x", "size": int64(-1)}, []string{`size: must not be negative`}},
		{"check of the type", resource.Parameters{"path": "/x", "size": int64(1), "enable": true},
			[]string{`size: excludes enable; give one of them`}},
		{"references", resource.Parameters{"path": "/x", "require": []any{"z[z]", "nonsense", "a[a]"},
			"notify": "file[]", "before": "Thing['t']"}, []string{
			`before: refers to the resource itself; name another resource`,
			`notify: "file[]" is not a reference of the form type[title], such as service[nginx]`,
			`require[1]: "nonsense" is not a reference of the form type[title], such as service[nginx]`,
		}},
		{"secret parameter", resource.Parameters{"path": "/x", "password": "hunter2"}, []string{
			`password: is not valid; the value and its error are not shown because it is sensitive. A hash of crypt(3).`,
		}},
		{"secret of the deployment", resource.Parameters{"path": "/x", "password": "⟦secret:root⟧"}, []string{
			`password: takes no secret of the deployment, which others could read there; write it into the content of a file with mode "0600", and name that file`,
		}},
		{"secret of the wrong kind", resource.Parameters{"path": "/x", "password": int64(4711)}, []string{
			`password: must be a string, in quotes, not a number`,
		}},
		{"check of the type shows a secret", resource.Parameters{"path": "leak", "password": "$hunter2"}, []string{
			`path: is not valid; the value and its error are not shown because it is sensitive; see the description of the type thing`,
		}},
		{"sensitive resource", resource.Parameters{
			"path": int64(4711), "ensure": "hunter2", "size": "hunter2", "require": "hunter2", "aliases": []any{true},
			"sensitive": true,
		}, []string{
			`aliases[0]: must be a string, in quotes, not a bool`,
			`ensure: must be one of present, absent`,
			`path: must be a string, in quotes, not a number`,
			`require: is not a reference of the form type[title], such as service[nginx]`,
			`size: must be a whole number, without quotes, not a string`,
		}},
		{"sensitive itself wrong", resource.Parameters{"path": "/x", "size": "hunter2", "sensitive": "treu"}, []string{
			`sensitive: must be true or false, without quotes, not a string`,
			`size: must be a whole number, without quotes, not a string`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range thing.Validate(resource.Resource{Type: "thing", Title: "t", Parameters: tt.parameters}) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateMarksUnknownAndMissing(t *testing.T) {
	errs := thing.Validate(resource.Resource{Type: "thing", Title: "t", Parameters: resource.Parameters{"zzz": true}})
	if len(errs) != 2 || errs[0].Attribute != "path" || errs[0].Code != invalid.MissingParameter ||
		errs[1].Attribute != "zzz" || errs[1].Code != invalid.UnknownParameter {
		t.Errorf("got %+v", errs)
	}
}

func TestValidateTitle(t *testing.T) {
	for title, want := range map[string]string{
		"":                    "must not be empty",
		"a\nb":                "control character",
		"\xff":                "is not UTF-8 text",
		"a b[c]":              "",
		"/srv/é 漢字 ❤️":        "",
		"/etc/\u202efdp.conf": `"/etc/\u202efdp.conf" contains U+202E, which is invisible; leave it out`,
		"a\u200bb":            `"a\u200bb" contains U+200B`,
	} {
		errs := thing.Validate(resource.Resource{Type: "thing", Title: title,
			Parameters: resource.Parameters{"path": "/x"}})
		switch {
		case want == "" && len(errs) == 0:
		case want != "" && len(errs) == 1 && errs[0].Attribute == "title" && strings.Contains(errs[0].Message, want):
		default:
			t.Errorf("title %q: got %v, want %q", title, errs, want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"content", "ensure", "group", "ip", "owner"}
	for word, want := range map[string]string{
		"contnt": "content", "contetn": "content", "conten": "content", "cntnt": "content", "cnnt": "",
		"Ensure": "ensure", "onwer": "owner", "x": "", "id": "ip", "": "", "gröup": "group",
	} {
		if got := resource.Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

// Conform gives what Validate and Normalize give, leaves its argument alone, and shares parameters that are normal.
func TestConform(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := resource.Parameters(randomMap(r, 2))
		for _, declared := range []string{"path", "size", "enable", "aliases", "when", "labels", "require", "notify"} {
			if r.IntN(2) == 0 {
				p[declared] = randomValue(r, 2)
			}
		}
		if r.IntN(2) == 0 {
			p["require"] = []any{"b[b]", "A[a]", "b['b']", "a[a]"}[r.IntN(4):]
		}
		given := resource.Resource{Type: "thing", Title: "t", Parameters: p}
		before := cmp.Diff(nil, p)
		normal, errs := thing.Conform(given)
		if diff := cmp.Diff(thing.Normalize(given), normal); diff != "" {
			t.Fatalf("seed %d: not what Normalize gives: %s", seed, diff)
		}
		if diff := cmp.Diff(thing.Validate(normal), errs); diff != "" && len(errs) == 0 {
			t.Fatalf("seed %d: fine, and in its normal form not: %s", seed, diff)
		}
		if cmp.Diff(nil, p) != before {
			t.Fatalf("seed %d: the argument changed: %v", seed, p)
		}
		again, _ := thing.Conform(normal)
		again.Parameters["mark"] = true
		if !normal.Parameters.Has("mark") {
			t.Fatalf("seed %d: what is normal was copied: %v", seed, normal.Parameters)
		}
	}
}

// Most resources are checked, and written in their normal form, without anything on the heap.
func TestConformAllocatesNothing(t *testing.T) {
	r := resource.Resource{Type: "thing", Title: "t", Parameters: resource.Parameters{
		"path": "/x", "ensure": "present", "aliases": []any{"a", "b"}, "require": []any{"file[/a]", "file[/b]"},
	}}
	if n := testing.AllocsPerRun(100, func() {
		if _, errs := thing.Conform(r); errs != nil {
			t.Fatal(errs)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestInvisible(t *testing.T) {
	for _, r := range "\u00ad\u061c\u200b\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\U000e0041" {
		if got, found := resource.Invisible("web" + string(r) + "\u202e"); !found || got != r {
			t.Errorf("%U: got %U, %t", r, got, found)
		}
	}
	for _, visible := range []string{"", "web", "a b", "é", "e\u0301", "مرحبا", "漢字", "👍🏽", "\U0010ffff", "\xff"} {
		if r, found := resource.Invisible(visible); found {
			t.Errorf("%q: %U is not invisible", visible, r)
		}
	}
}

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"a\tb\nc ä":                       "a\tb\nc ä",
		"\x1b[31mred\x1b[0m":              "[31mred[0m",
		"\x1b]0;title\x07\x7f\u009b2Jx\r": "]0;title2Jx",
		"a\u202eb\u2066c\u2028d\u200be":   "abcde",
	} {
		if got := resource.Visible(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// JSON that does nothing to a terminal has the value that it had.
func TestVisibleJSON(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"plain", "\x1b[2J\x7f\u009b\u202e\u2028\ufeff\U000e0041\U0001f600 é\n\t", strings.Repeat("\u200b", 3)} {
		text, err := json.Marshal(map[string]string{value: value})
		if err != nil {
			t.Fatal(err)
		}
		out := resource.VisibleJSON(text)
		if got := resource.Visible(string(out)); got != string(out) {
			t.Errorf("%q has what Visible leaves out", out)
		}
		var back map[string]string
		if err := json.Unmarshal(out, &back); err != nil || back[value] != value {
			t.Errorf("%q: %q, %v", value, back, err)
		}
	}
}
