package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

func (n *node) works(h Helpers) {
	n.t.Helper()
	s, results, err := n.converge(h)
	if err != nil {
		n.t.Fatal(err)
	}
	if id := resource.MakeID("file", "/etc/motd"); len(results) != 1 || results[0].ID != id || results[0].Status != converge.Changed || s.Ledger[id] != "d" {
		n.t.Fatalf("results %v, summary %v", results, s)
	}
}

func (n *node) kept() []string {
	n.t.Helper()
	entries, err := os.ReadDir(n.home)
	if err != nil {
		n.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestTheHelperIsSentOnceAndKept(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	n.program("gzip", `echo x >>"$NODE/uploads"; exec /bin/gzip "$@"`)
	uploads := func() string {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(n.bin), "uploads"))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	first, second := n.helpers(good), n.helpers(good+"\n# newer")
	n.works(first)
	info, err := os.Stat(n.home)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory has mode %v, error %v", info.Mode(), err)
	}
	path := filepath.Join(n.home, first.carried["linux/amd64"].file())
	if info, err = os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("helper: %v, error %v", info, err)
	}
	n.works(first)
	if got := uploads(); got != "x\n" {
		t.Errorf("two sessions sent the helper %d times, want once", strings.Count(got, "x"))
	}
	if _, _, started := n.server.Sessions(); started != 2 {
		t.Errorf("%d sessions for two manifests, want 2", started)
	}

	n.works(second) // a new version takes the old one's place
	if got := n.kept(); len(got) != 1 || got[0] != second.carried["linux/amd64"].file() {
		t.Errorf("kept %v", got)
	}
	path = filepath.Join(n.home, second.carried["linux/amd64"].file())
	if err := os.Truncate(path, 0); err != nil { // what a power cut leaves
		t.Fatal(err)
	}
	n.works(second)
	if got := uploads(); got != "x\nx\nx\n" {
		t.Errorf("the helper was sent %d times, want 3", strings.Count(got, "x"))
	}
}

func TestNodesThatCannotTakeTheHelper(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(n *node)
		code  converge.Code
		words []string
	}{
		{"unknown architecture", func(n *node) { n.program("uname", `echo Linux sparc64`) },
			converge.CodeArch, []string{"no helper for Linux/sparc64", "linux/amd64, linux/arm64"}},
		{"known architecture that is not carried", func(n *node) { n.program("uname", `echo Linux riscv64`) },
			converge.CodeArch, []string{"no helper for linux/riscv64"}},
		{"other system", func(n *node) { n.program("uname", `echo FreeBSD amd64`) },
			converge.CodeArch, []string{"no helper for FreeBSD/amd64"}},
		{"no gzip", func(n *node) { n.without("gzip") }, converge.CodeNoExec, []string{"neither gzip nor gunzip"}},
		{"not root", func(n *node) { n.program("id", `case "$1" in -u) echo 1000;; *) echo deploy;; esac`) },
			converge.CodeRoot, []string{`"deploy" is not root`, "connection.sudo = true"}},
		{"directory cannot be made", func(n *node) {
			if err := os.WriteFile(filepath.Dir(n.home), nil, 0o600); err != nil {
				n.t.Fatal(err)
			}
		}, converge.CodeNoExec, []string{"cannot be put into", "directory"}},
		{"disk full", func(n *node) { n.program("gzip", `cat >/dev/null; echo "No space left on device" >&2; exit 1`) },
			converge.CodeNoExec, []string{"No space left on device"}},
		{"damaged", func(n *node) { n.program("gzip", `/bin/gzip "$@" | head -c 20`) }, converge.CodeLost, []string{"damaged", "20 bytes"}},
		{"other content", func(n *node) { n.program("sha256sum", `cat >/dev/null; echo "0000  -"`) }, converge.CodeLost, []string{"damaged", "digest"}},
		{"noexec", func(n *node) { n.program("chmod", `:`) }, converge.CodeNoExec, []string{"noexec"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, sshtest.Options{})
			test.spoil(n)
			_, results, err := n.converge(n.helpers(good))
			refused(t, err, test.code, test.words...)
			if len(results) != 0 {
				t.Errorf("results %v", results)
			}
			left, err := filepath.Glob(filepath.Join(n.home, ".helper-*"))
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, error %v", left, err)
			}
		})
	}
	t.Run("nothing carried", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		_, _, err := n.converge(NewHelpers(nil).In(n.home))
		refused(t, err, converge.CodeArch, "run `make build`")
	})
	t.Run("helper that the kernel refuses", func(t *testing.T) {
		n := newNode(t, sshtest.Options{})
		_, _, err := n.converge(n.scripted("#!/no/such/interpreter\n"))
		refused(t, err, converge.CodeNoExec, "cannot be executed")
	})
}

