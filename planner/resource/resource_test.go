package resource_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestNormalize(t *testing.T) {
	written := resource.Resource{Type: "thing", Title: "t", Parameters: resource.Parameters{
		"path": "/x", "size": 7.0, "aliases": "one", "when": 5.0, "labels": map[string]any{"a": "b"},
		"require": []any{"File['/b']", "file[/a]", "FILE[/b]"}, "notify": "Service[x]", "odd": []any{1.0},
	}}
	want := resource.Resource{Type: "thing", Title: "t", Parameters: resource.Parameters{
		"path": "/x", "size": int64(7), "aliases": []any{"one"}, "when": []any{"5"}, "labels": map[string]any{"a": "b"},
		"require": []any{"file[/a]", "file[/b]"}, "notify": []any{"service[x]"}, "odd": []any{1.0},
	}}
	got := thing.Normalize(written)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(got, thing.Normalize(got)); diff != "" {
		t.Errorf("not idempotent: %s", diff)
	}
	got.Parameters["labels"].(map[string]any)["a"] = "changed"
	if written.Parameters["labels"].(map[string]any)["a"] != "b" {
		t.Error("the result shares a map with the argument")
	}
	if diff := cmp.Diff([]resource.ID{"file[/a]", "file[/b]"}, got.References(resource.Require)); diff != "" {
		t.Error(diff)
	}
}

// Manifests of Puppet write numbers and bools as text, and metaparameters that slipway has no use for.
func TestNormalizeAsPuppetReads(t *testing.T) {
	s := resource.Schema{Type: "thing", Parameters: []resource.Parameter{
		{Name: "size", Kind: resource.Integer}, {Name: "on", Kind: resource.Bool},
		{Name: "ensure", Kind: resource.String, Scalars: true, Values: []string{"running"},
			Same: map[string]string{"true": "running"}},
		{Name: "hasstatus", Kind: resource.Bool, Unused: true},
		{Name: "source", Kind: resource.StringList, Single: true, Check: func(v any) error {
			if list, ok := v.([]string); !ok || len(list) == 0 || list[0] != "/a" {
				return fmt.Errorf("%v does not begin with /a", v)
			}
			return nil
		}},
	}}
	for _, written := range []resource.Parameters{
		{"size": "7", "on": "true", "ensure": "true", "hasstatus": true, "tag": "web", "loglevel": "err", "alias": "t"},
		{"size": int64(7), "on": true, "ensure": true, "hasstatus": "false", "tag": []any{"web", int64(2)}},
	} {
		got, errs := s.Conform(resource.Resource{Type: "thing", Title: "t", Parameters: written})
		if len(errs) > 0 {
			t.Error(errs)
		}
		want := resource.Parameters{"size": int64(7), "on": true, "ensure": "running"}
		if diff := cmp.Diff(want, got.Parameters); diff != "" {
			t.Error(diff)
		}
	}
	for written, normal := range map[any]any{"/a": "/a", [1]any{"/a"}: "/a", [2]any{"/a", "/b"}: []any{"/a", "/b"}} {
		switch list := written.(type) {
		case [1]any:
			written = list[:]
		case [2]any:
			written = list[:]
		}
		got, errs := s.Conform(resource.Resource{Type: "thing", Title: "t", Parameters: resource.Parameters{"source": written}})
		if diff := cmp.Diff(resource.Parameters{"source": normal}, got.Parameters); diff != "" || len(errs) > 0 {
			t.Error(errs, diff)
		}
	}
	for _, wrong := range []resource.Parameters{
		{"source": "/b"}, {"source": []any{"/b"}}, {"source": []any{}}, {"source": true}, {"size": "07"}, {"size": ""}, {"on": "yes"}, {"ensure": "false"}, {"hasstatus": "maybe"}, {"tag": nil},
	} {
		if _, errs := s.Conform(resource.Resource{Type: "thing", Title: "t", Parameters: wrong}); len(errs) != 1 {
			t.Errorf("%v: %v", wrong, errs)
		}
	}
}

