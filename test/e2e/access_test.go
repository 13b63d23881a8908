package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// obstacle is a reason for which a node cannot be worked on.
type obstacle struct {
	name       string
	connection func(map[string]any) // changes the connection
	mode       string               // of lab fail, while it lasts
	before     string               // a command on the node that puts the obstacle up
	after      string               // and one that takes it away
	says       []string             // in the diagnostic, besides the node's name
	warnings   int                  // besides the error: what the provider's configuration is warned of already
}

// TestBadAccess meets every obstacle on the way to a node. Each gives one diagnostic, which names node and attribute, and nothing is applied.
func TestBadAccess(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	node, other := two[0], two[1]
	keys := t.TempDir()
	for file, passphrase := range map[string]string{"stranger": "", "encrypted": "sesame"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", filepath.Join(keys, file)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	own, err := os.ReadFile(nodes.State("id_ed25519"))
	if err != nil {
		t.Fatal(err)
	}
	encrypted := filepath.Join(keys, "encrypted")
	as := func(attributes ...any) func(map[string]any) {
		return func(c map[string]any) {
			for i := 0; i < len(attributes); i += 2 {
				c[attributes[i].(string)] = attributes[i+1]
			}
		}
	}
	key := func(file string, more ...any) func(map[string]any) {
		return as(append(more, "private_key_file", file)...)
	}
	knows := func(host, key string) func(map[string]any) {
		return func(c map[string]any) {
			delete(c, "known_hosts_file")
			c["known_hosts"] = []string{host + " " + key}
		}
	}
	otherKey := strings.TrimSpace(other.On(t, "cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub"))

	before := fingerprints(t, node)
	for _, o := range []obstacle{
		// Whether the time limit or the kernel's "no route to host" comes first depends on what its neighbour table still knows (execution.md 1);
		// the one names connection.connect_timeout, the other connection.port.
		{name: "node hangs", mode: "hang", connection: as("connect_timeout", "2s"), says: []string{node.Address + ":22", "connection."}},
		{name: "node is unplugged", mode: "link", connection: as("connect_timeout", "2s"), says: []string{node.Address + ":22", "connection."}},
		{name: "nobody listens", connection: as("port", 23), says: []string{node.Address + ":23", "connection.port"}},
		{name: "bastion is not there", connection: as("bastions", []any{map[string]any{"host": other.Address, "port": 23}}), says: []string{other.Address + ":23", "bastion", "connection.bastions[0]"}},
		{name: "host key changed", connection: knows(node.Address, otherKey), says: []string{"has CHANGED", "connection.known_hosts"}},
		{name: "host key unknown", connection: knows(other.Address, otherKey), says: []string{"is unknown", "connection.known_hosts"}},
		{name: "key refused", connection: key(filepath.Join(keys, "stranger")), says: []string{"connection.user", "connection.private_key_file", "authorized_keys"}},
		{name: "user unknown", connection: as("user", "nobody-of-that-name"), says: []string{"nobody-of-that-name", "connection.user"}},
		{name: "key file missing", warnings: 1, connection: key(filepath.Join(keys, "none")), says: []string{"connection.private_key_file", "no such file"}},
		{name: "key file unreadable", warnings: 1, connection: key(keys), says: []string{"connection.private_key_file", "is a directory"}},
		{name: "key file is public", connection: key(encrypted + ".pub"), says: []string{"connection.private_key_file", "public key"}},
		{name: "key encrypted", connection: key(encrypted), says: []string{"connection.private_key_file", "encrypted", "connection.passphrase"}},
		{name: "passphrase wrong", connection: key(encrypted, "passphrase", "tomato"), says: []string{"connection.passphrase is not its passphrase"}},
		{name: "not root", connection: as("user", "slipway"), says: []string{"not root", "connection.sudo"}},
		{
			name: "sudo refused", connection: as("user", "slipway", "sudo", true), says: []string{"sudo", `"slipway" (connection.user)`, "sudoers"},
			before: "mv /etc/sudoers.d/slipway /var/tmp/kept", after: "mv /var/tmp/kept /etc/sudoers.d/slipway",
		},
		{
			name: "no shell", connection: as("user", "slipway", "sudo", true), says: []string{"login shell", "connection.user", `"slipway"`},
			before: "usermod -s /usr/sbin/nologin slipway", after: "usermod -s /bin/bash slipway",
		},
		{
			name: "account expired", connection: as("user", "slipway"), says: []string{"has expired", "connection.user", `"slipway"`},
			before: "chage -E 0 slipway", after: "chage -E -1 slipway",
		},
		{
			name: "noexec", says: []string{"/var/lib/slipway", "noexec"},
			before: "mkdir /var/lib/slipway && mount -t tmpfs -o noexec,mode=700 none /var/lib/slipway", after: "umount /var/lib/slipway && rmdir /var/lib/slipway",
		},
	} {
		t.Run(o.name, func(t *testing.T) { o.meet(t, node) })
	}
	assertUntouched(t, before, node)
	if now, err := os.ReadFile(nodes.State("id_ed25519")); err != nil || string(now) != string(own) {
		t.Errorf("the private key is no longer what it was: %v", err)
	}
}

func (o obstacle) meet(t *testing.T, node lab.Node) {
	c := connection()
	if o.connection != nil {
		o.connection(c)
	}
	w := newWorkspace(t, config{site: "bad", nodes: []lab.Node{node}}.hcl(t))
	w.set("connection", c)
	if o.before != "" {
		node.On(t, o.before)
		defer node.On(t, o.after)
	}
	if o.mode != "" {
		node.Fail(t, o.mode)
	}
	r := w.apply()
	if o.mode != "" {
		node.Heal(t)
	}
	w.must(r, 1)
	_, diagnostic, _ := strings.Cut(unwrapped(r.out), "Error: ")
	for _, want := range append(o.says, "The site was not rolled out", "default (critical): FAILED", node.Name+" (default): ") {
		if !strings.Contains(diagnostic, want) {
			t.Errorf("no %q in: %s", want, diagnostic)
		}
	}
	if errors, warnings := strings.Count(r.out, "Error: "), strings.Count(r.out, "Warning: "); errors != 1 || warnings != o.warnings {
		t.Errorf("%d errors and %d warnings, want one error:\n%s", errors, warnings, r.out)
	}
	for _, secret := range []string{"PRIVATE KEY", "tomato", "sesame"} {
		if strings.Contains(r.out, secret) {
			t.Errorf("the output shows %q:\n%s", secret, r.out)
		}
	}
	if got := node.On(t, "ls "+testFile+" /var/lib/slipway/ledger.json 2>/dev/null || true"); got != "" {
		t.Errorf("something was applied: %s", got)
	}
}
