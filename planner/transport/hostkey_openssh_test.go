package transport

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Patterns and unknown types of keys mean what they mean to OpenSSH, on ports other than 22, too: accept-new trusts no
// new key of a host that known_hosts has something to say about.
func TestKnownHostsAsOpenSSHReadsThem(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	other, own := sshtest.NewKey(t).PublicKey(), s.HostKey.PublicKey()
	bracketed := knownhosts.Normalize(s.Address)
	for _, test := range []struct {
		name, content string
		word          string // of the refusal; empty: the host is trusted
	}{
		{"authority for all", "@cert-authority " + line(t, "*", other), "certificate authority"},
		{"other key for all", line(t, "*", other), "CHANGED"},
		{"key for all", line(t, "elsewhere,*", own), ""},
		{"pattern over the port", line(t, "*127.0.0.?]:*", other), "CHANGED"},
		{"pattern without a port", line(t, "127.0.0.*", other), ""},
		{"negated", line(t, "*,!*", other), ""},
		{"revoked for all", "@revoked " + line(t, "*", own), "is revoked"},
		{"unknown type", bracketed + " ssh-future AAAA", "types that slipway cannot verify"},
		{"unknown type for all", "* ssh-future AAAA", "types that slipway cannot verify"},
		{"unknown type elsewhere", "elsewhere ssh-future AAAA", ""},
		{"unknown type and its key", bracketed + " ssh-future AAAA\n" + s.KnownHost(), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := s.Connection()
			c.KnownHosts, c.HostKeyPolicy, c.KnownHostsFile = nil, acceptNew, filepath.Join(t.TempDir(), "known_hosts")
			if err := os.WriteFile(c.KnownHostsFile, []byte(test.content+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			host, _ := s.Host()
			conn, err := Dial(t.Context(), c, "web1", host)
			if err == nil {
				conn.Close()
			}
			var refused *Error
			switch {
			case test.word == "" && err != nil:
				t.Errorf("the host is not trusted: %v", err)
			case test.word != "" && (!errors.As(err, &refused) || refused.Kind != HostKey ||
				!strings.Contains(err.Error(), test.word)):
				t.Errorf("error is %v, want %q", err, test.word)
			}
		})
	}
}

// SHA-1 is broken: a server that can agree on keys with nothing else is refused.
func TestNoKeyExchangeWithSHA1(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{KeyExchanges: []string{ssh.InsecureKeyExchangeDH14SHA1}})
	host, _ := s.Host()
	conn, err := Dial(t.Context(), s.Connection(), "web1", host)
	if err == nil {
		conn.Close()
	}
	var refused *Error
	if !errors.As(err, &refused) || refused.Kind != Config ||
		!strings.Contains(err.Error(), "no algorithm that is still safe") {
		t.Errorf("error is %v", err)
	}
}

// A host on port 22 has no brackets and no port in known_hosts: a pattern that has them never is this host's (OpenSSH's
// put_host_port).
func TestBracketsAreNeverPort22(t *testing.T) {
	key := sshtest.NewKey(t).PublicKey()
	for pattern, known := range map[string]bool{
		"[*]:22": false, "[node]:22": false, "![*]:22,node": true, "[*]:22,n*": true, "node": true, "*": true,
	} {
		h := hostKeys{named: site.Connection{}.Named, lines: []string{line(t, pattern, key)}}
		db, err := h.read("node:22")
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.lookup("node:22")
		if err != nil || len(got.keys) > 0 != known {
			t.Errorf("%s: %d keys, error %v; known is %v", pattern, len(got.keys), err, known)
		}
	}
}

// Host names have no case: a key that known_hosts has for the host in another spelling is that host's (ssh(1) and
// match_hostname of OpenSSH lower both), and accept-new must not trust another one.
func TestTheCaseOfAHostDoesNotCount(t *testing.T) {
	key := sshtest.NewKey(t).PublicKey()
	for _, test := range []struct {
		pattern, address string
		known            bool
	}{
		{"web1", "WEB1:22", true},
		{"WEB1", "web1:22", true},
		{"*.Example", "a.example:22", true},
		{"2001:DB8::1", "[2001:db8::1]:22", true},
		{"*,!WEB1", "web1:22", false},
		{"[WEB1]:2222", "web1:2222", true},
		{"*,![WEB1]:2222", "web1:2222", false},
		{knownhosts.HashHostname("web1"), "WEB1:22", true},
		{knownhosts.HashHostname("[web1]:2222"), "WEB1:2222", true},
	} {
		h := hostKeys{named: site.Connection{}.Named, lines: []string{line(t, test.pattern, key)}}
		db, err := h.read(test.address)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.lookup(test.address)
		if err != nil || len(got.keys) > 0 != test.known {
			t.Errorf("%s, %s: %d keys, error %v; want known = %t", test.pattern, test.address, len(got.keys), err, test.known)
		}
	}
}