// A file that is not the helper, with its name and size, is never executed: the helper is sent in its place, or, where another user can write,
// the node is refused.
func TestOnlyTheHelperIsExecuted(t *testing.T) {
	private := func(n *node) {
		if err := os.MkdirAll(n.home, 0o700); err != nil {
			n.t.Fatal(err)
		}
	}
	chmod := func(n *node, path string, mode os.FileMode) {
		if err := os.Chmod(path, mode); err != nil {
			n.t.Fatal(err)
		}
	}
	chown := func(n *node, path string) {
		if os.Getuid() != 0 {
			n.t.Skip("only root can give files away")
		}
		if err := os.Lchown(path, 4711, 4711); err != nil {
			n.t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name    string
		prepare func(n *node) // the directory, before the file is put there
		spoil   func(n *node, file string)
		words   []string // of the refusal; empty: the helper is sent and works
	}{
		{"other content", private, func(*node, string) {}, nil},
		{"file of another user", private, func(n *node, file string) { chown(n, file) }, nil},
		{"file that others may write", private, func(n *node, file string) { chmod(n, file, 0o777) }, nil},
		{"no sha256sum", func(n *node) { private(n); n.without("sha256sum") }, func(*node, string) {}, nil},
		{"directory that others may write", private, func(n *node, _ string) { chmod(n, n.home, 0o777) }, []string{"drwxrwxrwx", "chown root", "chmod go-w"}},
		{"directory that a group may write", private, func(n *node, _ string) { chmod(n, n.home, 0o770) }, []string{"drwxrwx---"}},
		{"sticky directory", private, func(n *node, _ string) { chmod(n, n.home, 0o777|os.ModeSticky) }, []string{"drwxrwxrwt"}},
		{"directory of another user", private, func(n *node, _ string) { chown(n, n.home) }, []string{"4711"}},
		{"parent that others may write", private, func(n *node, _ string) { chmod(n, filepath.Dir(n.home), 0o777) }, []string{"/lib", "drwxrwxrwx"}},
		{"parent that another user may write by its access list", private, func(n *node, _ string) {
			// user::rwx, user:4711:rwx, group::r-x, mask::rwx, other::r-x
			const list = "\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x02\x00\x07\x00\x67\x12\x00\x00" +
				"\x04\x00\x05\x00\xff\xff\xff\xff\x10\x00\x07\x00\xff\xff\xff\xff\x20\x00\x05\x00\xff\xff\xff\xff"
			err := unix.Setxattr(filepath.Dir(n.home), "system.posix_acl_access", []byte(list), 0)
			if errors.Is(err, unix.ENOTSUP) {
				n.t.Skip("NOT TESTED: the file system of temporary files knows no access lists")
			} else if err != nil {
				n.t.Fatal(err)
			}
		}, []string{"/lib", "drwxrwxr-x+"}},
		{"parent of another user", private, func(n *node, _ string) { chown(n, filepath.Dir(n.home)) }, []string{"/lib", "4711"}},
		{"directory in its place", private, func(n *node, file string) {
			if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
				n.t.Fatal(err)
			}
		}, []string{"is a directory", "emove"}},
		{"link", func(n *node) {
			private(n)
			if err := errors.Join(os.Rename(n.home, n.home+"-real"), os.Symlink(n.home+"-real", n.home)); err != nil {
				n.t.Fatal(err)
			}
		}, func(*node, string) {}, []string{"lrwxrwxrwx"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, sshtest.Options{})
			h := n.helpers(good)
			test.prepare(n)
			executed := filepath.Join(filepath.Dir(n.bin), "executed")
			planted := "#!/bin/sh\ntouch " + executed + "\n" + good + "\n#"
			size := h.carried["linux/amd64"].size()
			if len(planted) > size { // the helper is a script too: make it as long
				h = n.helpers(good + "\n" + strings.Repeat("#", len(planted)))
				size = h.carried["linux/amd64"].size()
			}
			file := filepath.Join(n.home, h.carried["linux/amd64"].file())
			if err := os.WriteFile(file, []byte(planted+strings.Repeat("#", size-len(planted))), 0o700); err != nil {
				t.Fatal(err)
			}
			test.spoil(n, file)
			if test.words == nil {
				n.works(h)
			} else {
				_, _, err := n.converge(h)
				refused(t, err, converge.CodeNoExec, test.words...)
			}
			if _, err := os.Stat(executed); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file was executed as root, error %v", err)
			}
		})
	}
}

// TestHelperThatMayNotBeExecutedIsSentAgain: it lost its mode, and no file system is to blame.
func TestHelperThatMayNotBeExecutedIsSentAgain(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	h := n.helpers(good)
	n.works(h)
	if err := os.Chmod(filepath.Join(n.home, h.carried["linux/amd64"].file()), 0o600); err != nil {
		t.Fatal(err)
	}
	n.works(h)
}

func TestANodeWithoutSha256sum(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	n.without("sha256sum")
	n.works(n.helpers(good))
	n.works(n.helpers(good)) // what is there cannot be checked: it is sent again
}

func TestGreetingsOfLoginScripts(t *testing.T) {
	n := newNode(t, sshtest.Options{Forced: `printf 'Welcome to\nthe node, '; eval "$SSH_COMMAND"`})
	_, _, err := n.converge(n.helpers(good)) // a forced command that runs nothing
	refused(t, err, converge.CodeShell, "forced command", "Welcome to")
}

