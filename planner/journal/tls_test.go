package journal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
)

// authority is a certificate authority of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // with its certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key, a.file, _ = a.issue("authority")
	return a
}

// issue returns a certificate for a host, and the files of it and its key. The first one signs itself, and others.
func (a *authority) issue(host string) (cert *x509.Certificate, key *ecdsa.PrivateKey, certFile, keyFile string) {
	a.t.Helper()
	must := func(err error) {
		a.t.Helper()
		if err != nil {
			a.t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		IsCA: a.cert == nil, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, signer)
	must(err)
	cert, err = x509.ParseCertificate(der)
	must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	dir := a.t.TempDir()
	write := func(name, kind string, content []byte) string {
		file := filepath.Join(dir, name)
		must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return file
	}
	return cert, key, write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", private)
}

// A server is believed only when its certificate is for its name and of the authority that the URL names. No error has
// the password, wherever it came from.
func TestTLS(t *testing.T) {
	c := postgrestest.Start(t)
	right, wrong := newAuthority(t), newAuthority(t)
	_, _, cert, key := right.issue("localhost")
	port, err := c.UpWithTLS(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	passwords := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(passwords, []byte("*:*:*:*:"+postgrestest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, user := range map[string]*url.Userinfo{"URL": url.UserPassword("slipway", postgrestest.Password),
		"PGPASSWORD": url.User("slipway"), "PGPASSFILE": url.User("slipway")} {
		for _, tt := range []struct{ name, host, mode, ca, want string }{
			{"right", "localhost", "verify-full", right.file, ""},
			{"wrong CA", "localhost", "verify-full", wrong.file, "certificate signed by unknown authority"},
			{"wrong CA, name not checked", "localhost", "verify-ca", wrong.file, "certificate signed by unknown authority"},
			{"wrong name", "127.0.0.1", "verify-full", right.file, "doesn't contain any IP SANs"},
			{"wrong name, not checked", "127.0.0.1", "verify-ca", right.file, ""},
			{"without TLS", "localhost", "disable", right.file, "no pg_hba.conf entry"},
		} {
			t.Run(name+", "+tt.name, func(t *testing.T) {
				switch name {
				case "PGPASSWORD":
					t.Setenv("PGPASSWORD", postgrestest.Password)
				case "PGPASSFILE":
					t.Setenv("PGPASSFILE", passwords)
				}
				u := url.URL{Scheme: "postgres", User: user, Host: tt.host + ":" + port, Path: "/postgres",
					RawQuery: url.Values{"sslmode": {tt.mode}, "sslrootcert": {tt.ca}}.Encode()}
				s, err := Location{URL: u.String(), Setting: "journal of the provider"}.Open(t.Context(), "lon1")
				if err == nil {
					var encrypted bool
					if err := s.db.QueryRowContext(t.Context(),
						"SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&encrypted); err != nil || !encrypted {
						t.Errorf("encrypted: %v, %v", encrypted, err)
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
				switch {
				case tt.want == "" && err != nil:
					t.Error(err)
				case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("no %q in: %v", tt.want, err)
				case err != nil && strings.Contains(err.Error(), postgrestest.Password):
					t.Errorf("the password is in: %v", err)
				}
			})
		}
	}
	// A wrong password is in no error either.
	t.Setenv("PGPASSWORD", "hush1")
	u := "postgres://slipway@localhost:" + port + "/postgres?sslmode=verify-full&sslrootcert=" + url.QueryEscape(right.file)
	if _, err := (Location{URL: u}).Open(t.Context(), "lon1"); err == nil ||
		!strings.Contains(err.Error(), "password authentication failed") || strings.Contains(err.Error(), "hush1") {
		t.Errorf("a wrong password: %v", err)
	}
}
