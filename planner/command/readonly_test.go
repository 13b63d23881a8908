package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/server"
)

// A role of PostgreSQL that may only read the journal of one site shows it with every command and page, and changes
// nothing; the journals of other sites are not there for it.
func TestReadOnlyRoleOfPostgres(t *testing.T) {
	cluster := postgrestest.Start(t)
	url := cluster.URL(t)
	for _, site := range []string{"lon1", "par1"} {
		s, err := journal.Location{URL: url}.Open(t.Context(), site)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // the test is over
		for _, id := range []string{"run-1", "run-2"} {
			w, err := s.Start(t.Context(), journal.Run{ID: id + "-" + site, Site: site, Operation: "create"})
			if err != nil {
				t.Fatal(err)
			}
			e := journal.Event{Kind: journal.TaskFinished, Group: "web", Node: "n1", Resource: "file[/etc/motd]", Action: "create", Status: "changed"}
			if err := w.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if id == "run-1" {
				err = w.Finish(t.Context(), "succeeded", "it went well")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	database := url[strings.LastIndex(strings.Split(url, "?")[0], "/")+1 : strings.Index(url, "?")]
	admin := func(statement string) {
		t.Helper()
		if err := cluster.SQLIn(database, statement); err != nil {
			t.Fatal(err)
		}
	}
	// as docs/guides/scaling.md has it
	admin("CREATE ROLE viewer LOGIN PASSWORD 'v'")
	admin("GRANT USAGE ON SCHEMA slipway_lon1 TO viewer; GRANT SELECT ON ALL TABLES IN SCHEMA slipway_lon1 TO viewer")
	viewer := cluster.Address("viewer", "v", database)

	for _, c := range []struct{ args, want string }{
		{"runs", "run-2-lon1"}, {"report run-1-lon1", "it went well"}, {"report -o html", "run-2-lon1"}, {"watch run-1-lon1", "run run-1-lon1: succeeded"},
		{"services", ""}, {"runs --site lon1", "run-1-lon1"},
	} {
		out, err := run(t, append(strings.Fields(c.args), "--journal", viewer)...)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %q, %v", c.args, out, err)
		}
		if strings.Contains(out, "par1") {
			t.Errorf("%s shows the other site: %s", c.args, out)
		}
	}
	for args, want := range map[string]string{
		"runs --site par1":                 "holds no journal of it; it holds those of lon1",
		"runs pause run-2-lon1":            "permission denied for table",
		"runs approve run-2-lon1":          "waits for no approval",
		"runs unlock lon1 --force":         "permission denied for table",
		"runs cancel run-2-lon1 --why now": "permission denied for table",
	} {
		if _, err := run(t, append(strings.Fields(args), "--journal", viewer)...); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), ":v@") {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}

	h := server.New(server.Options{Journals: journal.Location{URL: viewer}, People: []server.Person{{Name: "anna", Token: "0123456789abcdef"}}})
	ask := func(method, path, body string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if method == http.MethodPost {
			r.Header.Set("Authorization", "Bearer 0123456789abcdef")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, path := range []string{"/", "/runs/run-2-lon1", "/runs/run-2-lon1/groups", "/runs/run-2-lon1/timeline", "/runs/run-2-lon1/nodes/n1",
		"/runs/run-2-lon1/approval", "/drift", "/services", "/v1/sites", "/v1/runs", "/v1/runs/run-2-lon1/tasks", "/v1/checks", "/v1/services"} {
		if status, body := ask(http.MethodGet, path, ""); status != http.StatusOK || strings.Contains(body, "par1") {
			t.Errorf("%s: status %d: %s", path, status, body)
		}
	}
	status, body := ask(http.MethodPost, "/v1/runs/run-2-lon1/pause", `{}`)
	var answer struct{ Error struct{ Message string } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusForbidden ||
		!strings.Contains(answer.Error.Message, "permission denied for table") {
		t.Errorf("a decision: status %d: %s", status, body)
	}
}
