package transport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// With ssh_config a node's address is a name in the user's configuration of OpenSSH, which says where the node is, how
// to log in and through which hosts. What the connection gives counts before it.
func TestSSHConfig(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	gate, node := sshtest.Start(t, sshtest.Options{}), sshtest.Start(t, sshtest.Options{})
	_, gatePort := gate.Host()
	host, port := node.Host()
	file := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(home, ".ssh"), 0o700),
			os.WriteFile(filepath.Join(home, ".ssh", name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	file("node", node.Key)
	file("gate", gate.Key)
	file("config", fmt.Sprintf(`Host web
  HostName %s
  Port %d
  User %s
  IdentityFile ~/.ssh/node
  ProxyJump gate

Host gate
  HostName 127.0.0.1
  Port %d
  User %s
  IdentityFile %%d/.ssh/gate

Host *
  ForwardAgent yes
`, host, port, sshtest.User, gatePort, sshtest.User))
	on := true
	connection := func() site.Connection {
		return site.Connection{SSHConfig: &on, KnownHosts: []string{gate.KnownHost(), node.KnownHost()}}
	}
	dial := func(c site.Connection) error {
		conn, err := quick.dial(t.Context(), c, "web1", "web")
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = run(t.Context(), conn, "true", "")
		return err
	}
	if err := dial(connection()); err != nil || gate.Accepted() != 1 || node.Accepted() != 1 {
		t.Fatalf("error %v; connections of the jump host: %d, of the node: %d", err, gate.Accepted(), node.Accepted())
	}

	t.Run("what is given counts", func(t *testing.T) {
		c := connection()
		c.Bastions = []site.Bastion{}
		if err := dial(c); err != nil || gate.Accepted() != 1 {
			t.Errorf("no jump hosts: error %v, the jump host has %d connections", err, gate.Accepted())
		}
		_, key := sshtest.NewPrivateKey(t, "")
		for name, give := range map[string]func(*site.Connection){
			"user": func(c *site.Connection) { c.User = "other" },
			"key":  func(c *site.Connection) { c.PrivateKey = key },
		} {
			c := connection()
			give(&c)
			if err := dial(c); err == nil {
				t.Errorf("%s: the file counts", name)
			} else {
				isError(t, err, Auth)
			}
		}
		c = connection()
		c.Port = gatePort
		isError(t, dial(c), Auth)
	})
	t.Run("only where it is asked for", func(t *testing.T) {
		off := false
		for _, asked := range []*bool{nil, &off} {
			c := connection()
			c.SSHConfig, c.PrivateKey = asked, node.Key
			if err := dial(c); err == nil {
				t.Error("the file is read")
			}
		}
	})
	t.Run("errors name file and line", func(t *testing.T) {
		name := filepath.Join(home, ".ssh", "config")
		for text, says := range map[string]string{
			"Host web\n  Port 70000\n":                                        name + ":2:",
			"Host web\n  ProxyJump web\n":                                     "is reached through itself",
			"Host web\n  Port 22\n  ProxyJump a@b:c\n":                        name + ":3:",
			"Host web\n  IdentityFile ~/.ssh/missing\n  HostName 127.0.0.1\n": "missing",
		} {
			file("config", text)
			var e *Error
			if err := dial(connection()); !errors.As(err, &e) || e.Kind != Config && e.Kind != Key {
				t.Errorf("%q: error is %#v (%v)", text, err, err)
			} else {
				isError(t, err, e.Kind, says)
			}
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		isError(t, dial(connection()), Config, "connection.ssh_config", name, "no such file")
	})
}
