// Package server serves what journals have over HTTP: sites, runs and services, as pages for people and as JSON. All of
// it reads only, but that people with a token of their own decide about active runs. [New] returns the handler, [Serve]
// serves it until its context ends.
package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Bounds of what clients may ask for.
const (
	atOnce        = 64               // requests at work
	streams       = 32               // event streams among them
	headerBytes   = 16 << 10         // of a request
	headerTime    = 10 * time.Second // to send them
	answerTime    = time.Minute      // to take an answer, but for an event stream
	wrongTokens   = 10               // per second; further ones wait for the next
	shutdownLimit = 5 * time.Second
)

// Options say how the server answers.
type Options struct {
	Journals journal.Location
	// Token must be in each request but that for the health, as `Authorization: Bearer TOKEN`. Without one, requests are
	// answered only when they name a loopback address, so that no web page can read the answers through another name.
	Token string
	// People may decide about runs, and read; without them nobody decides.
	People []Person
	// Poll is how often an event stream looks for new events.
	Poll time.Duration
}

type server struct {
	Options
	slots, streaming chan struct{}
	wrong, decisions limiter // of wrong tokens, and of decisions
}

// limiter counts what happens in a second.
type limiter struct {
	mu     sync.Mutex
	second time.Time // its start
	n      int
}

// another counts one more, and reports whether there were at most limit in this second.
func (l *limiter) another(now time.Time, limit int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.second) >= time.Second {
		l.second, l.n = now, 0
	}
	l.n++
	return l.n <= limit
}

// New returns the handler of all addresses.
func New(o Options) http.Handler {
	s := &server{Options: o, slots: make(chan struct{}, atOnce), streaming: make(chan struct{}, streams)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /assets/page.css", asset("page.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /assets/page.js", asset("page.js", "text/javascript; charset=utf-8"))
	for _, r := range append(s.routes(), s.pages()...) {
		mux.Handle("GET "+r.path, s.guarded(r))
	}
	for _, action := range actions {
		mux.Handle("POST "+decisionPath+action, s.limited(s.decide(action)))
	}
	return secured(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, pattern := mux.Handler(r); pattern == "" {
			s.guarded(unknown(r, answer)).ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// unknown answers an address that there is not, or a method that it does not have, as answer does, but in the form of
// other errors: as JSON where programs ask, as a page elsewhere.
func unknown(r *http.Request, answer http.Handler) route {
	program := strings.HasPrefix(r.URL.Path+"/", "/v1/") || strings.HasPrefix(r.URL.Path+"/", "/lsm/")
	return route{page: !program, refuse: func(w http.ResponseWriter) error {
		status := statusOnly{w, http.StatusNotFound}
		answer.ServeHTTP(&status, r)
		err := &statusError{status.code, fmt.Sprintf("there is no address %q", r.URL.Path)}
		if allowed := w.Header().Get("Allow"); allowed != "" {
			err.message = fmt.Sprintf("%s is no method of %q; it has %s", r.Method, r.URL.Path, allowed)
		} else if program {
			err.message += "; /v1/openapi.json lists all"
		}
		return err
	}}
}

// statusOnly keeps the status of an answer, and the headers, but no body.
type statusOnly struct {
	http.ResponseWriter
	code int
}

func (s *statusOnly) WriteHeader(code int)        { s.code = code }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

// decisionPath is the address of decisions about a run, up to their name.
const decisionPath = "/v1/runs/{id}/"

// Serve serves on a listener until the context ends, and then lets requests end.
func Serve(ctx context.Context, l net.Listener, o Options) error {
	h := &http.Server{Handler: New(o), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, MaxHeaderBytes: headerBytes,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
		defer cancel()
		_ = h.Shutdown(grace) // what is left after the grace period is cut with the process
	})
	defer stopped()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// CheckAddress refuses an address that others can reach when there is no token.
func CheckAddress(listen, token string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%q is not an address to listen on (%w); give one such as 127.0.0.1:8642", listen, err)
	}
	if token == "" && !isLoopback(host) {
		return fmt.Errorf("%q can be reached from other machines, and there is no token; give a loopback address such as 127.0.0.1, or a token", listen)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// secured adds the headers that keep a browser from doing more with an answer than showing it.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
			"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// limited answers what is not too much at once.
func (s *server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			fail(w, &statusError{http.StatusTooManyRequests, "too many requests are at work; ask again later"})
		}
	})
}

// guarded answers a route for those who may ask, within the bounds.
func (s *server) guarded(to route) http.Handler {
	return s.limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail := fail
		if to.page {
			fail = failPage
		}
		if err := s.admit(r); err != nil {
			fail(w, err)
			return
		}
		if to.refuse != nil {
			fail(w, to.refuse(w))
			return
		}
		q, err := to.query(r)
		if err != nil {
			fail(w, err)
			return
		}
		if to.live != nil || to.events && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			s.stream(w, r, to, q)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // not of every writer
		answer, err := to.answer(r.Context(), q)
		if err != nil {
			fail(w, err)
			return
		}
		if p, ok := answer.(page); ok {
			p.write(w, http.StatusOK)
			return
		}
		write(w, http.StatusOK, answer)
	}))
}

