package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/server"
)

// While a run deploys a service, its inventory says how far it is, to those who ask; after it, nothing is known.
func TestProgressOfAService(t *testing.T) {
	s := newSandbox(t, "a", "b")
	site, seen := s.path("site.yaml"), s.path("seen")
	document := fmt.Sprintf(`site: lon1
nodes:
- {name: a, connect: {transport: local, root: %q}}
- {name: b, connect: {transport: local, root: %q}}
catalog:
  entities:
    web:
      tasks:
      - name: first
        callback: {type: command, parameters: {argv: ["true"]}}
      - name: second
        requires: [{task: first}]
        callback: {type: command, parameters: {argv: [/bin/sh, -c, %q]}}
      - name: file
        config: {type: file, title: /etc/motd, parameters: {content: one}}
services: [{name: w, entity: web, selectors: []}]
`, s.path("a"), s.path("b"), "n=0; until test -e "+seen+"; do sleep 0.01; n=$((n+1)); test $n -lt 2000 || exit 9; done")
	s.must(os.WriteFile(site, []byte(document), 0o600))
	ask := func(query string) string {
		answer := httptest.NewRecorder()
		server.New(server.Options{Journals: journal.Location{Path: s.path("journal")}}).ServeHTTP(answer,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/lsm/v1/service_inventory/web"+query, nil))
		return answer.Body.String()
	}
	const asked, unknown = "include_deployment_progress=true", `"deployment_progress":null`
	var looking sync.WaitGroup
	looking.Go(func() { // the second callback waits for the file
		for !strings.Contains(ask("?"+asked), `"deployment_progress":{"total":4,"deployed":1,"failed":0,"waiting":3}`) {
			if t.Context().Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		if one := ask("/w?" + asked); !strings.Contains(one, `"waiting":3`) {
			t.Errorf("of the service alone: %s", one)
		}
		if without := ask(""); !strings.Contains(without, unknown) {
			t.Errorf("without being asked: %s", without)
		}
		if err := os.WriteFile(seen, nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	if out, status := s.run("", "apply", "-y", site); status != 0 {
		t.Fatalf("status %d:\n%s", status, out)
	}
	looking.Wait()
	if after := ask("?" + asked); !strings.Contains(after, unknown) {
		t.Errorf("after the run: %s", after)
	}
}
