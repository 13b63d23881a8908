package controller

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

type params = resource.Parameters

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stepped is a clock that never waits. It tells what it was asked for, and each is called before it returns.
type stepped struct {
	waits []time.Duration
	each  func()
}

func (s *stepped) Sleep(ctx context.Context, d time.Duration) error {
	s.waits = append(s.waits, d)
	if s.each != nil {
		s.each()
	}
	return context.Cause(ctx)
}

func of(typ string, p params) task.Task {
	return task.Task{Kind: task.Callback, Resource: resource.Resource{Type: typ, Title: "t", Parameters: p}}
}

// wantError fails the test unless err has all of the parts, and none of those that begin with a `!`.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, part := range parts {
		part, not := strings.CutPrefix(part, "!")
		if strings.Contains(err.Error(), part) == not {
			t.Errorf("the error is %q; %q: wanted %t", err, part, !not)
		}
	}
}

// TestTablesAgree: what planner/callback declares is what this package does.
func TestTablesAgree(t *testing.T) {
	for name := range callback.Schemas() {
		if workers[name] == nil {
			t.Errorf("nothing does %s", name)
		}
	}
	parameters := callback.Schemas()[callback.Function].Parameters
	declared := parameters[slices.IndexFunc(parameters,
		func(p resource.Parameter) bool { return p.Name == "function" })].Values
	if len(workers) != len(callback.Schemas()) || len(builtins) != len(declared) {
		t.Error("something is done that is not declared")
	}
	for _, name := range declared {
		if builtins[name].ask == nil {
			t.Errorf("nothing does %s", name)
		}
	}
}

func TestCallRefuses(t *testing.T) {
	c := New(Options{})
	for name, tt := range map[string]task.Task{
		"a config task":   {Resource: resource.Resource{Type: callback.Command, Title: "t"}},
		"another type":    of("file", params{}),
		"late values":     of(callback.Command, params{"argv": []any{}}),
		"unknown keys":    of(callback.HTTP, params{"url": "http://h", "insecure": true}),
		"another context": of(callback.Function, params{"function": "sleep"}),
	} {
		if _, err := c.Call(t.Context(), io.Discard, tt); err == nil {
			t.Errorf("%s is let pass", name)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the run ends")
	cancel(cause)
	if _, err := c.Call(ctx, io.Discard, of(callback.Function, params{"function": "sleep",
		"arguments": map[string]any{"seconds": "0"}})); !errors.Is(err, cause) {
		t.Errorf("a callback is started after its context ended: %v", err)
	}
}

func TestSleep(t *testing.T) {
	clock := &stepped{}
	values, err := New(Options{Clock: clock}).Call(t.Context(), io.Discard,
		of(callback.Function, params{"function": "sleep", "arguments": map[string]any{"seconds": int64(90)}}))
	if err != nil || values != nil {
		t.Fatal(values, err)
	}
	if d := cmp.Diff([]time.Duration{90 * time.Second}, clock.waits); d != "" {
		t.Error(d)
	}
}

func TestMachineClock(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := (machineClock{}).Sleep(ctx, 0); err != nil {
		t.Error(err)
	}
	cause := errors.New("enough")
	cancel(cause)
	if err := (machineClock{}).Sleep(ctx, time.Hour); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestWaitTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	host, port, _ := net.SplitHostPort(address)
	listener.Close()
	clock := &stepped{}
	clock.each = func() {
		if len(clock.waits) == 3 {
			if listener, err = net.Listen("tcp", address); err != nil {
				t.Error(err)
			}
		}
	}
	call := of(callback.Function, params{"function": "wait_tcp", "interval": int64(7),
		"arguments": map[string]any{"host": host, "port": port}})
	if _, err := New(Options{Clock: clock}).Call(t.Context(), io.Discard, call); err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if d := cmp.Diff([]time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second}, clock.waits); d != "" {
		t.Error(d)
	}

	call.Resource.Parameters["timeout"] = int64(1)
	_, err = New(Options{}).Call(t.Context(), io.Discard, call)
	wantError(t, err, "wait_tcp: ran into its timeout of 1s", "connection refused")
}

func TestResolveDNS(t *testing.T) {
	asked := 0
	c := New(Options{Clock: &stepped{}, Resolver: resolver(func(host string) ([]string, error) {
		if asked++; asked < 3 {
			return nil, errors.New("no such host")
		}
		return []string{"10.0.0.2", "10.0.0.1", "10.0.0.2"}, nil
	})})
	values, err := c.Call(t.Context(), io.Discard, of(callback.Function,
		params{"function": "resolve_dns", "arguments": map[string]any{"name": "db.example"}}))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"address": "10.0.0.1", "addresses": []any{"10.0.0.1", "10.0.0.2"}},
		values); d != "" {
		t.Error(d)
	}
}

type resolver func(string) ([]string, error)

func (r resolver) LookupHost(_ context.Context, host string) ([]string, error) { return r(host) }

