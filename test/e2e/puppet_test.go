package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// puppetSite is a site of one node with the configuration resources that a test gives.
func puppetSite(t *testing.T, n lab.Node, configuration string) string {
	t.Helper()
	return config{site: "puppet", nodes: []lab.Node{n}, more: []string{"puppet"}, services: fmt.Sprintf(`
resource "slipway_service" "puppet" {
  name          = "puppet"
  selectors     = []
  configuration = {%s}
}
`, configuration)}.hcl(t)
}

// expect compares what commands print on a node with what they are to print.
func expect(t *testing.T, n lab.Node, commands ...[2]string) {
	t.Helper()
	for _, c := range commands {
		if got := strings.TrimSpace(n.On(t, c[0])); got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
}

// TestServiceWithCommands runs a daemon that systemd does not know by its own commands: it is started, restarted when a file
// changes, found and started again when it was killed, and stopped by the destroy.
func TestServiceWithCommands(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	before := fingerprints(t, n)
	w := newWorkspace(t, puppetSite(t, n, `
    file = { "/etc/slipway-daemon" = { content = "${var.content}\n" } }
    service = {
      daemon = {
        provider = "base", ensure = true, subscribe = ["file[/etc/slipway-daemon]"]
        start  = "read seconds </etc/slipway-daemon; setsid sleep $seconds >/dev/null 2>&1 </dev/null &"
        stop   = ["pkill", "-f", "^sleep 27[12][.]25"]
        status = ["pgrep", "-f", "^sleep 27[12][.]25"]
      }
    }`))
	running := [2]string{"pgrep -af '^sleep 27[12][.]25' | cut -d' ' -f2-", "sleep 271.25"}
	w.set("content", "271.25")
	w.must(w.apply(), 0)
	expect(t, n, running)
	w.must(w.plan(), 0, "No changes")
	n.On(t, "pkill -f '^sleep 271[.]25'")
	w.must(w.apply(), 0)
	expect(t, n, running)
	w.set("content", "272.25")
	w.must(w.apply(), 0)
	running[1] = "sleep 272.25"
	expect(t, n, running)
	w.mustDestroy()
	running[1] = ""
	expect(t, n, running)
	assertUntouched(t, before, n)
}
