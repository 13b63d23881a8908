package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

const hostile = "<script>alert(1)</script>\u202e\x1b[31m"

// twoSites returns the journals of two sites: a run that ended, with a service, and one that is at work.
func twoSites(t *testing.T) (journal.Location, *journal.Writer) {
	t.Helper()
	f := journal.Location{Path: t.TempDir()}
	var writers []*journal.Writer
	for i, site := range []string{"lon1", "par1"} {
		s, err := f.Open(t.Context(), site)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		w, err := s.Start(t.Context(), journal.Run{ID: fmt.Sprintf("run-%d", i+1), Site: site, Operation: "create", Digest: "d",
			Started: time.Date(2026, 11, 1+i, 10, 0, 0, 0, time.UTC), Steps: []string{"1. " + hostile}})
		if err != nil {
			t.Fatal(err)
		}
		task := func(kind journal.Kind, node, status string) journal.Event {
			return journal.Event{Kind: kind, Group: "web", Phase: 1, Node: node, Resource: "file[/etc/motd]", Services: []string{"motd"},
				Action: "create", Status: status, Message: hostile, Millis: 20}
		}
		err = w.Record(t.Context(), task(journal.TaskStarted, "n1", ""), task(journal.TaskFinished, "n1", "changed"),
			task(journal.TaskStarted, "n2", ""), task(journal.TaskFinished, "n2", "failed"),
			journal.Event{Kind: journal.NodeFinished, Group: "web", Node: "n2", Status: "FAILED", Message: "no"})
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	err := writers[0].RecordServices(t.Context(), []services.Revision{
		{Service: "shop", ID: "5a1e", Entity: "vhost", EntityVersion: 1, Identity: "shop.example", Lifecycle: "simple",
			State: "up", Version: 1, DesiredVersion: 1, TransferContext: "auto", Active: map[string]any{"port": int64(80)}},
	}, []journal.ServiceEvent{{Service: "shop", Type: "CREATE_TRANSITION", Destination: "up", DesiredVersion: 1, Severity: 20}})
	if err != nil {
		t.Fatal(err)
	}
	if err := writers[0].Finish(t.Context(), "failed", "site lon1: failed"); err != nil {
		t.Fatal(err)
	}
	return f, writers[1]
}

// ask returns the status, the header and the body of an answer.
func ask(t *testing.T, h http.Handler, path string, header ...string) (int, http.Header, map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8642"+path, nil)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body map[string]any
	if w.Header().Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%s: %v in %s", path, err, w.Body)
		}
	}
	if strings.Contains(w.Body.String(), "<script") || strings.ContainsAny(w.Body.String(), "\x1b") {
		t.Errorf("%s answers with what a browser or a terminal may run: %q", path, w.Body)
	}
	return w.Code, w.Header(), body
}

type responses map[string]struct {
	Content map[string]struct{ Schema map[string]any }
}

// openAPIDocument is an OpenAPI document.
type openAPIDocument struct {
	Paths map[string]struct {
		Get struct {
			Parameters []struct{ Name, In string }
			Responses  responses
		}
		Post *struct {
			Responses responses
			Security  []map[string]any
		}
	}
	Components struct{ Schemas map[string]map[string]any }
}

// check reports what of a value a schema does not have, or has and the value lacks.
func (d *openAPIDocument) check(t *testing.T, at string, schema map[string]any, v any) {
	t.Helper()
	if name, ok := schema["$ref"].(string); ok {
		schema = d.Components.Schemas[strings.TrimPrefix(name, "#/components/schemas/")]
	}
	if choice, ok := schema["oneOf"].([]any); ok && v != nil {
		first, _ := choice[0].(map[string]any)
		d.check(t, at, first, v)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		properties, described := schema["properties"].(map[string]any)
		if !described {
			return
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				t.Errorf("%s: %s is missing", at, name)
			}
		}
		for name, value := range v {
			property, ok := properties[name].(map[string]any)
			if !ok && len(properties) > 0 {
				t.Errorf("%s: %s is not described", at, name)
			}
			d.check(t, at+"."+name, property, value)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, value := range v {
			d.check(t, at, items, value)
		}
	}
}

