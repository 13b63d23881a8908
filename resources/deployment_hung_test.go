package resources_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"golang.org/x/crypto/ssh"
)

// A node that accepts connections and says nothing costs a first run the prepare_timeout of its group, once, and no
// other group anything. A destroy does not wait for it as long as it may take to connect.
func TestHungNodeCostsItsPrepareTimeoutOnce(t *testing.T) {
	t.Run("and leaves the site", func(t *testing.T) { testHungNode(t, true) })
	t.Run("and is destroyed", func(t *testing.T) { testHungNode(t, false) })
}

func testHungNode(t *testing.T, leaves bool) {
	s := newSandbox(t, "a")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	s.must(err)
	block, err := ssh.MarshalPrivateKey(key, "")
	s.must(err)
	s.must(os.WriteFile(s.path("a", "key"), pem.EncodeToMemory(block), 0o600))
	var accepted atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test is over
			}
			accepted.Add(1)
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	config := func(groups, nodes, more string) string {
		text := s.config([]string{"a"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "one"})+more+`
resource "slipway_group" "near" {
  name      = "near"
  critical  = true
  selectors = [{ node_names = ["a"] }]
}
`, "drift_detection = \"off\"\ngroups = ["+groups+"]") // a refresh would wait for the hung node, too
		return strings.Replace(text, "nodes = [slipway_node.a]", "nodes = ["+nodes+"]", 1)
	}
	hung := fmt.Sprintf(`
resource "slipway_node" "hung" {
  name    = "hung"
  address = "127.0.0.1"
  connect = { user = "nobody", port = %d, connect_timeout = "10m", host_key_policy = "accept-new", known_hosts_file = %q, private_key_file = %q }
}
resource "slipway_group" "far" {
  name            = "far"
  selectors       = [{ node_names = ["hung"] }]
  critical        = false
  prepare_timeout = "5s"
}
`, l.Addr().(*net.TCPAddr).Port, s.path("a", "known_hosts"), s.path("a", "key"))
	var begin time.Time
	steps := []resource.TestStep{
		{
			PreConfig: func() { begin = time.Now() }, Config: config("slipway_group.far, slipway_group.near", "slipway_node.a, slipway_node.hung", hung), ConfigStateChecks: []statecheck.StateCheck{status("degraded")},
			ExpectNonEmptyPlan: true,
			Check: resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), func(*terraform.State) error {
				if took := time.Since(begin); took > 5*time.Minute || accepted.Load() != 1 {
					return fmt.Errorf("the run took %s, and the hung node was tried %d times", took, accepted.Load())
				}
				return nil
			}),
		},
	}
	if leaves {
		steps = append(steps, resource.TestStep{PreConfig: func() { s.must(l.Close()) },
			Config: config("slipway_group.near", "slipway_node.a", "")})
	}
	steps = append(steps, resource.TestStep{PreConfig: func() { begin = time.Now() }, RefreshState: true, ExpectNonEmptyPlan: !leaves})
	run(t, steps, func(state *terraform.State) error {
		if took := time.Since(begin); took > 3*time.Minute {
			return fmt.Errorf("the destroy took %s", took)
		}
		return s.gone("a")(state)
	})
}
