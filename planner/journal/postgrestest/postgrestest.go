// Package postgrestest starts a PostgreSQL cluster of a test's own, on a socket in a directory of the test.
package postgrestest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// Password is that of the user slipway, whom the clusters ask for one.
const Password = "s3cret-of-slipway" //nolint:gosec // of tests

// ErrMissing means that the programs of PostgreSQL are not installed.
var ErrMissing = errors.New("PostgreSQL is not installed: apt-get install postgresql")

// Cluster is a running server.
type Cluster struct {
	dir       string
	programs  string
	run       *syscall.Credential // of its processes; nil: as this process
	databases atomic.Int32
}

// Start starts a cluster that ends with the test. Where it cannot run, the test is skipped.
func Start(t testing.TB) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	c, err := New(dir)
	if err != nil {
		Skip(t, err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Skip skips a test because of an error of [New] and says what is not tested. Every other error than ErrMissing fails.
func Skip(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	t.Skipf("NOT TESTED: the journal in PostgreSQL, because %v", err)
}

// New creates a cluster in an empty directory and starts it. initdb refuses root: then the processes are those of the
// user postgres.
func New(dir string) (*Cluster, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return nil, errors.Join(err, ErrMissing)
	}
	slices.Sort(found)
	c := &Cluster{dir: dir, programs: found[len(found)-1]}
	if os.Geteuid() == 0 {
		if c.run, err = credential("postgres"); err != nil {
			return nil, err
		}
		if err := errors.Join(os.Chmod(dir, 0o711), os.Mkdir(c.data(), 0o700),
			os.Chown(dir, int(c.run.Uid), int(c.run.Gid)), os.Chown(c.data(), int(c.run.Uid), int(c.run.Gid))); err != nil {
			return nil, err
		}
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(Password), 0o644); err != nil { //nolint:gosec // the user postgres reads it
		return nil, err
	}
	if err := c.do("initdb", "--no-sync", "--username=slipway", "--auth=scram-sha-256", "--pwfile="+secret, "--encoding=UTF8",
		"--locale=C", c.data()); err != nil {
		return nil, err
	}
	return c, c.Up()
}

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Up starts the server after [Cluster.Stop] and waits until it answers. Settings, NAME=VALUE, are added to its own.
func (c *Cluster) Up(settings ...string) error {
	options := "--options=-c listen_addresses= -c fsync=off -c unix_socket_directories=" + c.dir
	for _, s := range settings {
		options += " -c " + s
	}
	return c.do("pg_ctl", "start", "--wait", "--silent", "--pgdata="+c.data(), "--log="+filepath.Join(c.dir, "log"), options)
}

// UpWithTLS starts the server anew, on a port of the loopback interface too, where it requires TLS with a certificate.
func (c *Cluster) UpWithTLS(certFile, keyFile string) (port string, err error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err = net.SplitHostPort(free.Addr().String())
	if err := errors.Join(err, free.Close(), c.Stop()); err != nil {
		return "", err
	}
	for name, content := range map[string]string{"cert.pem": certFile, "key.pem": keyFile} {
		text, err := os.ReadFile(content)
		if err != nil {
			return "", err
		}
		file := filepath.Join(c.data(), name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
		if c.run != nil {
			if err := os.Chown(file, int(c.run.Uid), int(c.run.Gid)); err != nil {
				return "", err
			}
		}
	}
	access := "local all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(c.data(), "pg_hba.conf"), []byte(access), 0o600); err != nil {
		return "", err
	}
	return port, c.Up("listen_addresses=127.0.0.1", "port="+port, "ssl=on", "ssl_cert_file=cert.pem", "ssl_key_file=key.pem")
}

// Stop ends the server and all connections at once, as a restart of a database does.
func (c *Cluster) Stop() error {
	return c.do("pg_ctl", "stop", "--wait", "--silent", "--mode=immediate", "--pgdata="+c.data())
}

// Kill ends the server with SIGKILL, as the kernel does when it is out of memory. Its other processes end when they
// notice; [Cluster.Up] fails until then.
func (c *Cluster) Kill() error {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// URL returns that of a new database.
func (c *Cluster) URL(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("test", c.databases.Add(1))
	if err := c.SQL("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return c.Address("slipway", Password, name)
}

// Address returns the URL of a database for a user.
func (c *Cluster) Address(name, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(name, password), Path: "/" + database,
		RawQuery: url.Values{"host": {c.dir}}.Encode()}
	return u.String()
}

// SQL executes a statement in the database postgres.
func (c *Cluster) SQL(statement string) error { return c.SQLIn("postgres", statement) }

// SQLIn executes statements in a database.
func (c *Cluster) SQLIn(database, statements string) error {
	return c.do("psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--command="+statements, c.Address("slipway", Password, database))
}

// Dump returns what pg_dump writes of a database.
func (c *Cluster) Dump(address string) ([]byte, error) {
	dump := exec.Command(filepath.Join(c.programs, "pg_dump"), address)
	dump.Dir = "/"
	return dump.Output()
}

// do runs a program of PostgreSQL. pg_ctl leaves its output to the server, so it goes to a file.
func (c *Cluster) do(program string, args ...string) error {
	out, err := os.CreateTemp("", "pg-output-")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(out.Close(), os.Remove(out.Name())) }()
	cmd := exec.Command(filepath.Join(c.programs, program), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.run}
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(text))
	}
	return nil
}