// Every route is in the OpenAPI document with its parameters, and answers as it says.
func TestRoutes(t *testing.T) {
	t.Parallel()
	f, _ := twoSites(t)
	s := &server{Options: Options{Journals: f}}
	h := New(s.Options)
	var d openAPIDocument
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	routes := s.routes()
	if len(d.Paths) != len(routes)+len(actions) {
		t.Errorf("the document has %d paths, the server %d", len(d.Paths), len(routes)+len(actions))
	}
	ids := strings.NewReplacer("{entity}/{id}", "vhost/5a1e", "{entity}", "vhost", "{id}", "run-1", "{name}", "shop")
	for _, r := range routes {
		described, ok := d.Paths[r.path]
		if !ok {
			t.Errorf("%s is not in the document", r.path)
			continue
		}
		named := 0
		for _, p := range described.Get.Parameters {
			if _, known := r.parameters[p.Name]; p.In == "query" && !known {
				t.Errorf("%s: the parameter %s is in the document only", r.path, p.Name)
			}
			if p.In == "query" {
				named++
			}
		}
		if named != len(r.parameters) {
			t.Errorf("%s: the document has %d parameters of the query, the server %d", r.path, named, len(r.parameters))
		}
		path := ids.Replace(r.path)
		status, _, body := ask(t, h, path)
		if status != http.StatusOK {
			t.Errorf("%s: status %d: %v", path, status, body)
		}
		d.check(t, path, described.Get.Responses["200"].Content["application/json"].Schema, body)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	f, _ := twoSites(t)
	h := New(Options{Journals: f})
	for path, want := range map[string]string{
		"/v1/sites":                      `par1`,
		"/v1/runs":                       `"id":"run-2".*"id":"run-1"`,
		"/v1/runs?site=lon1":             `"id":"run-1"`,
		"/v1/runs/run-1":                 `"report":"site lon1: failed"`,
		"/v1/runs/run-1/nodes":           `"node":"n2","stage":"FAILED"`,
		"/v1/runs/run-1/tasks?node=n2":   `"node":"n2"`,
		"/v1/runs/run-1/events?limit=1":  `"next":1`,
		"/v1/runs/run-1/events?after=99": `"events":[],"next":99`,
		"/v1/services?entity=vhost":      `"site":"lon1"`,
		"/v1/services?entity=other":      `"services":[]`,
		"/v1/services/shop/log":          `CREATE_TRANSITION`,

		"/lsm/v1/service_inventory/vhost":          `"active_attributes":{"port":80}`,
		"/lsm/v1/service_inventory/vhost/5a1e/log": `"service_instance_id":"5a1e"`,
	} {
		status, _, body := ask(t, h, path)
		text, _ := json.Marshal(body)
		place := 0
		for part := range strings.SplitSeq(want, ".*") {
			next := strings.Index(string(text)[place:], part)
			if next < 0 || status != http.StatusOK {
				t.Errorf("%s: status %d without %s: %s", path, status, part, text)
				break
			}
			place += next
		}
	}
	for path, want := range map[string]struct {
		status  int
		message string
	}{
		"/v1/runs/run":            {404, `there is no run "run"`},
		"/v1/runs?site=../etc":    {404, `there is no journal of a site "../etc"`},
		"/v1/runs?limit=0&x=1":    {400, `limit = "0" is not a whole number from 1 to 1000; there is no parameter "x"`},
		"/v1/runs?limit=1&limit=": {400, `the parameter "limit" is given 2 times`},
		"/v1/services?deleted=ja": {400, `deleted = "ja" is neither true nor false`},
		"/v1/services/nope":       {404, `there is no service "nope"`},

		"/lsm/v1/service_inventory/nope":      {404, `there is no service of an entity "nope"`},
		"/lsm/v1/service_inventory/vhost/one": {404, `there is no instance "one" of an entity "vhost"`},
	} {
		status, _, body := ask(t, h, path)
		reason, _ := body["error"].(map[string]any)
		if status != want.status || reason["message"] != want.message {
			t.Errorf("%s: %d %v, want %d %s", path, status, body, want.status, want.message)
		}
	}
}

// Nobody reads without the right to, and nobody changes anything.
func TestAccess(t *testing.T) {
	t.Parallel()
	f, _ := twoSites(t)
	open, token := New(Options{Journals: f}), New(Options{Journals: f, Token: "secret"})
	for _, c := range []struct {
		name   string
		h      http.Handler
		path   string
		header []string
		want   int
	}{
		{"loopback", open, "/v1/sites", nil, 200},
		{"localhost", open, "/v1/sites", []string{"Host", "localhost:8642"}, 200},
		{"IPv6", open, "/v1/sites", []string{"Host", "[::1]:8642"}, 200},
		{"another name for loopback", open, "/v1/sites", []string{"Host", "evil.example:8642"}, 403},
		{"no token", token, "/v1/sites", nil, 401},
		{"a shorter token", token, "/v1/sites", []string{"Authorization", "Bearer secre"}, 401},
		{"a longer token", token, "/v1/sites", []string{"Authorization", "Bearer secrets"}, 401},
		{"another token of its length", token, "/v1/sites", []string{"Authorization", "Bearer secreT"}, 401},
		{"an empty token", token, "/v1/sites", []string{"Authorization", "Bearer "}, 401},
		{"an unknown address without a token", token, "/v1/nothing", nil, 401},
		{"no scheme", token, "/v1/sites", []string{"Authorization", "secret"}, 401},
		{"token", token, "/v1/sites", []string{"Authorization", "Bearer secret", "Host", "slipway.example"}, 200},
		{"health", token, "/healthz", nil, 200},
	} {
		status, header, _ := ask(t, c.h, c.path, c.header...)
		if status != c.want {
			t.Errorf("%s: status %d, want %d", c.name, status, c.want)
		}
		if !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: the headers are %v", c.name, header)
		}
	}
	wrong := map[int]int{}
	for range 50 {
		status, _, _ := ask(t, token, "/v1/sites", "Authorization", "Bearer guess")
		wrong[status]++
	}
	if wrong[429] == 0 || wrong[401]+wrong[429] != 50 {
		t.Errorf("50 wrong tokens in a row: %v, want most of them refused with 429", wrong)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		w := httptest.NewRecorder()
		open.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/v1/sites", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", method, w.Code)
		}
	}
	for listen, ok := range map[string]bool{"127.0.0.1:0": true, "localhost:1": true, "[::1]:1": true, "0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false} {
		if err := CheckAddress(listen, ""); (err == nil) != ok {
			t.Errorf("%s without a token: %v", listen, err)
		}
		if err := CheckAddress(listen, "t"); err != nil {
			t.Errorf("%s with a token: %v", listen, err)
		}
	}
	if CheckAddress("nowhere", "t") == nil {
		t.Error("an address without a port is accepted")
	}
}

