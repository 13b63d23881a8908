package command

import (
	"context"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/server"
)

// A database that cannot be reached because a file is missing, its socket or a certificate, is no site without a
// journal, for nobody who reads one.
func TestADatabaseThatIsAwayIsNoMissingJournal(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for cause, url := range map[string]string{
		"socket":      "postgres:///d?host=" + missing,
		"certificate": "postgres://u@db/d?sslmode=verify-full&sslrootcert=" + missing,
	} {
		at := journal.Location{URL: url}
		e := &engine.Engine{Journals: at, Handing: &engine.Handing{}, Now: time.Now}
		for reader, read := range map[string]func() string{
			"the state of services": func() string {
				_, _, m := e.Adopt(t.Context(), "lon1", engine.State{})
				return errorOf("", errors.Join(m...))
			},
			"the last run that was handed over": func() string { return errorOf(e.LastHanded(t.Context(), "lon1", "")) },
			"serve": func() string {
				w := httptest.NewRecorder()
				server.New(server.Options{Journals: at}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1/v1/sites", nil))
				return w.Body.String()
			},
			"runs": func() string { return errorOf(run(t, "runs", "--journal", url)) },
			"watch": func() string {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				cmd := New("test", nil, "")
				cmd.SetArgs([]string{"watch", "--journal", url})
				return errorOf("", cmd.ExecuteContext(ctx))
			},
		} {
			if said := read(); !strings.Contains(said, missing) {
				t.Errorf("%s, without its %s: %q does not say what is missing", reader, cause, said)
			}
		}
	}
}

// errorOf returns the text of the error of a call.
func errorOf[T any](_ T, err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
