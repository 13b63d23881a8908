package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

const annasToken = "anna-0123456789abcdef"

// post sends a decision, and returns the status with the answer.
func post(t *testing.T, h http.Handler, path, body string, header ...string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8642"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: %v in %s", path, err, w.Body)
	}
	if w.Header().Get("Set-Cookie") != "" {
		t.Errorf("%s sets a cookie", path)
	}
	return w.Code, answer
}

// A person decides about an active run; person, reason and batch are recorded as `runs approve` records them.
func TestDecisions(t *testing.T) {
	t.Parallel()
	f, w := twoSites(t) // run-2 is active
	h := New(Options{Journals: f, People: []Person{{"bob", "bob-0123456789abcdefg"}, {"anna", annasToken}}})
	err := w.Record(t.Context(), journal.Event{Kind: journal.Paused, Group: "web", Phase: 1, Output: "the digest"})
	if err != nil {
		t.Fatal(err)
	}
	var d openAPIDocument
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run, action, body string
		status            int
		want              string
	}{
		{"run-2", "approve", `{"group": "db"}`, 409, "no such batch waits"},
		{"run-2", "approve", `{"group": "web", "batch": 1, "reason": " it works\n\u001b[31m "}`, 200, "approve batch 1 of group web, by anna: it works [31m"},
		{"run-2", "approve", `{}`, 409, "waits for no approval"},
		{"run-2", "resume", `{}`, 409, "is not paused"},
		{"run-2", "pause", `{}`, 200, "pause, by anna"},
		{"run-2", "pause", `{}`, 409, "is paused already"},
		{"run-2", "resume", `{"reason": "go on"}`, 200, "resume, by anna: go on"},
		{"run-2", "cancel", `{}`, 400, "a cancellation needs one"},
		{"run-2", "cancel", `{"reason": "disk full"}`, 200, "cancel, by anna: disk full"},
		{"run-1", "cancel", `{"reason": "too late"}`, 409, "only an active run can be decided on"},
		{"run-3", "cancel", `{"reason": "who"}`, 404, "there is no run"},
	} {
		path := "/v1/runs/" + c.run + "/" + c.action
		status, answer := post(t, h, path, c.body, "Authorization", "Bearer "+annasToken)
		text, _ := answer["text"].(string)
		if reason, ok := answer["error"].(map[string]any); ok {
			text, _ = reason["message"].(string)
		}
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %q, want %d and %q", path, c.body, status, text, c.status, c.want)
		}
		described := d.Paths["/v1/runs/{id}/"+c.action].Post
		if described == nil || described.Security[0]["person"] == nil {
			t.Fatalf("%s is not in the document, or for everybody", path)
		}
		if status == 200 {
			d.check(t, path, described.Responses["200"].Content["application/json"].Schema, answer)
		}
	}
	decided, err := w.Decisions(t.Context())
	if err != nil || len(decided) != 4 || decided[0].Output != "the digest" || decided[0].Message != "by anna: it works [31m" {
		t.Errorf("the run gets %+v, %v", decided, err)
	}
	if _, body := look(t, h, "/runs/run-2/approval"); !strings.Contains(body, "by anna: disk full") ||
		!strings.Contains(body, `data-run="/v1/runs/run-2/"`) {
		t.Errorf("the page does not show the decisions:\n%s", body)
	}
}

// Who may not decide does not: nothing of these requests is recorded.
func TestDecisionsAreRefused(t *testing.T) {
	t.Parallel()
	f, w := twoSites(t)
	people := []Person{{"anna", annasToken}}
	open, token, nobody := New(Options{Journals: f, People: people}), New(Options{Journals: f, People: people, Token: "read-0123456789"}),
		New(Options{Journals: f})
	const path = "/v1/runs/run-2/pause"
	anna := []string{"Authorization", "Bearer " + annasToken}
	for name, c := range map[string]struct {
		h      http.Handler
		header []string
		body   string
		status int
	}{
		"nobody may":                      {nobody, anna, `{}`, 403},
		"no token":                        {open, nil, `{}`, 401},
		"wrong token":                     {open, []string{"Authorization", "Bearer " + annasToken[1:]}, `{}`, 401},
		"empty token":                     {open, []string{"Authorization", "Bearer "}, `{}`, 401},
		"a password, which browsers send": {open, []string{"Authorization", "Basic YW5uYTphbm5hLTAxMjM0NTY3ODlhYmNkZWY="}, `{}`, 401},
		"the token that reads":            {token, []string{"Authorization", "Bearer read-0123456789"}, `{}`, 403},
		"another name for loopback":       {open, append([]string{"Host", "evil.example:8642"}, anna...), `{}`, 403},
		"another page":                    {open, append([]string{"Origin", "http://evil.example"}, anna...), `{}`, 403},
		"a page without origin":           {open, append([]string{"Origin", "null"}, anna...), `{}`, 403},
		"another port":                    {open, append([]string{"Origin", "http://127.0.0.1:1"}, anna...), `{}`, 403},
		"another site":                    {token, append([]string{"Sec-Fetch-Site", "cross-site"}, anna...), `{}`, 403},
		"a form":                          {open, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, anna...), `{}`, 415},
		"plain text":                      {open, append([]string{"Content-Type", "text/plain"}, anna...), `{}`, 415},
		"too large":                       {open, anna, `{"reason": "` + strings.Repeat("x", 5000) + `"}`, 413},
		"a long reason":                   {open, anna, `{"reason": "` + strings.Repeat("x", 501) + `"}`, 400},
		"no body":                         {open, anna, ``, 400},
		"no object":                       {open, anna, `[1]`, 400},
		"two bodies":                      {open, anna, `{} {}`, 400},
		"an unknown key":                  {open, anna, `{"person": "bob"}`, 400},
		"a group of no batch":             {open, anna, `{"group": "web"}`, 400},
	} {
		if status, answer := post(t, c.h, path, c.body, c.header...); status != c.status {
			t.Errorf("%s: %d %v, want %d", name, status, answer, c.status)
		}
	}
	if decided, err := w.Decisions(t.Context()); err != nil || len(decided) > 0 {
		t.Errorf("the run gets %v, %v", decided, err)
	}
	if status, answer := post(t, open, path, `{}`, append([]string{"Origin", "http://127.0.0.1:8642", "Sec-Fetch-Site",
		"same-origin"}, anna...)...); status != 200 {
		t.Errorf("on loopback: %d %v", status, answer)
	}
	if status, answer := post(t, token, "/v1/runs/run-2/resume", `{}`, append([]string{"Host", "slipway.example"}, anna...)...); status != 200 {
		t.Errorf("behind a proxy: %d %v", status, answer)
	}
	if status, _, _ := ask(t, token, "/v1/sites", anna...); status != 200 {
		t.Errorf("a person may not read: %d", status)
	}
	statuses := map[int]int{}
	for range 50 {
		status, _ := post(t, open, path, `{`, anna...)
		statuses[status]++
	}
	if statuses[429] < 20 || statuses[400]+statuses[429] != 50 {
		t.Errorf("50 decisions in a row: %v, want most of them refused with 429", statuses)
	}
	statuses = map[int]int{}
	for range 50 {
		status, _ := post(t, token, path, `{}`, "Authorization", "Bearer guess")
		statuses[status]++
	}
	if statuses[429] < 20 || statuses[401] == 0 {
		t.Errorf("50 wrong tokens in a row: %v, want most of them refused with 429", statuses)
	}
}