// An address that there is not, and a method that an address does not have, are answered in the form of all errors: as
// JSON where programs ask, as a page where people do.
func TestUnknownAddresses(t *testing.T) {
	t.Parallel()
	f, _ := twoSites(t)
	h := New(Options{Journals: f})
	var d openAPIDocument
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
		status       int
		message      string
		allow        string
	}{
		{"GET", "/v1", 404, `there is no address "/v1"; /v1/openapi.json lists all`, ""},
		{"GET", "/v1/", 404, `there is no address "/v1/"; /v1/openapi.json lists all`, ""},
		{"GET", "/v1/site", 404, `there is no address "/v1/site"; /v1/openapi.json lists all`, ""},
		{"GET", "/v1/runs/run-1/task?x=1", 404, `there is no address "/v1/runs/run-1/task"; /v1/openapi.json lists all`, ""},
		{"GET", "/v1/%1b%5b31m", 404, `there is no address "/v1/\x1b[31m"; /v1/openapi.json lists all`, ""},
		{"GET", "/lsm/v1/service_inventory", 404, `there is no address "/lsm/v1/service_inventory"; /v1/openapi.json lists all`, ""},
		{"POST", "/lsm/v2", 404, `there is no address "/lsm/v2"; /v1/openapi.json lists all`, ""},
		{"POST", "/v1/runs/run-1/stop", 404, `there is no address "/v1/runs/run-1/stop"; /v1/openapi.json lists all`, ""},
		{"POST", "/v1/sites", 405, `POST is no method of "/v1/sites"; it has GET, HEAD`, "GET, HEAD"},
		{"GET", "/v1/runs/run-1/approve", 405, `GET is no method of "/v1/runs/run-1/approve"; it has POST`, "POST"},
		{"DELETE", "/lsm/v1/service_inventory/vhost/5a1e", 405,
			`DELETE is no method of "/lsm/v1/service_inventory/vhost/5a1e"; it has GET, HEAD`, "GET, HEAD"},
		{"GET", "/nothing", 404, "", ""},
		{"GET", "/v10", 404, "", ""},
		{"POST", "/services", 405, "", "GET, HEAD"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, "http://127.0.0.1:8642"+c.path, nil))
		kind := w.Header().Get("Content-Type")
		if w.Code != c.status || w.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: %d with Allow %q, want %d with %q", c.method, c.path, w.Code, w.Header().Get("Allow"), c.status, c.allow)
		}
		if c.message == "" {
			if kind != "text/html; charset=utf-8" || !strings.Contains(w.Body.String(), http.StatusText(c.status)) {
				t.Errorf("%s %s: %s, want a page that shows the error:\n%s", c.method, c.path, kind, w.Body)
			}
			continue
		}
		var body map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || kind != "application/json" {
			t.Errorf("%s %s: %s %q: %v, want JSON", c.method, c.path, kind, w.Body, err)
			continue
		}
		d.check(t, c.path, d.Components.Schemas["Error"], body)
		reason, _ := body["error"].(map[string]any)
		if reason["message"] != c.message {
			t.Errorf("%s %s: %v, want %s", c.method, c.path, reason["message"], c.message)
		}
	}
	// in OpenAPI each operation describes its errors, and the document says what other addresses answer
	var whole struct {
		Info  struct{ Description string }
		Paths map[string]map[string]struct{ Responses responses }
	}
	if err := json.Unmarshal(openAPI, &whole); err != nil {
		t.Fatal(err)
	}
	for path, methods := range whole.Paths {
		for method, operation := range methods {
			if operation.Responses["default"].Content["application/json"].Schema["$ref"] != "#/components/schemas/Error" {
				t.Errorf("%s %s does not describe its errors", method, path)
			}
		}
	}
	for _, status := range []string{"404", "405"} {
		if !strings.Contains(whole.Info.Description, status) {
			t.Errorf("the document does not say when the answer is %s: %s", status, whole.Info.Description)
		}
	}
}

