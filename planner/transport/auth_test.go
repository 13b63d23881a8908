package transport

import (
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate signs key for the test user, valid until the given time.
func certificate(t *testing.T, authority ssh.Signer, key ssh.PublicKey, kind uint32, until time.Time) string {
	t.Helper()
	cert := &ssh.Certificate{
		Key: key, CertType: kind, ValidPrincipals: []string{sshtest.User},
		ValidAfter: uint64(until.Add(-2 * time.Hour).Unix()), ValidBefore: uint64(until.Unix()),
	}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(cert))
}

func TestPrivateKeys(t *testing.T) {
	locked, lockedPEM := sshtest.NewPrivateKey(t, "sesame")
	_, foreignPEM := sshtest.NewPrivateKey(t, "")
	s := sshtest.Start(t, sshtest.Options{Keys: []ssh.PublicKey{locked.PublicKey()}})
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	write(t, filepath.Join(home, "id"), s.Key)
	public := write(t, filepath.Join(home, "id.pub"), string(ssh.MarshalAuthorizedKey(locked.PublicKey())))

	for _, test := range []struct {
		name  string
		set   func(c *site.Connection)
		kind  Kind // empty: it works
		words []string
	}{
		{"text", func(c *site.Connection) {}, "", nil},
		{"file below home", func(c *site.Connection) { c.PrivateKey, c.PrivateKeyFile = "", "~/id" }, "", nil},
		{"encrypted", func(c *site.Connection) { c.PrivateKey, c.Passphrase = lockedPEM, "sesame" }, "", nil},
		{"passphrase without need", func(c *site.Connection) { c.Passphrase = "sesame" }, "", nil},
		{"passphrase missing", func(c *site.Connection) { c.PrivateKey = lockedPEM }, Key,
			[]string{"connection.private_key:", "encrypted", "set connection.passphrase"}},
		{"wrong passphrase", func(c *site.Connection) { c.PrivateKey, c.Passphrase = lockedPEM, "open" }, Key,
			[]string{"connection.passphrase is not its passphrase"}},
		{"no such file", func(c *site.Connection) { c.PrivateKey, c.PrivateKeyFile = "", "~/none" }, Key,
			[]string{"connection.private_key_file: " + home + "/none", "no such file"}},
		{"public key", func(c *site.Connection) { c.PrivateKey, c.PrivateKeyFile = "", public }, Key,
			[]string{"this is a public key"}},
		{"rubbish", func(c *site.Connection) { c.PrivateKey = "secret-rubbish" }, Key,
			[]string{"connection.private_key: this is no private key"}},
		{"key of a node", func(c *site.Connection) { c.PrivateKey = "secret-rubbish"; *c = c.OfNode() }, Key,
			[]string{"connect.credentials.private_key: this is no private key"}},
		{"passphrase of the environment", func(c *site.Connection) {
			c.PrivateKey, c.Passphrase, c.Names = lockedPEM, "open", map[string]string{"passphrase": "SLIPWAY_PASSPHRASE"}
		}, Key, []string{"connection.private_key: the key is encrypted and SLIPWAY_PASSPHRASE is not its passphrase"}},
		{"user of a node", func(c *site.Connection) { c.PrivateKey = foreignPEM; *c = c.OfNode() }, Auth,
			[]string{`does not let the user "tester" in (connect.user)`, "(connect.credentials.private_key)"}},
		{"file of a node", func(c *site.Connection) {
			c.PrivateKey, c.PrivateKeyFile = "", "~/none"
			*c = c.OfNode()
		}, Key, []string{"connect.private_key_file: " + home + "/none", "no such file"}},
		{"time limit of a node", func(c *site.Connection) {
			c.HostKeyPolicy = "never"
			*c = c.OfNode()
		}, Config, []string{`connect.host_key_policy is "never"`}},
		{"refused", func(c *site.Connection) { c.PrivateKey = foreignPEM }, Auth,
			[]string{`does not let the user "tester" in`, "publickey with ssh-ed25519 SHA256:", "authorized_keys"}},
		{"other user", func(c *site.Connection) { c.User = "nobody" }, Auth, []string{`"nobody"`}},
		{"nothing", func(c *site.Connection) { c.PrivateKey = "" }, Config,
			[]string{"nothing to authenticate with", "connection.private_key_file"}},
		{"certificate alone", func(c *site.Connection) { c.PrivateKey, c.Certificate = "", "x" }, Config,
			[]string{"connection.certificate is set without"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := s.Connection()
			test.set(&c)
			if test.kind == "" {
				dialTest(t, c)
				return
			}
			refusal(t, c, test.kind, test.words...)
		})
	}
}

