package controller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
)

// noProxy keeps the requests of tests on this machine.
func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

func serve(t *testing.T, routes map[string]http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	for path, handler := range routes {
		mux.HandleFunc(path, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// answer writes the body of a response that the client reads to its end.
func answer(t *testing.T, w io.Writer, body string) {
	if _, err := io.WriteString(w, body); err != nil {
		t.Error(err)
	}
}

func TestRequest(t *testing.T) {
	type seen struct{ Method, Path, Query, Body, Type, Token, Host string }
	var got seen
	tries := 0
	base := serve(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = seen{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header.Get("Content-Type"),
				r.Header.Get("X-Token"), r.Host}
			answer(t, w, `{"data": {"items": [{"id": 7}], "a.b": "c", "none": null}}`)
		},
		"/created": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) },
		"/moved": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		},
		"/late": func(w http.ResponseWriter, _ *http.Request) {
			if tries++; tries < 4 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
	})
	host := strings.TrimPrefix(base, "http://")
	tests := map[string]struct {
		parameters params
		want       seen
		values     map[string]any
	}{
		"get": {params{"url": base + "/x?y=z"}, seen{Method: "GET", Path: "/x", Query: "y=z", Host: host}, nil},
		"json": {params{"url": base + "/x", "json": `{"a":1}`},
			seen{Method: "POST", Path: "/x", Body: `{"a":1}`, Type: "application/json", Host: host}, nil},
		"body": {params{"url": base, "body": "b", "method": "PUT",
			"headers": map[string]any{"content-type": "text/plain", "X-Token": "t",
				"host": "other"}}, seen{
			Method: "PUT", Path: "/", Body: "b", Type: "text/plain", Token: "t", Host: "other"}, nil},
		"values": {params{"url": base, "values": map[string]any{"id": "data.items[0].id", "ab": `data["a.b"]`}},
			seen{Method: "GET", Path: "/", Host: host}, map[string]any{"id": int64(7), "ab": "c"}},
		"created": {params{"url": base + "/created", "status": []any{int64(200), int64(201)}}, seen{}, nil},
		"moved": {params{"url": base + "/moved", "body": "b", "headers": map[string]any{"X-Token": "t"}},
			seen{Method: "POST", Path: "/there", Body: "b", Token: "t", Host: host}, nil},
		"late": {params{"url": base + "/late", "retries": int64(3)}, seen{}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got = seen{}
			values, err := New(Options{Clock: &stepped{}, Proxy: noProxy}).Call(t.Context(), io.Discard,
				of(callback.HTTP, tt.parameters))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.values, values); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRequestFails(t *testing.T) {
	elsewhere := serve(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) {}})
	base := serve(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			answer(t, w, "the token "+r.Header.Get("X-Token")+" is not valid\n")
		},
		"/json": func(w http.ResponseWriter, _ *http.Request) { answer(t, w, `{"a": null, "b": [1]}`) },
		"/html": func(w http.ResponseWriter, _ *http.Request) { answer(t, w, "<html>") },
		"/much": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat(" ", 1<<20)+"{}") // the client stops reading
		},
		"/away": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) },
		"/loop": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) },
		"/file": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
		"/hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	})
	tests := map[string]struct {
		parameters params
		want       []string
	}{
		"status": {params{"url": base + "/?key=secretsecret", "headers": map[string]any{"X-Token": "t0p5ecret"}},
			[]string{"http: GET " + base + "/: the status is 403 Forbidden: the token (sensitive) is not valid",
				"!secretsecret", "!t0p5ecret"}},
		"sensitive": {params{"url": base + "/path", "sensitive": true},
			[]string{"403 Forbidden", "!the token", "!/path", "!127.0.0.1"}},
		"values": {params{"url": base + "/json", "values": map[string]any{"x": "a", "y": "b[1]", "z": "b[0]"}},
			[]string{`value "x": there is no a`, `value "y": there is no b[1]`, `!"z"`}},
		"no JSON": {params{"url": base + "/html", "values": map[string]any{"x": "a"}},
			[]string{"the response is not JSON"}},
		"too much": {params{"url": base + "/much", "values": map[string]any{"x": "a"}, "retries": int64(3)},
			[]string{"the response has more than 1048576 bytes", "!tries"}},
		"another host": {
			params{"url": base + "/away", "headers": map[string]any{"X-Token": "t0p5ecret"}, "retries": int64(3)},
			[]string{"the redirect is not followed: it leads to " + strings.TrimPrefix(elsewhere, "http://"), "!tries"},
		},
		"loop": {params{"url": base + "/loop"}, []string{"there are more than 10"}},
		"file": {params{"url": base + "/file"}, []string{"does not lead to http or https"}},
		"timeout": {params{"url": base + "/hangs", "timeout": int64(1)},
			[]string{"ended: ran into its timeout of 1s"}},
		"refused": {params{"url": "http://127.0.0.1:1/?key=secretsecret", "retries": int64(2)},
			[]string{"connection refused", "the last of 3 tries", "!secretsecret"}},
		"ca":      {params{"url": base, "ca": "hello"}, []string{"ca: holds no certificate"}},
		"ca file": {params{"url": base, "ca_file": "/no/such/file"}, []string{"ca_file: open /no/such/file"}},
		"client key": {params{"url": base, "client_certificate": "hello", "client_key": "t0p5ecret"},
			[]string{"client_certificate: ", "!t0p5ecret"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(Options{Clock: &stepped{}, Proxy: noProxy}).Call(t.Context(), io.Discard,
				of(callback.HTTP, tt.parameters))
			wantError(t, err, tt.want...)
		})
	}
	if _, err := New(Options{Proxy: noProxy}).Call(t.Context(), io.Discard,
		of(callback.HTTP, params{"url": base + "/away"})); err != nil {
		t.Errorf("a request without secrets is not redirected: %v", err)
	}
}

