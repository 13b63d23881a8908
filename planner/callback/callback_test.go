package callback

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

type params = resource.Parameters

func TestSchemas(t *testing.T) {
	list := func(v ...any) []any { return v }
	tests := map[string]struct {
		typ        string
		parameters params
		want       []string
	}{
		"command": {Command, params{"argv": list("make", "-j", int64(2)),
			"environment": map[string]any{"A": int64(1)}, "timeout": int64(86400), "output": "json"}, nil},
		"command: one word": {Command, params{"argv": "true"}, nil},
		"command: no argv":  {Command, params{}, []string{"argv: is required by the type command"}},
		"command: empty": {Command, params{"argv": list("")},
			[]string{"argv: must begin with the name or path of a program"}},
		"command: NUL": {Command, params{"argv": list("a", "b\x00")},
			[]string{"argv: an argument contains a NUL byte"}},
		"command: variables": {Command, params{"argv": "a", "inherit": "A=B"},
			[]string{`inherit: "A=B" is not the name of an environment variable`}},
		"command: bounds": {
			Command, params{"argv": "a", "timeout": int64(86401), "retries": int64(-1), "interval": int64(3601),
				"cwd": "here", "outptu": "json"},
			[]string{
				`cwd: "here" is not an absolute path`, "interval: 3601 is not from 0 to 3600", `outptu: the type command has no such parameter; did you mean "output"?`,
				"retries: -1 is not from 0 to 1000", "timeout: 86401 is not from 1 to 86400",
			},
		},
		"http": {HTTP, params{"url": "https://h/p?q", "status": list(int64(200), "3xx", "400-404"),
			"values": map[string]any{"id": "a.b[0]"}}, nil},
		"http: other URLs": {HTTP, params{"url": "file:///etc/passwd"},
			[]string{"url: must begin with http:// or https:// and a host"}},
		"http: a user": {HTTP, params{"url": "https://u:secret@h/"},
			[]string{"url: holds a user; put it into the header Authorization"}},
		"http: twice": {
			HTTP, params{"url": "http://h", "body": "12345", "json": "{\"a\": 1}", "ca": "12345", "ca_file": "/x",
				"client_key": "12345"},
			[]string{"ca_file: excludes ca; keep one",
				"client_key: is of no use without client_certificate or client_certificate_file", "json: excludes body; keep one"},
		},
		"http: a certificate alone": {HTTP, params{"url": "http://h", "client_certificate_file": "/c"},
			[]string{"client_certificate: needs its key; give client_key or client_key_file"}},
		"http: forms": {
			HTTP, params{"url": "http://h", "method": "get", "status": "abc", "values": map[string]any{"a": "b..c"}},
			[]string{
				`method: "get" is not a method such as GET, POST, PUT, PATCH or DELETE`, `status: "abc" is not a status such as 200, 2xx or 200-204`,
				`values: a: "b..c" is not a path such as data.items[0].id: a key is missing or needs quotes and brackets at position 2`,
			},
		},
		"function": {Function, params{"function": "wait_tcp",
			"arguments": map[string]any{"host": "h", "port": int64(22)}}, nil},
		"function: which": {Function, params{"function": "wait_tpc"},
			[]string{
				`function: "wait_tpc" is not allowed; must be one of wait_tcp, wait_http, sleep, resolve_dns (did you mean "wait_tcp"?)`}},
		"function: arguments": {Function, params{"function": "wait_tcp",
			"arguments": map[string]any{"hots": "h", "port": "0"}}, []string{
			"arguments.host: is required by the function wait_tcp", `arguments.hots: the function wait_tcp has no such argument; did you mean "host"?`, `arguments.port: "0" is not a whole number from 1 to 65535`}},
		"function: a long time": {Function, params{"function": "sleep",
			"arguments": map[string]any{"seconds": int64(300)}}, []string{
			"arguments.seconds: is not less than the timeout of 300 seconds; raise timeout"}},
		"function: longer": {Function, params{"function": "sleep", "timeout": int64(301),
			"arguments": map[string]any{"seconds": int64(300)}}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range Schemas()[tt.typ].Validate(resource.Resource{Type: tt.typ, Title: "t",
				Parameters: tt.parameters}) {
				got = append(got, e.Error())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSecretsStayHidden: no error in a sensitive parameter shows its value.
func TestSecretsStayHidden(t *testing.T) {
	const secret = "hunter2hunter2"
	for typ, schema := range Schemas() {
		for _, p := range schema.Parameters {
			if !p.Sensitive {
				continue
			}
			for _, value := range []any{secret + "\x00", []any{secret}, map[string]any{secret: secret},
				map[string]any{"A": secret + "\x00\n"}} {
				for _, e := range schema.Validate(resource.Resource{Type: typ, Title: "t",
					Parameters: params{p.Name: value}}) {
					if m, isMap := value.(map[string]any); strings.Contains(e.Error(), secret) &&
						(!isMap || m[secret] == nil) {
						t.Errorf("%s: %v", typ, e)
					}
				}
			}
		}
	}
}

func TestStatuses(t *testing.T) {
	for text, want := range map[string]string{"": "200 204 299", "404": "404", "2xx": "200 204 299",
		"204-404": "204 299 302 404", "5XX": "500"} {
		var texts []string
		if text != "" {
			texts = []string{text}
		}
		s, err := ParseStatuses(texts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, status := range []int{200, 204, 299, 302, 404, 500} {
			if s.Has(status) {
				got = append(got, strconv.Itoa(status))
			}
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
	for _, text := range []string{"", "99", "600", "0xx", "6xx", "xx", "20", "300-200", "200-", "-200", "+20", "2xxx"} {
		if _, err := ParseStatuses([]string{text}); err == nil {
			t.Errorf("%q is taken for a status", text)
		}
	}
}

func TestPath(t *testing.T) {
	value := map[string]any{"a": map[string]any{"b": []any{int64(1), "two"}, "c.d": true, "n": nil}}
	for text, want := range map[string]any{"a.b[1]": "two", `a["c.d"]`: true, "a.b": []any{int64(1), "two"}, "[1]": nil,
		"a.b[2]": nil, "a.b.c": nil, "a.n": nil, "a.b[0].x": nil, "a[0]": nil, "z": nil} {
		p, err := ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Find(value)
		if d := cmp.Diff(want, got); d != "" && (want != nil || err == nil) {
			t.Errorf("%s: %s", text, d)
		}
		if (err != nil) != (want == nil) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", ".a", "a.", "a..b", "a[", "a[-1]", "a[x]", `a["x]`, `a["x"`, "a]b", "a[1]b",
		"a[99999999]", strings.Repeat("a", 1025)} {
		if p, err := ParsePath(text); err == nil {
			t.Errorf("%q is taken for a path: %v", text, p)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"a.b[0]", `a["b.c"].d`, "[1][2]", "a..b", `["\u00e9"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePath(s)
		if err != nil {
			return
		}
		if len(p.steps) == 0 {
			t.Error("a path without steps")
		}
		_, _ = p.Find(map[string]any{"a": []any{"b"}}) // it must not panic
	})
}

func FuzzParseStatuses(f *testing.F) {
	for _, s := range []string{"200", "2xx", "200-204", "9xx", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		statuses, err := ParseStatuses([]string{s})
		if err != nil {
			return
		}
		for _, r := range statuses {
			if r.from < 100 || r.to > 599 || r.from > r.to {
				t.Errorf("%q gives %v", s, r)
			}
		}
	})
}
