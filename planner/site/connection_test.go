package site

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConnectionOver(t *testing.T) {
	yes, no := true, false
	defaults := Connection{
		User: "root", Port: 22, PrivateKeyFile: "id", Passphrase: "secret", Certificate: "cert", Agent: &yes,
		KnownHosts: []string{"a ssh-ed25519 AAAA"}, KnownHostsFile: "known", HostKeyPolicy: "strict",
		Bastions: []Bastion{{Host: "jump"}}, Sudo: &yes, SudoPassword: "pw", ConnectTimeout: time.Second,
		Transport: "ssh",
	}
	with := func(change func(*Connection)) Connection {
		c := defaults
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name           string
		node, defaults Connection
		want           Connection
	}{
		{"nothing given", Connection{}, defaults, defaults},
		{"no defaults", defaults, Connection{}, defaults},
		{"attribute by attribute", Connection{User: "ops", Port: 2222, ConnectTimeout: time.Minute}, defaults,
			with(func(c *Connection) { c.User, c.Port, c.ConnectTimeout = "ops", 2222, time.Minute })},
		{"false is said", Connection{Sudo: &no, Agent: &no}, defaults,
			with(func(c *Connection) { c.Sudo, c.Agent = &no, &no })},
		{"a key keeps the default's keys out", Connection{PrivateKey: "PEM"}, defaults,
			with(func(c *Connection) {
				c.PrivateKey, c.PrivateKeyFile, c.Passphrase, c.Certificate, c.Agent = "PEM", "", "", "", nil
			})},
		{"the agent keeps the default's keys out", Connection{Agent: &yes}, defaults,
			with(func(c *Connection) { c.PrivateKeyFile, c.Passphrase, c.Certificate = "", "", "" })},
		{"a passphrase alone belongs to the default's key", Connection{Passphrase: "other"}, defaults,
			with(func(c *Connection) { c.Passphrase = "other" })},
		{"bastions are replaced whole", Connection{Bastions: []Bastion{{Host: "x", User: "u"}}}, defaults,
			with(func(c *Connection) { c.Bastions = []Bastion{{Host: "x", User: "u"}} })},
		{"an empty list says none", Connection{Bastions: []Bastion{}, KnownHosts: []string{}}, defaults,
			with(func(c *Connection) { c.Bastions, c.KnownHosts = []Bastion{}, []string{} })},
		{"a root belongs to local", Connection{Transport: "ssh"}, Connection{Transport: "local", Root: "/sandbox"},
			Connection{Transport: "ssh"}},
		{"a local node stays in the default's sandbox", Connection{Transport: "local"}, Connection{Root: "/sandbox"},
			Connection{Transport: "local", Root: "/sandbox"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.node.Over(tt.defaults)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An attribute is named as who gave it wrote it: the node, what the defaults name themselves, or the provider.
func TestConnectionIsNamedAsItWasWritten(t *testing.T) {
	yes := true
	provider := Connection{User: "root", Port: 22, KnownHostsFile: "k", Names: map[string]string{"known_hosts_file": "SLIPWAY_KNOWN_HOSTS_FILE"}}
	defaults := Connection{PrivateKey: "p", Names: map[string]string{"private_key": "private_key_wo"}}.Over(provider)
	node := Connection{User: "ops", Sudo: &yes, SudoPassword: "s", Bastions: []Bastion{{Host: "jump"}}}
	for _, c := range []Connection{node.OfNode().Over(defaults), node.OfNode().Over(defaults).Over(Connection{ConnectTimeout: time.Second})} {
		for attribute, want := range map[string]string{
			"user": "connect.user", "sudo": "connect.sudo", "sudo_password": "connect.credentials.sudo_password",
			"bastions[0].user":        "connect.bastions[0].user",
			"bastions[0].private_key": "connect.bastions[0].credentials.private_key",
			"port":                    "connection.port", "connect_timeout": "connection.connect_timeout",
			"private_key": "private_key_wo", "known_hosts_file": "SLIPWAY_KNOWN_HOSTS_FILE", "known_hosts": "connection.known_hosts",
		} {
			if got := c.Named(attribute); got != want {
				t.Errorf("%s is %s, want %s", attribute, got, want)
			}
		}
	}
	said := Connection{User: "u", Bastions: []Bastion{{Host: "jump"}}}.WrittenAs(func(string, bool) string { return SSHConfigFile })
	if c := (Connection{Port: 23}).OfNode().Over(said); c.Named("user") != SSHConfigFile || c.Named("bastions[0].user") != SSHConfigFile ||
		c.Named("port") != "connect.port" {
		t.Errorf("the names of what the configuration of OpenSSH says: %v", c.Names)
	}
	if c := (Connection{PrivateKeyFile: "f"}).OfNode().Over(defaults); c.Named("private_key") != "connection.private_key" ||
		c.Named("private_key_file") != "connect.private_key_file" {
		t.Errorf("the name of a key that is left out is kept: %v", c.Names)
	}
	if node.Names != nil || len(defaults.Names) != 2 {
		t.Errorf("the arguments were changed: %v, %v", node.Names, defaults.Names)
	}
}

func TestConnectionOverSharesNothing(t *testing.T) {
	yes := true
	defaults := Connection{Sudo: &yes, KnownHosts: []string{"a"}, Bastions: []Bastion{{Host: "jump"}}}
	got := Connection{}.Over(defaults)
	*got.Sudo, got.KnownHosts[0], got.Bastions[0].Host = false, "b", "other"
	if !*defaults.Sudo || defaults.KnownHosts[0] != "a" || defaults.Bastions[0].Host != "jump" {
		t.Errorf("a change of the result changed the defaults: %+v", defaults)
	}
}
