package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func line(t *testing.T, host string, key ssh.PublicKey) string {
	t.Helper()
	return host + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func TestKnownHosts(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	second, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	s := sshtest.Start(t, sshtest.Options{HostKeys: []ssh.Signer{sshtest.NewKey(t), second}})
	other := sshtest.NewKey(t).PublicKey()
	bracketed := knownhosts.Normalize(s.Address)
	own, fingerprint := s.HostKey.PublicKey(), ssh.FingerprintSHA256(s.HostKey.PublicKey())

	for _, test := range []struct {
		name  string
		lines []string
		kind  Kind
		words []string
	}{
		{"known", []string{s.KnownHost()}, "", nil},
		{"hashed", []string{line(t, knownhosts.HashHostname(bracketed), own)}, "", nil},
		{"only its second key is known", []string{line(t, bracketed, second.PublicKey())}, "", nil},
		{"one of several", []string{line(t, bracketed, other), s.KnownHost()}, "", nil},
		{"comments and blanks", []string{"# a comment", "", s.KnownHost()}, "", nil},
		{"unknown", []string{line(t, "elsewhere", own)}, HostKey,
			[]string{"is unknown", fingerprint, "connection.known_hosts", knownhosts.Line([]string{s.Address}, own)}},
		{"known on another port only", []string{line(t, "127.0.0.1", own)}, HostKey, []string{"is unknown"}},
		{"changed", []string{line(t, bracketed, other)}, HostKey,
			[]string{"CHANGED", "expected ssh-ed25519 " + ssh.FingerprintSHA256(other) + " (connection.known_hosts[0])",
				"it showed ssh-ed25519 " + fingerprint}},
		{"revoked", []string{s.KnownHost(), "@revoked " + line(t, "*", own)}, HostKey,
			[]string{"is revoked in connection.known_hosts[1]"}},
		{"authority, but plain key", []string{"@cert-authority " + line(t, bracketed, other)}, HostKey,
			[]string{"no host certificate"}},
		{"none", nil, Config, []string{"no host key is known", "connection.known_hosts_file"}},
		{"malformed", []string{s.KnownHost(), "rubbish"}, Config, []string{"connection.known_hosts[1]"}},
		{"unknown marker", []string{s.KnownHost(), "@future " + s.KnownHost()}, Config,
			[]string{"connection.known_hosts[1]", `"@future"`, "@cert-authority or @revoked"}},
		{"malformed key", []string{"host ssh-ed25519 AAAA"}, Config, []string{"connection.known_hosts[0]"}},
		{"two in one", []string{s.KnownHost() + "\n" + s.KnownHost()}, Config, []string{"one line each"}},
		{"malformed pattern", []string{line(t, "[host", own)}, Config,
			[]string{"connection.known_hosts[0]: the host pattern"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := s.Connection()
			c.KnownHosts = test.lines
			if test.kind == "" {
				dialTest(t, c)
				return
			}
			refusal(t, c, test.kind, test.words...)
		})
	}
	t.Run("policy", func(t *testing.T) {
		c := s.Connection()
		c.HostKeyPolicy = "off"
		refusal(t, c, Config, `connection.host_key_policy is "off"`, `"strict" or "accept-new"`)
	})
}

func TestTheKnownTypeIsGone(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	known, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	s := sshtest.Start(t, sshtest.Options{})
	c := s.Connection()
	c.KnownHosts = []string{line(t, knownhosts.Normalize(s.Address), known.PublicKey())}
	refusal(t, c, HostKey, "CHANGED", "expected ecdsa-sha2-nistp256", "it has only keys of the types ssh-ed25519")
}

func TestHostCertificates(t *testing.T) {
	authority, key := sshtest.NewKey(t), sshtest.NewKey(t)
	certified := func(principal string, until time.Time) ssh.Signer {
		cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{principal},
			ValidBefore: uint64(until.Unix())}
		if err := cert.SignCert(rand.Reader, authority); err != nil {
			t.Fatal(err)
		}
		signer, err := ssh.NewCertSigner(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return signer
	}
	valid := time.Now().Add(time.Hour)
	good := sshtest.Start(t, sshtest.Options{HostKeys: []ssh.Signer{certified("127.0.0.1", valid)}})
	wrong := sshtest.Start(t, sshtest.Options{HostKeys: []ssh.Signer{certified("elsewhere", valid)}})
	old := sshtest.Start(t, sshtest.Options{HostKeys: []ssh.Signer{certified("127.0.0.1", valid.Add(-2*time.Hour))}})
	with := func(s *sshtest.Server, lines ...string) site.Connection {
		c := s.Connection()
		for _, l := range lines {
			c.KnownHosts = append([]string{}, c.KnownHosts...)
			c.KnownHosts[0] = strings.ReplaceAll(l, "HOST", knownhosts.Normalize(s.Address))
		}
		return c
	}
	trust := "@cert-authority " + line(t, "HOST", authority.PublicKey())
	dialTest(t, with(good, trust))
	refusal(t, with(wrong, trust), HostKey, "host certificate", "principal")
	refusal(t, with(old, trust), HostKey, "host certificate", "expired")
	revoked := with(good, trust)
	revoked.KnownHosts = append(revoked.KnownHosts, "@revoked "+line(t, "*", key.PublicKey()))
	refusal(t, revoked, HostKey, "revoked")
}

func TestKnownHostsFile(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	dir := t.TempDir()
	with := func(content string) site.Connection {
		c := s.Connection()
		c.KnownHosts, c.KnownHostsFile = nil, write(t, filepath.Join(dir, "known_hosts"), content)
		return c
	}
	dialTest(t, with("# kept by hand\nhost ssh-future@example.org AAAAB3Nza\n"+s.KnownHost()+"\n"))
	refusal(t, with("elsewhere ssh-ed25519 broken\n"), Config, "connection.known_hosts_file", "known_hosts:1")
	other := line(t, knownhosts.Normalize(s.Address), sshtest.NewKey(t).PublicKey())
	refusal(t, with("\n"+other+"\n"), HostKey, "CHANGED", filepath.Join(dir, "known_hosts")+":2")
	c := with("")
	c.KnownHostsFile += ".none"
	refusal(t, c, Config, "connection.known_hosts_file", "cannot be read: no such file")
}

func TestAcceptNew(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	path := filepath.Join(t.TempDir(), "ssh", "known_hosts")
	c := s.Connection()
	c.KnownHosts, c.KnownHostsFile, c.HostKeyPolicy = nil, path, acceptNew

	var together sync.WaitGroup
	for range 8 { // all meet the unknown host at once: one line is enough
		together.Go(func() {
			conn, err := quick.dial(t.Context(), c, "web1", "127.0.0.1")
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		})
	}
	together.Wait()
	content, err := os.ReadFile(path)
	if err != nil || string(content) != s.KnownHost()+"\n" {
		t.Fatalf("remembered %q, error %v", content, err)
	}

	c.HostKeyPolicy = strict
	dialTest(t, c)
	c.HostKeyPolicy = acceptNew
	changed := line(t, knownhosts.Normalize(s.Address), sshtest.NewKey(t).PublicKey())
	write(t, path, changed)
	refusal(t, c, HostKey, "CHANGED", path+":1")
	if content, _ = os.ReadFile(path); string(content) != changed {
		t.Errorf("the file was changed to %q", content)
	}

	write(t, path, "elsewhere "+strings.SplitN(changed, " ", 2)[1]) // without a newline at its end
	dialTest(t, c)
	if content, _ = os.ReadFile(path); !strings.HasSuffix(string(content), "\n"+s.KnownHost()+"\n") {
		t.Errorf("remembered %q", content)
	}

	c.KnownHostsFile = ""
	refusal(t, c, Config, "connection.known_hosts_file, where new keys are remembered")
}

// Two connections meet a host at once, and one of them a different one: the first key counts.
func TestAcceptNewRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known_hosts")
	c := site.Connection{KnownHostsFile: path, HostKeyPolicy: acceptNew}
	hosts, err := newHostKeys(c, "web1")
	if err != nil {
		t.Fatal(err)
	}
	meet := func() *verifier {
		db, err := hosts.read("host:22")
		if err != nil {
			t.Fatal(err)
		}
		v := &verifier{hop: &hop{node: "web1", address: "host:22", hosts: hosts}, db: db}
		v.learn = func(key ssh.PublicKey) error { return v.remember(t.Context(), key) }
		return v
	}
	one, two := meet(), meet()
	remote := addr("host:22")
	if err := one.check("host:22", remote, sshtest.NewKey(t).PublicKey()); err != nil {
		t.Fatal(err)
	}
	isError(t, two.check("host:22", remote, sshtest.NewKey(t).PublicKey()), HostKey, "CHANGED")
}

type addr string

func (a addr) Network() string { return "tcp" }
func (a addr) String() string  { return string(a) }
