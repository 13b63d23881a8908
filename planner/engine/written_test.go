package engine

import (
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// An error about the way to a node names each attribute where the user wrote it: at the node, or at the provider.
func TestErrorsNameConnectionsAsTheyWereWritten(t *testing.T) {
	key, _ := sshtest.NewPrivateKey(t, "")
	_, stranger := sshtest.NewPrivateKey(t, "")
	s := sshtest.Start(t, sshtest.Options{Keys: []ssh.PublicKey{key.PublicKey()}})
	all := s.Connection()
	host, port := s.Host()
	for _, tt := range []struct {
		node, defaults site.Connection
		says           []string
	}{
		{site.Connection{User: "ops", PrivateKey: stranger}, site.Connection{Port: port, KnownHosts: all.KnownHosts},
			[]string{`the user "ops" in (connect.user)`, "(connect.credentials.private_key)"}},
		{site.Connection{PrivateKey: stranger}, site.Connection{User: "ops", Port: port, KnownHosts: all.KnownHosts},
			[]string{`the user "ops" in (connection.user)`, "(connect.credentials.private_key)"}},
		{site.Connection{Port: 1}, site.Connection{PrivateKey: stranger, KnownHosts: all.KnownHosts},
			[]string{"the node's address and connect.port"}},
		{site.Connection{User: "ops", Bastions: []site.Bastion{{Host: host, Port: port, PrivateKey: stranger}}},
			site.Connection{PrivateKey: stranger, KnownHosts: all.KnownHosts},
			[]string{`the user "ops" in (connect.user)`, "(connect.bastions[0].credentials.private_key)"}},
		{site.Connection{HostKeyPolicy: "accept-new"}, site.Connection{PrivateKey: stranger},
			[]string{`connect.host_key_policy "accept-new" needs connection.known_hosts_file`}},
		{site.Connection{}, site.Connection{PrivateKeyFile: "/no/such/file", KnownHosts: all.KnownHosts},
			[]string{"connection.private_key_file: /no/such/file"}},
	} {
		n := Reach([]site.Node{{Name: "a", Address: host, Connection: tt.node}}, tt.defaults)[0]
		conn, err := transport.Dial(t.Context(), n.Connection, n.Name, n.Address)
		if err == nil {
			_ = conn.Close()
			t.Fatalf("%+v: no error", tt.node)
		}
		for _, want := range tt.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in: %v", want, err)
			}
		}
	}
}
