package resources_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Files that the connections of nodes name are looked for at plan time, whatever form the nodes have: once for all
// nodes that lack the same file.
func TestTextMissingFilesOfNodes(t *testing.T) {
	c, s := newCommandLine(t), newSandbox(t)
	s.must(os.WriteFile(s.path("there", ""), nil, 0o600))
	missing, there := s.path("missing", ""), s.path("there", "")
	config := func(provider, more string) string {
		return fmt.Sprintf(`
provider "slipway" {
  %[3]s
}
resource "slipway_node" "own" {
  name    = "own"
  address = "own.example"
  connect = { private_key_file = %[1]q }
}
resource "slipway_deployment" "test" {
  site  = "missing"
  nodes = concat([for i in range(100) : {
    name    = format("plain%%03d", i)
    address = "10.0.0.${i + 1}"
    connect = { private_key_file = %[1]q }
  }], [
    slipway_node.own,
    { name = "hop", address = "hop.example", connect = { bastions = [
      { host = "jump1", private_key_file = %[2]q },
      { host = "jump2", private_key_file = %[1]q },
    ] } },
    { name = "hosts", address = "hosts.example", connect = { known_hosts_file = %[1]q } },
    { name = "made", address = "made.example", connect = { known_hosts_file = %[1]q, host_key_policy = "accept-new" } },
    { name = "there", address = "there.example", connect = { private_key_file = %[2]q, known_hosts_file = %[2]q } },
    { name = "local", connect = { transport = "local", root = %[4]q, private_key_file = %[1]q } },
  ])
  services = [{ name = "motd", selectors = [], configuration = { file = { "/etc/motd" = { content = %[5]s } } } }]
}
`, missing, there, provider, s.dir, more)
	}
	local := fmt.Sprintf("journal_directory = %q\n", s.path("journal", ""))
	c.configure(config(local, `"one"`))
	text := unwrapped(c.changes())
	c.has(text, []string{
		"hop: connect.bastions[1].private_key_file: " + missing + ": no such file",
		"hosts: connect.known_hosts_file: " + missing + ": no such file",
		"101 nodes (own, plain000, plain001, plain002, plain003 and 96 more): connect.private_key_file: " + missing + ": no such file",
	}, "bastions[0]", "(made", "(there", "(local", "similar warning")
	if n := strings.Count(text, "File of a connection cannot be read"); n != 1 {
		t.Errorf("%d warnings of missing files, want one:\n%s", n, text)
	}

	// What is not known yet hides none of it.
	unknown := "resource \"terraform_data\" \"later\" {}\n"
	c.configure(unknown + config(local, "terraform_data.later.id"))
	c.has(unwrapped(c.changes()), []string{"101 nodes (own, plain000, plain001, plain002, plain003 and 96 more): connect.private_key_file: " + missing})

	// The provider's own file is named once, where it is written.
	c.configure(config(local+fmt.Sprintf("connection = { private_key_file = %q }", missing), `"one"`))
	c.has(unwrapped(c.changes()), []string{"connection.private_key_file: " + missing + ": no such file"}, "): connect.private_key_file", "(made)")

	// Workers have the files of an engine's nodes.
	c.configure(config(fmt.Sprintf(`journal        = "postgres://nobody@127.0.0.1:1/none"
  encryption_key = %q
  engine         = { temporal = { address = "127.0.0.1:1" } }`, key), `"one"`))
	c.has(unwrapped(c.changes("-refresh=false")), nil, "cannot be read")
}
