package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// brisk are limits for a machine that does not hang.
var brisk = limits{start: 10 * time.Second, upload: 10 * time.Second, grace: 2 * time.Second, beat: 20 * time.Millisecond}

// node is this machine in the role of a node: an SSH server whose commands see only the programs in bin, and keep the helper in home.
type node struct {
	t          *testing.T
	bin, home  string
	server     *sshtest.Server
	connection site.Connection
	conn       transport.Conn
	limits     limits
}

// tools are what the bootstrap may use of a node, and what the scripts in these tests use.
var tools = []string{"sh", "uname", "mkdir", "wc", "head", "gzip", "rm", "sha256sum", "chmod", "sync", "mv", "find", "cat", "sleep", "grep", "touch", "ls"}

func newNode(t *testing.T, o sshtest.Options) *node {
	t.Helper()
	dir := t.TempDir()
	n := &node{t: t, bin: filepath.Join(dir, "bin"), home: filepath.Join(dir, "lib", "slipway"), limits: brisk}
	if err := os.Mkdir(n.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(n.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	n.program("id", `case "$1" in -u) echo 0;; *) echo root;; esac`)
	if uid := os.Getuid(); uid != 0 { // what the user of the tests owns belongs to the node's root
		n.program("ls", fmt.Sprintf(`/bin/ls "$@" | /bin/sed -E "s/^([^ ]+ +[0-9]+ +)%d /\\10 /"`, uid))
	}
	o.Env = []string{"PATH=" + n.bin, "NODE=" + dir}
	n.server = sshtest.Start(t, o)
	n.connection = n.server.Connection()
	host, _ := n.server.Host()
	conn, err := transport.Dial(t.Context(), n.connection, "web1", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	n.conn = conn
	return n
}

// on is a link over a connection, which stays open when the session on it ends with the test.
func (n *node) on(conn transport.Conn) *Link {
	l := &Link{Conn: conn}
	n.t.Cleanup(func() {
		if f := l.take(); f != nil {
			f.close()
		}
	})
	return l
}

// program puts a shell script in the place of a program.
func (n *node) program(name, script string) {
	n.t.Helper()
	path := filepath.Join(n.bin, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

// without takes a program away.
func (n *node) without(name string) {
	n.t.Helper()
	if err := os.Remove(filepath.Join(n.bin, name)); err != nil {
		n.t.Fatal(err)
	}
}

// helpers are a script in the place of the helper.
func (n *node) helpers(script string) Helpers {
	n.t.Helper()
	return n.scripted("#!/bin/sh\n" + script + "\n")
}

// converge runs a manifest with a helper.
func (n *node) converge(h Helpers) (converge.Summary, []converge.Result, error) {
	var results []converge.Result
	s, err := n.limits.converge(n.t.Context(), n.on(n.conn), n.connection, h, manifest(), func(r converge.Result) { results = append(results, r) })
	return s, results, err
}

func manifest() converge.Manifest {
	return converge.Manifest{Protocol: converge.Protocol, Site: "lon1", Run: "r1", Mode: converge.Apply, Items: []converge.Item{
		{Resource: resource.Resource{Type: "file", Title: "/etc/motd", Parameters: resource.Parameters{"content": "it's $HOME\n"}}},
		{Resource: resource.Resource{Type: "file", Title: "/a", Parameters: resource.Parameters{"content": "a"}}},
	}}
}

// good is a helper that reads the manifest and answers with one result.
const good = `read -r manifest
case "$manifest" in *"it's"*) ;; *) echo "no manifest: $manifest" >&2; exit 1;; esac
echo '{"result":{"id":"file[/etc/motd]","status":"changed","millis":1}}'
echo '{"summary":{"protocol":1,"ledger":{"file[/etc/motd]":"d"}}}'`

// refused checks the error of a session.
func refused(t *testing.T, err error, code converge.Code, words ...string) {
	t.Helper()
	var e *converge.SessionError
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error is %#v (%v), want code %q", err, err, code)
	}
	for _, w := range words {
		if !strings.Contains(e.Message, w) {
			t.Errorf("message %q does not say %q", e.Message, w)
		}
	}
}

// scripted are helpers of any content.
func (n *node) scripted(content string) Helpers {
	n.t.Helper()
	data, sum := sshtest.Gzip(n.t, content)
	h := Helper{Compressed: data, Sum: sum}
	return NewHelpers(map[string]Helper{"linux/amd64": h, "linux/arm64": h}).In(n.home)
}

// noisyConn is a connection whose login shell does something before every command.
type noisyConn struct {
	transport.Conn
	before string
}

func (c noisyConn) Start(ctx context.Context, command string) (transport.Session, error) {
	return c.Conn.Start(ctx, c.before+command)
}
