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

func TestConnectionOverSharesNothing(t *testing.T) {
	yes := true
	defaults := Connection{Sudo: &yes, KnownHosts: []string{"a"}, Bastions: []Bastion{{Host: "jump"}}}
	got := Connection{}.Over(defaults)
	*got.Sudo, got.KnownHosts[0], got.Bastions[0].Host = false, "b", "other"
	if !*defaults.Sudo || defaults.KnownHosts[0] != "a" || defaults.Bastions[0].Host != "jump" {
		t.Errorf("a change of the result changed the defaults: %+v", defaults)
	}
}
