package controller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	// bodyLimit bounds a response from which values are taken, in bytes.
	bodyLimit = 1 << 20
	// spokenLimit bounds what is read of an unexpected response, in bytes.
	spokenLimit = 16 << 10
	// headerLimit bounds the header of a response, in bytes.
	headerLimit = 256 << 10
	// pemLimit bounds a PEM file, in bytes.
	pemLimit     = 4 << 20
	mostRedirect = 10
)

type request struct {
	*Controller
	resource.Parameters
	concealer
	statuses callback.Statuses
	paths    map[string]callback.Path
}

func newRequest(c *Controller, r resource.Resource) (worker, error) {
	statuses, err := callback.ParseStatuses(r.Parameters.Strings("status"))
	if err != nil {
		return nil, err
	}
	texts := r.Parameters.StringMap("values")
	paths := make(map[string]callback.Path, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if paths[name], err = callback.ParsePath(texts[name]); err != nil {
			return nil, err
		}
	}
	return request{c, r.Parameters, conceal(r), statuses, paths}, nil
}

func (r request) try(ctx context.Context, _ io.Writer) (map[string]any, error) {
	client, err := r.client()
	if err != nil {
		return nil, permanent{err}
	}
	defer client.CloseIdleConnections()
	req, err := r.build(ctx)
	if err != nil {
		return nil, permanent{errors.New("the request cannot be made: the method or URL does not fit")}
	}
	name := r.name(req)
	res, err := client.Do(req)
	if err != nil {
		return nil, r.failure(ctx, name, err)
	}
	defer res.Body.Close()
	if !r.statuses.Has(res.StatusCode) {
		said, _ := io.ReadAll(io.LimitReader(res.Body, spokenLimit)) // what cannot be read is not shown
		text := r.text
		if len(said) == spokenLimit {
			text = r.atEnd
		}
		return nil, fmt.Errorf("%s: the status is %s: %s", name, status(res), text(string(said)))
	}
	if len(r.paths) == 0 {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, bodyLimit+1))
	switch {
	case err != nil:
		return nil, r.failure(ctx, name, err)
	case len(body) > bodyLimit:
		return nil, permanent{fmt.Errorf("%s: the response has more than %d bytes", name, bodyLimit)}
	}
	return r.values(name, body)
}

// name returns the request for errors, without the query, which may be secret.
func (r request) name(req *http.Request) string {
	return req.Method + " " + r.shown(fmt.Sprintf("%s://%s%s", req.URL.Scheme, req.URL.Host, req.URL.EscapedPath()))
}

func status(res *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode)))
}

// failure returns the error of a request without a response. It does not repeat the URL, as net/http does.
func (r request) failure(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: ended: %w", name, context.Cause(ctx))
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if r.all {
		return fmt.Errorf("%s: there is no response; %s", name, r.text(""))
	}
	if refused := (redirectError{}); errors.As(err, &refused) {
		return permanent{fmt.Errorf("%s: %w", name, refused)}
	}
	return fmt.Errorf("%s: %s", name, r.text(err.Error()))
}

func (r request) build(ctx context.Context) (*http.Request, error) {
	method := http.MethodGet
	var body io.Reader
	for _, name := range []string{"body", "json"} {
		if r.Has(name) {
			method, body = http.MethodPost, strings.NewReader(r.String(name))
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.StringOr("method", method), r.String("url"), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "slipway")
	if r.Has("json") {
		req.Header.Set("Content-Type", "application/json")
	}
	headers := r.StringMap("headers")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if strings.EqualFold(name, "Host") {
			req.Host = headers[name]
			continue
		}
		req.Header.Set(name, headers[name])
	}
	return req, nil
}

// client returns the client of one try. It keeps no cookies and no connections.
func (r request) client() (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	authorities, err := r.pem("ca")
	if err != nil {
		return nil, err
	}
	if authorities != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, errors.New("ca: holds no certificate in PEM form")
		}
	}
	certificate, err := r.pem("client_certificate")
	if err != nil {
		return nil, err
	}
	key, err := r.pem("client_key")
	if err != nil {
		return nil, err
	}
	if certificate != nil {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("client_certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	guarded := certificate != nil || r.Has("headers") || r.Has("body") || r.Has("json")
	return &http.Client{
		Transport: &http.Transport{Proxy: r.Proxy, TLSClientConfig: config, MaxResponseHeaderBytes: headerLimit,
			ForceAttemptHTTP2: true},
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			next.Header.Del("Referer") // it has the whole earlier address, whose query may be secret
			return checkRedirect(next.URL, before, guarded)
		},
	}, nil
}

// redirectError is the error of a redirect that was refused.
type redirectError struct{ why string }

func (e redirectError) Error() string { return "the redirect is not followed: " + e.why }

// checkRedirect bounds redirects. Guarded requests may carry secrets, so they are not redirected to another host, or
// from https to http.
func checkRedirect(next *url.URL, before []*http.Request, guarded bool) error {
	first := before[0].URL
	switch {
	case len(before) > mostRedirect:
		return redirectError{fmt.Sprintf("there are more than %d", mostRedirect)}
	case next.Scheme != "http" && next.Scheme != "https":
		return redirectError{"it does not lead to http or https"}
	case guarded && !sameHost(first, next):
		return redirectError{fmt.Sprintf("it leads to %s, and headers, body and certificate are for %s only", next.Host,
			first.Host)}
	case before[len(before)-1].URL.Scheme == "https" && next.Scheme == "http":
		return redirectError{"it leads from https to http"}
	}
	return nil
}

// sameHost reports whether both addresses have the same host and port. The change from port 80 of http to 443 of https
// counts as the same.
func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	from, to := port(a), port(b)
	return from == to && a.Scheme == b.Scheme || a.Scheme == "http" && b.Scheme == "https" && from == "80" &&
		to == "443"
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// pem returns PEM text, given directly or as a file; nil if not given.
func (r request) pem(name string) ([]byte, error) {
	if r.Has(name) {
		return []byte(r.String(name)), nil
	}
	file := name + "_file"
	if !r.Has(file) {
		return nil, nil
	}
	f, err := os.Open(r.String(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, pemLimit+1))
	if err == nil && len(data) > pemLimit {
		err = fmt.Errorf("has more than %d bytes", pemLimit)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return data, nil
}

// values returns the requested values of a response. The error names all that are missing.
func (r request) values(name string, body []byte) (map[string]any, error) {
	value, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("%s: the response is not JSON: %w", name, err)
	}
	out := make(map[string]any, len(r.paths))
	var errs []error
	for _, v := range slices.Sorted(maps.Keys(r.paths)) {
		found, err := r.paths[v].Find(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: the response: value %q: %w", name, v, err))
		}
		out[v] = found
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}
