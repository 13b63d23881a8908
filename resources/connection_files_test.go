package resources_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// A file of known hosts that nodes name themselves is looked for at plan time, unless slipway makes it.
func TestMissingKnownHostsOfNodes(t *testing.T) {
	s := newSandbox(t)
	s.must(os.WriteFile(s.path("key", ""), nil, 0o600))
	var nodes strings.Builder
	for name, c := range map[string][2]string{"a": {"missing", "strict"}, "b": {"missing", "strict"}, "c": {"made", "accept-new"}, "d": {"key", "strict"}} {
		fmt.Fprintf(&nodes, `
resource "slipway_node" %[1]q {
  name    = %[1]q
  address = "%[1]s.example"
  connect = { private_key_file = %[2]q, known_hosts_file = %[3]q, host_key_policy = %[4]q }
}
`, name, s.path("key", ""), s.path(c[0], ""), c[1])
	}
	var w warnings
	config := strings.Replace(s.config(nil, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"})+nodes.String(), ""),
		"nodes = []", "nodes = [slipway_node.a, slipway_node.b, slipway_node.c, slipway_node.d]", 1)
	w.run(t, []resource.TestStep{{Config: config, PlanOnly: true, ExpectNonEmptyPlan: true}})
	all := w.take()
	if want := "2 nodes (a, b): connect.known_hosts_file: " + s.path("missing", "") + ": no such file"; !strings.Contains(all, want) {
		t.Errorf("no warning says %q:\n%s", want, all)
	}
	for _, not := range []string{s.path("made", ""), s.path("key", "") + ":"} {
		if strings.Contains(all, not) {
			t.Errorf("a warning says %q:\n%s", not, all)
		}
	}
}