// Requests beyond the bound are refused while others are at work.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	s := &server{slots: make(chan struct{}, 1), streaming: make(chan struct{}, 1)}
	begun, end := make(chan struct{}), make(chan struct{})
	h := s.guarded(route{answer: func(context.Context, query) (any, error) {
		close(begun)
		<-end
		return "done", nil
	}})
	first := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		h.ServeHTTP(first, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/", nil))
		close(done)
	}()
	<-begun
	if status, header, _ := ask(t, h, "/"); status != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v", status, header)
	}
	close(end)
	if <-done; first.Code != http.StatusOK {
		t.Errorf("the first request: status %d", first.Code)
	}
}

// A stream has the events of a run as they are recorded, and ends with the run; it goes on after the last one that a
// client has.
func TestStream(t *testing.T) {
	t.Parallel()
	f, writer := twoSites(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, Options{Journals: f, Poll: 10 * time.Millisecond}) }()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/v1/runs/run-2/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", "4")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	var seen []string
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		kind, ok := strings.CutPrefix(lines.Text(), "event: ")
		if !ok {
			continue
		}
		seen = append(seen, kind)
		switch kind {
		case "node_finished":
			err = writer.Record(t.Context(), journal.Event{Kind: journal.Note, Message: "late"})
		case "note":
			err = writer.Finish(t.Context(), "deployed", "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"node_finished", "note", "end"}; !slices.Equal(slices.DeleteFunc(seen, func(s string) bool { return s == "run_finished" }), want) {
		t.Errorf("the stream has %q, want %q", seen, want)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