func TestNoiseBeforeTheBootstrap(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	h := n.helpers(good)
	noisy := noisyConn{n.conn, `echo "You have mail."; printf "no newline"; `}
	s, err := n.limits.converge(t.Context(), n.on(noisy), n.connection, h, manifest(), func(converge.Result) {})
	if err != nil || s.Protocol != converge.Protocol {
		t.Errorf("summary %v, error %v", s, err)
	}
	noisy.before = `while :; do echo "You have mail."; done; `
	_, err = n.limits.converge(t.Context(), n.on(noisy), n.connection, h, manifest(), func(converge.Result) {})
	refused(t, err, converge.CodeShell, "You have mail.")
}

// TestLoginScriptsWithoutAPath: a search path that login scripts broke does not make root another user.
func TestLoginScriptsWithoutAPath(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	for _, before := range []string{"PATH=/nosuch; export PATH; ", "PATH=; export PATH; ", "unset PATH; "} {
		s, err := n.limits.converge(t.Context(), n.on(noisyConn{n.conn, before}), n.connection, n.helpers(good), manifest(), func(converge.Result) {})
		if err != nil || s.Protocol != converge.Protocol {
			t.Errorf("%s: summary %v, error %v", before, s, err)
		}
	}
}

func TestNoShell(t *testing.T) {
	for _, test := range []struct{ name, forced, word string }{
		{"nologin", "echo 'This account is currently not available.'; exit 1", "This account is currently not available."},
		{"false", "exit 1", "printed nothing"},
		{"true", "exit 0", `user "tester"`},
		{"complains", "echo 'go away' >&2; exit 254", "go away"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, sshtest.Options{Forced: test.forced})
			_, _, err := n.converge(n.helpers(good))
			refused(t, err, converge.CodeShell, test.word, "A shell such as /bin/sh is needed")
		})
	}
	t.Run("waits", func(t *testing.T) {
		n := newNode(t, sshtest.Options{Forced: "cat"})
		n.limits.start = 50 * time.Millisecond
		_, _, err := n.converge(n.helpers(good))
		refused(t, err, converge.CodeShell, "in time")
		if failed := new(converge.SessionError); !errors.As(err, &failed) || !failed.NoAnswer {
			t.Errorf("that the node took all the time is not said: %#v", err)
		}
	})
}

// asks is a sudo that wants a password, as sudo -S does: the prompt on standard error, one line from standard input.
const asks = `shift; [ "$1" = -p ] || exit 9; prompt=$2; shift 2
for try in 1 2 3; do
	printf '%s' "$prompt" >&2
	IFS= read -r password
	[ "$password" = "se same" ] && exec "$@"
	echo "Sorry, try again." >&2
done
echo "sudo: 3 incorrect password attempts" >&2; exit 1`

func TestSudo(t *testing.T) {
	yes := true
	for _, test := range []struct {
		name, sudo, password string
		code                 converge.Code // empty: it works
		words                []string
	}{
		{"without password", `[ "$1" = -n ] || exit 9; shift; exec "$@"`, "", "", nil},
		{"password is not asked for", `shift 3; exec "$@"`, "se same", "", nil},
		{"password", asks, "se same", "", nil},
		{"wrong password", asks, "other", converge.CodeSudo, []string{`does not accept connection.sudo_password for the user "tester"`}},
		{"password is missing", `echo "sudo: a password is required" >&2; exit 1`, "", converge.CodeSudo,
			[]string{"sudo: a password is required", "NOPASSWD", "connection.sudo_password"}},
		{"not in sudoers", `echo "tester is not in the sudoers file." >&2; exit 1`, "se same", converge.CodeSudo, []string{"is not in the sudoers file", "rule in sudoers"}},
		{"hangs", `exec sleep 1000`, "", converge.CodeSudo, []string{"in time"}},
		{"no sudo", "", "", converge.CodeSudo, []string{"sudo", "not found"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, sshtest.Options{})
			if test.name == "hangs" {
				n.limits.start = 200 * time.Millisecond
			}
			if test.sudo != "" {
				n.program("sudo", test.sudo)
			}
			n.connection.Sudo, n.connection.SudoPassword = &yes, test.password
			if test.code == "" {
				n.works(n.helpers(good))
				return
			}
			_, _, err := n.converge(n.helpers(good))
			refused(t, err, test.code, test.words...)
			if strings.Contains(err.Error(), "se same") || strings.Contains(err.Error(), "other") || strings.Contains(err.Error(), "slipway-") {
				t.Errorf("the message shows the password or the prompt: %v", err)
			}
		})
	}
}

func TestADeadConnectionIsTheTransportsError(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	n.server.Drop()
	_, _, err := n.converge(n.helpers(good))
	var e *transport.Error
	if !errors.As(err, &e) || e.Kind != transport.Lost {
		t.Errorf("error is %#v", err)
	}
}
