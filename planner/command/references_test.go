package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/server"
)

// The inventory says what refers to a service, also within embedded entities, to those who ask.
func TestReferencesToAService(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, "a")
	site := s.path("site.yaml")
	write := func(services string) {
		t.Helper()
		s.must(os.WriteFile(site, fmt.Appendf(nil, `site: lon1
nodes: [{name: a, connect: {transport: local, root: %q}}]
catalog:
  entities:
    port: {tasks: [{name: file, config: {type: file, title: "/etc/port-${service.name}", parameters: {content: x}}}]}
    link:
      relations: {near: {entity: port, modifier: rw+, upper: 1}}
      embedded:
        ends:
          modifier: rw+
          relations: {far: {entity: port, modifier: rw+, upper: 1}}
      tasks: [{name: file, config: {type: file, title: "/etc/link-${service.name}", parameters: {content: x}}}]
services:
- {name: p1, entity: port, selectors: []}
- {name: p2, entity: port, selectors: []}
%s`, s.path("a"), services), 0o600))
	}
	ask := func(path string) string {
		answer := httptest.NewRecorder()
		server.New(server.Options{Journals: journal.Location{Path: s.path("journal")}}).ServeHTTP(answer,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/lsm/v1/service_inventory/"+path, nil))
		return answer.Body.String()
	}
	expect := func(path, want string) {
		t.Helper()
		if got := ask(path); !strings.Contains(got, `"referenced_by":`+want+",") {
			t.Errorf("%s is not %s: %s", path, want, got)
		}
	}
	const asked = "?include_referenced_by=true"
	write(`- {name: l1, entity: link, selectors: [], attributes: {near: p1, ends: [{far: p2}]}}
- {name: l2, entity: link, selectors: [], attributes: {near: p1, ends: []}}
`)
	s.expect(0, "deployed", "yes\n", "apply", site)
	expect("port/p1"+asked, `["l1","l2"]`)
	expect("port/p2"+asked, `["l1"]`)
	expect("link/l1"+asked, `[]`)
	expect("port"+asked+"&sort=id.asc", `["l1","l2"]`)
	expect("port/p1", `null`)
	expect("port", `null`)
	write("- {name: l1, entity: link, selectors: [], attributes: {near: p2, ends: []}}\n")
	s.expect(0, "deployed", "yes\n", "apply", site)
	expect("port/p1"+asked, `[]`)
	expect("port/p2"+asked, `["l1"]`)
}