// TestRedirectTellsNoAddress: the query of an address may be secret, and another host is not told it.
func TestRedirectTellsNoAddress(t *testing.T) {
	referer := "no request"
	elsewhere := serve(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter,
		r *http.Request) {
		referer = r.Referer()
	}})
	base := serve(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusFound)
	}})
	if _, err := New(Options{Proxy: noProxy}).Call(t.Context(), io.Discard,
		of(callback.HTTP, params{"url": base + "/?key=t0p5ecret"})); err != nil || referer != "" {
		t.Errorf("%v, the other host was told %q", err, referer)
	}
}

func TestRequestIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the run was interrupted")
	base := serve(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
		cancel(cause)
		<-r.Context().Done()
	}})
	_, err := New(Options{Proxy: noProxy}).Call(ctx, io.Discard, of(callback.HTTP, params{"url": base, "retries": int64(1000)}))
	if !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// TestRequestTLS: the server is checked against the authorities given, and sees the client's certificate.
func TestRequestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	pair := server.TLS.Certificates[0]
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	dir := t.TempDir()
	for name, data := range map[string][]byte{"ca": certificate, "crt": certificate, "key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := New(Options{Proxy: noProxy})
	for name, tt := range map[string]struct {
		parameters params
		want       string
	}{
		"unknown authority": {params{}, "certificate signed by unknown authority"},
		"no certificate":    {params{"ca": string(certificate)}, "401 Unauthorized"},
		"texts": {params{"ca": string(certificate), "client_certificate": string(certificate),
			"client_key": string(key)}, ""},
		"files": {params{"ca_file": dir + "/ca", "client_certificate_file": dir + "/crt",
			"client_key_file": dir + "/key"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.parameters["url"] = server.URL
			_, err := c.Call(t.Context(), io.Discard, of(callback.HTTP, tt.parameters))
			if tt.want == "" && err != nil {
				t.Fatal(err)
			}
			if tt.want != "" {
				wantError(t, err, tt.want)
			}
		})
	}
}

func TestCheckRedirect(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		guarded  bool
		followed bool
	}{
		{"http://a/", "http://a:80/x", true, true},
		{"http://a/", "https://A/", true, true},
		{"http://a:8080/", "https://a/", true, false},
		{"http://a/", "http://a:8080/", true, false},
		{"http://a/", "http://b/", true, false},
		{"http://a/", "http://sub.a/", true, false},
		{"http://a/", "http://b/", false, true},
		{"https://a/", "http://a/", false, false},
		{"https://a/", "http://a/", true, false},
	} {
		from, _ := url.Parse(tt.from)
		to, _ := url.Parse(tt.to)
		if err := checkRedirect(to, []*http.Request{{URL: from}}, tt.guarded); (err == nil) != tt.followed {
			t.Errorf("%s to %s, guarded %t: %v", tt.from, tt.to, tt.guarded, err)
		}
	}
}

func TestWaitHTTP(t *testing.T) {
	asked := 0
	base := serve(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}})
	clock := &stepped{}
	call := of(callback.Function, params{"function": "wait_http",
		"arguments": map[string]any{"url": base, "status": int64(204)}})
	if _, err := New(Options{Clock: clock, Proxy: noProxy}).Call(t.Context(), io.Discard, call); err != nil {
		t.Fatal(err)
	}
	if asked != 3 || len(clock.waits) != 2 {
		t.Errorf("asked %d times, with %v between", asked, clock.waits)
	}
}
