package command

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Tasks name each service that brings them, whatever characters its name has.
func TestTasksNameTheirServices(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, "a")
	site := s.path("site.yaml")
	s.must(os.WriteFile(site, fmt.Appendf(nil, `site: lon1
nodes: [{name: a, connect: {transport: local, root: %q}}]
services:
- {name: "c, d", selectors: [], configuration: {file: {/etc/motd: {content: x}}}}
- {name: e, selectors: [], configuration: {file: {/etc/motd: {content: x}, /etc/issue: {content: x}}}}
`, s.path("a")), 0o600))
	s.expect(0, "deployed", "yes\n", "apply", site)
	out, _ := s.run("", "report", "-o", "json")
	for _, want := range []string{`"services": [ "c, d", "e" ]`, `"services": [ "e" ]`} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