// The digest is kept in ledgers: it must never change for the same content.
func TestDigestIsStable(t *testing.T) {
	r := resource.Resource{Type: "file", Title: "/etc/mötd", Parameters: resource.Parameters{
		"content": "a<b>&\"\\\n\x00\u2028", "size": int64(-3), "ratio": 0.5, "big": 1e300, "on": true,
		"list": []any{"a", int64(1)}, "map": map[string]any{"z": "1", "a": "2"},
	}}
	// printf '%s'
	// '{"type":"file","title":"/etc/mötd","parameters":{"big":1e+300,"content":"a<b>&\"\\\u000a\u0000<U+2028>",
	// "list":["a",1],"map":{"a":"2","z":"1"},"on":true,"ratio":0.5,"size":-3}}' | sha256sum
	const want = "b3b7116830818ad6990fd60c3067aa7c114b27653dabae2e1ffca94ff964b3d7"
	if got := resource.Digest(r); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDigestEquality(t *testing.T) {
	digest := func(p resource.Parameters) string {
		return resource.Digest(thing.Normalize(resource.Resource{Type: "thing", Title: "t", Parameters: p}))
	}
	for _, tt := range []struct {
		name string
		a, b resource.Parameters
		same bool
	}{
		{"one and a list of one", resource.Parameters{"aliases": "a"}, resource.Parameters{"aliases": []any{"a"}},
			true},
		{"both kinds of number", resource.Parameters{"size": int64(4)}, resource.Parameters{"size": 4.0}, true},
		{"both kinds of number, unknown parameter", resource.Parameters{"x": int64(1 << 60)},
			resource.Parameters{"x": float64(1 << 60)}, true},
		{"negative zero", resource.Parameters{"x": 0.0}, resource.Parameters{"x": math.Copysign(0, -1)}, true},
		{"order of references", resource.Parameters{"before": []any{"a[a]", "b[b]"}},
			resource.Parameters{"before": []any{"B[b]", "a[a]"}}, true},
		{"a reference twice", resource.Parameters{"before": []any{"a[a]", "a[a]"}},
			resource.Parameters{"before": "a[a]"}, true},
		{"none and empty", nil, resource.Parameters{}, true},
		{"order of a list", resource.Parameters{"aliases": []any{"a", "b"}},
			resource.Parameters{"aliases": []any{"b", "a"}}, false},
		{"number and its text", resource.Parameters{"x": int64(1)}, resource.Parameters{"x": "1"}, false},
		{"bytes that are not UTF-8", resource.Parameters{"x": "\xff"}, resource.Parameters{"x": "\xfe"}, false},
		{"a list joined", resource.Parameters{"aliases": []any{"a", "b"}},
			resource.Parameters{"aliases": []any{`a","b`}}, false},
		{"not data", resource.Parameters{"x": math.NaN()}, resource.Parameters{"x": "NaN"}, false},
		{"not data either", resource.Parameters{"x": nil}, resource.Parameters{}, false},
	} {
		if same := digest(tt.a) == digest(tt.b); same != tt.same {
			t.Errorf("%s: same digest: %v, want %v", tt.name, same, tt.same)
		}
	}
	if resource.Digest(resource.Resource{Type: "a", Title: "b"}) == resource.Digest(resource.Resource{Type: "ab"}) {
		t.Error("type and title run into each other")
	}
}

// Equal resources have equal digests in whatever order their maps were filled and whichever kind their numbers have;
// one changed leaf changes the digest.
func TestDigestProperties(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		value := randomMap(r, 3)
		again := rebuilt(r, value).(map[string]any)
		first := resource.Resource{Type: "thing", Title: "t", Parameters: value}
		second := resource.Resource{Type: "thing", Title: "t", Parameters: again}
		if resource.Digest(first) != resource.Digest(second) {
			t.Fatalf("seed %d: %v and %v differ in digest", seed, value, again)
		}
		if resource.Digest(first) != resource.Digest(thing.Normalize(first)) {
			t.Fatalf("seed %d: normalising changed the digest of %v, which has no declared parameter", seed, value)
		}
		again["added"] = "x"
		if resource.Digest(first) == resource.Digest(second) {
			t.Fatalf("seed %d: a parameter more, the same digest", seed)
		}
		thing.Validate(first) // any data: no panic
	}
}

func randomMap(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(6) {
		m["p"+randomString(r)] = randomValue(r, depth)
	}
	return m
}