// admit reports why a request is not answered.
func (s *server) admit(r *http.Request) error {
	if s.Token == "" {
		return loopbackOnly(r)
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok { // a browser asks its user for a name and a password
		_, given, ok = r.BasicAuth()
	}
	if ok && (s.isToken(given) || s.personOf(given) != "") {
		return nil
	}
	return s.wrongToken()
}

// loopbackOnly refuses a request that names another host than a loopback address: a page of another server may have
// given its name the address of this machine.
func loopbackOnly(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	if !isLoopback(host) {
		return &statusError{http.StatusForbidden, fmt.Sprintf("the request names the host %q; without a token only loopback addresses are answered", host)}
	}
	return nil
}

// isToken reports whether a text is the token that reads, in a time that says nothing about it.
func (s *server) isToken(given string) bool {
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// wrongToken refuses a request, and counts it.
func (s *server) wrongToken() error {
	if !s.wrong.another(time.Now(), wrongTokens) {
		return &statusError{http.StatusTooManyRequests, "too many requests with a wrong token"}
	}
	return &statusError{http.StatusUnauthorized, "the header Authorization: Bearer TOKEN is missing or has the wrong token"}
}

// statusError is an error with the HTTP status that it gives.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }

func notFound(format string, args ...any) error {
	return &statusError{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	write(w, status, map[string]any{"error": map[string]string{"message": err.Error()}})
}

// failPage shows an error to people; a browser asks for the token as for a password.
func failPage(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="slipway: any name, and the token as password"`)
	}
	page{"error", http.StatusText(status), err.Error()}.write(w, status)
}

func statusOf(err error) int {
	if known := (*statusError)(nil); errors.As(err, &known) {
		return known.status
	}
	return http.StatusInternalServerError
}

func write(w http.ResponseWriter, status int, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(resource.VisibleJSON(body), '\n')) // a client that went away is no error of the server
}

// open opens the journals of a site, or of all sites when it is empty, until visit returns true.
func (s *server) open(ctx context.Context, site string,
	visit func(site string, store *journal.Store) (bool, error)) error {
	sites, err := s.Journals.Sites(ctx)
	if err != nil && !errors.Is(err, journal.ErrNoJournal) { // the directory is made by the first run
		return err
	}
	if site != "" {
		if !slices.Contains(sites, site) {
			return notFound("there is no journal of a site %q", site)
		}
		sites = []string{site}
	}
	for _, site := range sites {
		store, err := s.Journals.OpenExisting(ctx, site)
		if errors.Is(err, journal.ErrNoJournal) { // its first run is about to begin
			continue
		}
		if err != nil {
			return err
		}
		done, err := visit(site, store)
		if err := errors.Join(err, store.Close()); err != nil || done {
			return err
		}
	}
	return nil
}