func TestConceal(t *testing.T) {
	c := conceal(resource.Resource{Type: callback.Command, Parameters: params{
		"environment": map[string]any{"TOKEN": "abcdef", "LONGER": "abcdef12", "FLAG": "on", "AUTH": "Bearer tok-en"},
		"stdin":       "first line\nsecond line\n",
	}})
	for said, want := range map[string]string{
		"x abcdef12 y abcdef":           "x (sensitive) y (sensitive)",
		"bad token: tok-en":             "bad token: (sensitive)",
		"turn it on":                    "turn it on",
		"read second line":              "read (sensitive)",
		"  a\r\n\n\x1b[31mb\x1b[0m\t\n": "a; [31mb[0m",
		"\xff":                          "?",
		"":                              "it said nothing",
	} {
		if d := cmp.Diff(want, c.text(said)); d != "" {
			t.Errorf("%q: %s", said, d)
		}
	}
	if got := c.text(strings.Repeat("é", shownLimit)); len(got) > shownLimit+3 || !strings.HasPrefix(got, "...é") {
		t.Errorf("%d bytes are shown, %.10q", len(got), got)
	}
}

func TestOutput(t *testing.T) {
	h, l := &head{limit: 10}, &tail{limit: 10}
	var all strings.Builder
	for i := range 100 {
		for _, w := range []interface{ Write([]byte) (int, error) }{h, l, &all} {
			if n, err := w.Write([]byte(strconv.Itoa(i) + " ")); err != nil || n == 0 {
				t.Fatal(n, err)
			}
		}
		if s := all.String(); l.String() != s[max(0, len(s)-10):] || string(h.kept) != s[:min(10, len(s))] ||
			h.cut != (len(s) > 10) {
			t.Fatalf("of %q the head is %q, the tail %q", s, h.kept, l)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x",true,{"b":null}]}`, `1e999`, `[null]`, `{} {}`,
		strings.Repeat("[", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		value, err := decode([]byte(s))
		if err == nil {
			onlyPlain(t, value)
		}
	})
}

func onlyPlain(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case string, bool, int64, float64:
	case []any:
		for _, e := range v {
			onlyPlain(t, e)
			if e == nil {
				t.Error("an item is null")
			}
		}
	case map[string]any:
		for _, e := range v {
			onlyPlain(t, e)
			if e == nil {
				t.Error("a member is null")
			}
		}
	case nil:
	default:
		t.Errorf("%T is no value", v)
	}
}

// TestWhatCallbacksSayActsOnNoTerminal: programs, servers and the addresses to which they lead say what they like. What they return goes into the
// state, the journal and other templates, and what is wrong with it into errors.
func TestWhatCallbacksSayActsOnNoTerminal(t *testing.T) {
	base := serve(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, _ *http.Request) {
			answer(t, w, `{"a": "\u001b]0;owned\u0007", "b": [{"\u202ek": "\u009bv"}]}`)
		},
		"/moved": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://%C2%9B2J%E2%80%AEowned/")
			w.WriteHeader(http.StatusFound)
		},
		"/port": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://[fe80::1%25%1bowned]/")
			w.WriteHeader(http.StatusFound)
		},
	})
	for name, c := range map[string]struct {
		typ        string
		parameters params
		want       map[string]any // nothing: it fails
	}{
		"text": {callback.Command, sh(`printf '\033]0;owned\007a\tb\r\nc\n'`, nil), map[string]any{"stdout": "]0;owneda\tb\nc"}},
		"members of JSON": {callback.Command, sh(`printf '{"\\u001bk": {"\\u202ek": ["\\u009bv", 1, true]}}'`, params{"output": "json"}),
			map[string]any{"k": map[string]any{"k": []any{"v", int64(1), true}}}},
		"members that become one": {callback.Command, sh(`printf '{"k": 1, "k\\u200b": 2, "\\u0007k": 3}'`, params{"output": "json"}), map[string]any{"k": int64(1)}},
		"a response": {callback.HTTP, params{"url": base, "values": map[string]any{"v": "a", "w": "b"}},
			map[string]any{"v": "]0;owned", "w": []any{map[string]any{"k": "v"}}}},
		"an address":             {callback.Function, params{"function": "resolve_dns", "arguments": map[string]any{"name": "h"}}, map[string]any{"address": "owned", "addresses": []any{"owned"}}},
		"an error of a program":  {callback.Command, sh(`printf '\033]0;owned\007' >&2; exit 1`, nil), nil},
		"a redirect":             {callback.HTTP, params{"url": base + "/moved", "body": "x"}, nil},
		"a redirect with a zone": {callback.HTTP, params{"url": base + "/port", "body": "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			lookup := resolver(func(string) ([]string, error) { return []string{"\x1bowned\u202e"}, nil })
			got, err := New(Options{Proxy: noProxy, Resolver: lookup, Clock: &stepped{}}).Call(t.Context(), io.Discard, of(c.typ, c.parameters))
			if c.want != nil {
				if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
					t.Errorf("%v\n%s", err, diff)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "owned") || strings.ContainsFunc(err.Error(), func(r rune) bool {
				return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
			}) {
				t.Errorf("the error is %q, and should say what is wrong", err)
			}
		})
	}
}