func randomValue(r *rand.Rand, depth int) any {
	n := 4
	if depth > 0 {
		n = 6
	}
	switch r.IntN(n) {
	case 0:
		return randomString(r)
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.Int64N(1<<53) - 1<<52
	case 3:
		return r.NormFloat64()
	case 4:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	default:
		return randomMap(r, depth-1)
	}
}

func randomString(r *rand.Rand) string {
	const letters = "ab<>&\"\\\n\x00 é\u2028"
	var b strings.Builder
	runes := []rune(letters)
	for range r.IntN(8) {
		b.WriteRune(runes[r.IntN(len(runes))])
	}
	return b.String()
}

// rebuilt returns an equal value that was put together in another order and with other kinds of numbers.
func rebuilt(r *rand.Rand, value any) any {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = rebuilt(r, e)
		}
		return out
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		out := map[string]any{}
		for _, k := range keys {
			out[k] = rebuilt(r, v[k])
		}
		return out
	default:
		return v
	}
}

func TestAccessors(t *testing.T) {
	p := resource.Parameters{
		"s": "x", "b": true, "i": int64(3), "f": 4.0, "l": []any{"a", int64(1)}, "m": map[string]any{"k": "v"},
		"frac": 1.5,
	}
	for _, c := range []struct{ got, want any }{
		{p.Has("s"), true}, {p.Has("none"), false},
		{p.String("s"), "x"}, {p.String("none"), ""}, {p.String("i"), "3"}, {p.String("l"), ""},
		{p.StringOr("none", "d"), "d"},
		{p.Bool("b"), true}, {p.Bool("none"), false}, {p.BoolOr("none", true), true}, {p.BoolOr("s", true), true},
		{p.Int("i"), int64(3)}, {p.Int("f"), int64(4)}, {p.IntOr("none", 9), int64(9)}, {p.IntOr("frac", 9), int64(9)},
		{p.Strings("l"), []string{"a", "1"}}, {p.Strings("s"), []string{"x"}}, {p.Strings("none"), []string(nil)},
		{p.Strings("m"), []string(nil)},
		{p.StringMap("m"), map[string]string{"k": "v"}}, {p.StringMap("s"), map[string]string(nil)},
		{resource.Parameters(nil).String("s"), ""},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSensitive(t *testing.T) {
	for _, tt := range []struct {
		parameters resource.Parameters
		want       bool
	}{{nil, false}, {resource.Parameters{"sensitive": false}, false}, {resource.Parameters{"sensitive": true}, true},
		{resource.Parameters{"sensitive": "no"}, true}} {
		if got := (resource.Resource{Parameters: tt.parameters}).Sensitive(); got != tt.want {
			t.Errorf("%v: %v", tt.parameters, got)
		}
	}
}

func TestParseID(t *testing.T) {
	for s, want := range map[string][2]string{
		"file[/etc/motd]":        {"file", "/etc/motd"},
		"File['/etc/motd']":      {"file", "/etc/motd"},
		`Ini_setting["a [b] c"]`: {"ini_setting", "a [b] c"},
		"a[']":                   {"a", "'"},
		"a[']']":                 {"a", "]"},
		"Ntp::Config[x]":         {"ntp::config", "x"},
	} {
		typ, title, err := resource.ParseID(s)
		if err != nil || typ != want[0] || title != want[1] {
			t.Errorf("%q: %q, %q, %v", s, typ, title, err)
		}
	}
	for _, s := range []string{"", "file", "[x]", "file[]", "file[x", "file x[y]", "file[x] ", " file[x]", "ﬁle[x]"} {
		if typ, title, err := resource.ParseID(s); err == nil {
			t.Errorf("%q: %q, %q, want an error", s, typ, title)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"file[/etc/motd]", "File['a']", "a[", "a[]", "a['']", "a[\"'x'\"]", "[", "]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typ, title, err := resource.ParseID(s)
		if err != nil {
			return
		}
		if typ == "" || title == "" || typ != strings.ToLower(typ) {
			t.Fatalf("%q: type %q, title %q", s, typ, title)
		}
		// Quoting a title is always possible, so every resource can be referred to.
		typ2, title2, err := resource.ParseID(string(resource.MakeID(typ, "'"+title+"'")))
		if err != nil || typ2 != typ || title2 != title {
			t.Fatalf("%q: %q[%q] came back as %q[%q], %v", s, typ, title, typ2, title2, err)
		}
	})
}