// Decryption costs much by design, and the keys of a fleet are mostly one.
func TestAnEncryptedKeyIsDecryptedOnce(t *testing.T) {
	_, text := sshtest.NewPrivateKey(t, "sesame")
	with := func(passphrase string) keySource {
		return keySource{named: site.Connection{}.Named, passphrase: passphrase}
	}
	first, err := parseKey([]byte(text), with("sesame"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseKey([]byte(text), with("open")); err == nil {
		t.Error("a wrong passphrase opens a key that was opened before")
	}
	if second, err := parseKey([]byte(text), with("sesame")); err != nil || second != first {
		t.Errorf("decrypted again: %v, error %v", second, err)
	}
}

func TestPasswordOnlyServer(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{Password: "x"})
	refusal(t, s.Connection(), Auth, "with password only", "slipway needs publickey")
}

func TestCertificates(t *testing.T) {
	authority, other := sshtest.NewKey(t), sshtest.NewKey(t)
	key, pem := sshtest.NewPrivateKey(t, "")
	s := sshtest.Start(t, sshtest.Options{Authority: authority.PublicKey()})
	valid := time.Now().Add(time.Hour)
	for _, test := range []struct {
		name, certificate string
		kind              Kind
		words             []string
	}{
		{"valid", certificate(t, authority, key.PublicKey(), ssh.UserCert, valid), "", nil},
		{"none", "", Auth, nil},
		{"other authority", certificate(t, other, key.PublicKey(), ssh.UserCert, valid), Auth,
			[]string{"certificate of ssh-ed25519"}},
		{"expired", certificate(t, authority, key.PublicKey(), ssh.UserCert, valid.Add(-2*time.Hour)), Key,
			[]string{"connection.certificate: the certificate has expired"}},
		{"not yet", certificate(t, authority, key.PublicKey(), ssh.UserCert, valid.Add(3*time.Hour)), Key,
			[]string{"not valid before"}},
		{"other key", certificate(t, authority, other.PublicKey(), ssh.UserCert, valid), Key,
			[]string{"must belong together"}},
		{"host", certificate(t, authority, key.PublicKey(), ssh.HostCert, valid), Key,
			[]string{"a user certificate is wanted"}},
		{"plain", string(ssh.MarshalAuthorizedKey(key.PublicKey())), Key, []string{"plain public key"}},
		{"rubbish", "rubbish", Key, []string{"no OpenSSH certificate"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := s.Connection()
			c.PrivateKey, c.Certificate = pem, test.certificate
			if test.kind == "" {
				dialTest(t, c)
				return
			}
			refusal(t, c, test.kind, test.words...)
		})
	}
}

// startAgent serves an agent with the given keys at SSH_AUTH_SOCK; mute makes it accept and say nothing.
func startAgent(t *testing.T, mute bool, keys ...agent.AddedKey) {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(k); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				if mute {
					_, _ = c.Read(make([]byte, 1))
					_, _ = c.Read(make([]byte, 1<<10))
					_, _ = c.Read(make([]byte, 1))
					return
				}
				_ = agent.ServeAgent(ring, c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	t.Setenv("SSH_AUTH_SOCK", l.Addr().String())
}

func rawKey(t *testing.T, pem string) agent.AddedKey {
	t.Helper()
	raw, err := ssh.ParseRawPrivateKey([]byte(pem))
	if err != nil {
		t.Fatal(err)
	}
	return agent.AddedKey{PrivateKey: raw}
}

func TestAgent(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	_, foreign := sshtest.NewPrivateKey(t, "")
	yes, no := true, false
	withAgent := func(key string, use *bool) site.Connection {
		c := s.Connection()
		c.PrivateKey, c.Agent = key, use
		return c
	}
	t.Run("asked for", func(t *testing.T) {
		startAgent(t, false, rawKey(t, s.Key))
		dialTest(t, withAgent("", &yes))
	})
	t.Run("used when there is no key", func(t *testing.T) {
		startAgent(t, false, rawKey(t, s.Key))
		dialTest(t, withAgent("", nil))
	})
	t.Run("after a key that is refused", func(t *testing.T) {
		startAgent(t, false, rawKey(t, s.Key))
		dialTest(t, withAgent(foreign, &yes))
	})
	t.Run("not asked for", func(t *testing.T) {
		startAgent(t, false, rawKey(t, s.Key))
		refusal(t, withAgent(foreign, nil), Auth)
		refusal(t, withAgent("", &no), Config)
	})
	t.Run("refused", func(t *testing.T) {
		startAgent(t, false, rawKey(t, foreign))
		refusal(t, withAgent("", nil), Auth, "of the agent")
	})
	t.Run("empty", func(t *testing.T) {
		startAgent(t, false)
		refusal(t, withAgent("", &yes), Key, "connection.agent", "holds no key")
	})
	t.Run("no socket", func(t *testing.T) {
		t.Setenv("SSH_AUTH_SOCK", "")
		refusal(t, withAgent("", &yes), Key, "connection.agent", "SSH_AUTH_SOCK is not set")
	})
	t.Run("dead socket", func(t *testing.T) {
		t.Setenv("SSH_AUTH_SOCK", filepath.Join(t.TempDir(), "none"))
		refusal(t, withAgent("", &yes), Key, "does not answer")
	})
	t.Run("hangs", func(t *testing.T) {
		startAgent(t, true)
		c := withAgent("", &yes)
		c.ConnectTimeout = 50 * time.Millisecond
		refusal(t, c, Key, "does not list its keys", "deadline")
	})
}

// BenchmarkDial connects with a plain and with an encrypted key.
func BenchmarkDial(b *testing.B) {
	for name, passphrase := range map[string]string{"plain": "", "encrypted": "sesame"} {
		b.Run(name, func(b *testing.B) {
			key, text := sshtest.NewPrivateKey(b, passphrase)
			c := sshtest.Start(b, sshtest.Options{Keys: []ssh.PublicKey{key.PublicKey()}}).Connection()
			c.PrivateKey, c.Passphrase = text, passphrase
			for b.Loop() {
				conn, err := Dial(b.Context(), c, "web1", "127.0.0.1")
				if err != nil {
					b.Fatal(err)
				}
				conn.Close()
			}
		})
	}
}
