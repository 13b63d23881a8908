package server

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/hostiletest"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
)

// What others wrote is text on every page and in every answer: markup, escapes of terminals, marks of direction, a line
// of a megabyte. The addresses are those of the router, so that a new one is here, too.
func TestHostileText(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { hostileText(t, journal.Location{Path: t.TempDir()}, true) })
	t.Run("PostgreSQL", func(t *testing.T) {
		hostileText(t, journal.Location{URL: postgrestest.Start(t).URL(t), Setting: "journal of the test"}, false)
	})
}

// hostileText looks at all addresses, and with asks also at what they answer to hostile parameters, and while the run is
// active.
func hostileText(t *testing.T, at journal.Location, asks bool) {
	w := hostiletest.RecordRaw(t, at)
	s := &server{Options: Options{Journals: at, People: []Person{{"anna", "0123456789abcdef"}}}}
	h := New(s.Options)
	get := func(method, address, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8642"+address, strings.NewReader(body))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		return answer
	}
	check := func(address string, answer *httptest.ResponseRecorder, shown bool) {
		t.Helper()
		body, kind := answer.Body.String(), answer.Header().Get("Content-Type")
		switch {
		case strings.HasPrefix(kind, "text/html"):
			hostiletest.HTML(t, address, body)
			if len(body) > 2<<20 {
				t.Errorf("%s has %d bytes", address, len(body))
			}
		case kind == "application/json":
			hostiletest.JSON(t, address, body)
		case kind == "text/event-stream":
			hostiletest.Plain(t, address, body)
			for line := range strings.Lines(body) { // nothing of the corpus is a line of the stream
				if !slices.ContainsFunc([]string{"id: ", "event: ", "data: {", "data: \"", ": at work", "\n"}, func(start string) bool { return strings.HasPrefix(line, start) }) {
					t.Errorf("%s has the line %.200q", address, line)
				}
			}
			if n := strings.Count(body, "event: end\n"); n != 1 {
				t.Errorf("%s ends %d times", address, n)
			}
		default:
			t.Errorf("%s is of the type %q", address, kind)
		}
		if shown && (answer.Code != http.StatusOK || !strings.Contains(body, hostiletest.Mark)) {
			t.Errorf("%s: status %d, the corpus is shown: %v", address, answer.Code, strings.Contains(body, hostiletest.Mark))
		}
		for name, values := range answer.Header() {
			hostiletest.Plain(t, address+": "+name, strings.Join(values, ""))
		}
	}
	values := map[string]string{"id": hostiletest.Run, "node": hostiletest.Node(), "name": hostiletest.Service, "entity": hostiletest.Entity}
	all := append(s.routes(), s.pages()...)
	var tasks []string
	store, err := at.OpenExisting(t.Context(), hostiletest.Site)
	if err != nil {
		t.Fatal(err)
	}
	events, err := store.AllEvents(t.Context(), hostiletest.Run, journal.TaskStarted, journal.TaskFinished)
	if err := errors.Join(err, store.Close()); err != nil || len(events) < 5 {
		t.Fatal(len(events), err)
	}
	for _, e := range events {
		tasks = append(tasks, strconv.FormatInt(e.Seq, 10))
	}
	for ended := range 2 {
		for _, r := range all {
			if stream := r.live != nil || r.events; ended == 0 && (stream || !asks) { // streams end with the run
				continue
			}
			ids := maps.Clone(values)
			if strings.HasPrefix(r.path, inventoryPath) {
				ids["id"] = hostiletest.Service
			}
			addresses := []string{""}
			for part := range strings.SplitSeq(strings.TrimPrefix(r.path, "/"), "/") {
				name, parameter := strings.CutPrefix(part, "{")
				name = strings.TrimSuffix(name, "}")
				into := []string{ids[name]}
				switch {
				case !parameter:
					into = []string{part}
				case name == "$":
					into = []string{""}
				case name == "task":
					into = tasks
				case into[0] == "":
					t.Fatalf("%s: no value for %s", r.path, name)
				}
				var next []string
				for _, a := range addresses {
					for _, v := range into {
						next = append(next, a+"/"+url.PathEscape(v))
					}
				}
				addresses = next
			}
			for _, address := range addresses {
				var header []string
				if r.events && ended == 1 {
					check(address+" as JSON", get(http.MethodGet, address, ""), true)
					header = []string{"Accept", "text/event-stream"}
				}
				answer := get(http.MethodGet, address, "", header...)
				if r.path == "/v1/openapi.json" {
					hostiletest.JSON(t, address, answer.Body.String())
					continue
				}
				check(address, answer, true)
				for name, p := range r.parameters {
					if ended == 1 && r.live == nil && !r.events || p.max > 0 || !asks {
						continue // as before, or numbers, of which the others refuse texts alike
					}
					check(address+"?"+name, get(http.MethodGet, address+"?"+name+"="+url.QueryEscape(hostiletest.Name()), ""), false)
				}
			}
			// What does not exist.
			for name := range ids {
				if ended == 0 && strings.Contains(r.path, "{"+name+"}") {
					parts := strings.NewReplacer("{"+name+"}", url.PathEscape("no "+hostiletest.Name()), "{id}", "x", "{node}", "x", "{name}", "x", "{task}", "1", "{entity}", "x")
					answer := get(http.MethodGet, parts.Replace(r.path), "")
					if check(r.path+" of no "+name, answer, false); answer.Code < 400 {
						t.Errorf("%s of no %s: status %d", r.path, name, answer.Code)
					}
				}
			}
		}
		if ended == 0 {
			for _, action := range actions {
				body, err := json.Marshal(map[string]string{"reason": hostiletest.Corpus["title"] + hostiletest.Corpus["markup"] + hostiletest.Corpus["direction"]})
				if err != nil {
					t.Fatal(err)
				}
				answer := get(http.MethodPost, "/v1/runs/"+hostiletest.Run+"/"+action, string(body), "Authorization", "Bearer 0123456789abcdef",
					"Content-Type", "application/json")
				hostiletest.JSON(t, action, answer.Body.String())
			}
			hostiletest.Finish(t, at, w)
		}
	}
}
