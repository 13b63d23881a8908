package system

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

func machine(t *testing.T) *System {
	t.Helper()
	s, err := New("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestRunCommand(t *testing.T) {
	defer goleak.VerifyNone(t)
	t.Setenv("SLIPWAY_SECRET", "must not reach a command")
	dir := t.TempDir()
	for name, test := range map[string]struct {
		c      Command
		status int
		stdout string
		fails  string
	}{
		"plain environment": {c: Command{Argv: []string{"env"}}, stdout: "PATH=" + schema.PlainPath + "\nLANG=C\nHOME=" + sessionHome() + "\n"},
		"own environment":   {c: Command{Argv: []string{"sh", "-c", "echo $A $LANG"}, Env: []string{"A=1", "LANG=de"}}, stdout: "1 de\n"},
		"no shell":          {c: Command{Argv: []string{"echo", "$HOME; *"}}, stdout: "$HOME; *\n"},
		"standard input":    {c: Command{Argv: []string{"cat"}, Stdin: []byte("secret")}, stdout: "secret"},
		"no standard input": {c: Command{Argv: []string{"cat"}}},
		"directory":         {c: Command{Argv: []string{"pwd"}, Dir: dir}, stdout: dir + "\n"},
		"status":            {c: Command{Argv: []string{"sh", "-c", "echo e >&2; exit 3"}, Quiet: true}, status: 3},
		"order of output":   {c: Command{Argv: []string{"sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2"}}, stdout: "1\n2\n3\n4\n"},
		"signal":            {c: Command{Argv: []string{"sh", "-c", "kill -9 $$"}}, status: 137},
		"not there":         {c: Command{Argv: []string{"slipway-no-such-command"}}, fails: "no such command in PATH"},
		"own PATH":          {c: Command{Argv: []string{"echo"}, Env: []string{"PATH=/nowhere"}}, fails: "no such command in PATH (/nowhere)"},
		"nothing":           {c: Command{}, fails: "no command"},
		"directory missing": {c: Command{Argv: []string{"true"}, Dir: dir + "/x"}, fails: "cannot be started"},
		"large file":        {c: Command{Argv: []string{"sh", "-c", "head -c 2000 /dev/zero >" + t.TempDir() + "/f"}, FileLimit: 1000, Quiet: true}, status: 128 + 25},
		"user not there":    {c: Command{Argv: []string{"true"}, User: "slipway-nobody"}, fails: `user "slipway-nobody": no such user`},
		"timeout":           {c: Command{Argv: []string{"sleep", "600"}, Timeout: 20 * time.Millisecond}, status: 143, fails: "timeout of 20ms"},
		"not a program":     {c: Command{Argv: []string{"/etc/passwd"}}, fails: "cannot be started"},
		"a daemon's pipe":   {c: Command{Argv: []string{"sh", "-c", "sleep 5 & echo started"}}, stdout: "started\n"},
		"output is bounded": {c: Command{Argv: []string{"sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"}}, stdout: strings.Repeat("x", stdoutLimit)},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := machine(t).Run(t.Context(), test.c)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("error %v, want %q", err, test.fails)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if out.Status != test.status || string(out.Stdout) != test.stdout {
				t.Errorf("status %d, %.100q; want %d, %.100q", out.Status, out.Stdout, test.status, test.stdout)
			}
			if len(out.Combined) > OutputLimit {
				t.Errorf("%d bytes of output are kept", len(out.Combined))
			}
		})
	}
}

func sessionHome() string {
	if os.Geteuid() == 0 {
		return "/root"
	}
	return "/"
}

func TestRunInASandboxIsRefused(t *testing.T) {
	if _, err := newSandbox(t).Run(t.Context(), Command{Argv: []string{"true"}}); !errors.Is(err, ErrSandbox) {
		t.Errorf("%v", err)
	}
}

func TestRunAsAnotherUser(t *testing.T) {
	needRoot(t)
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("NOT TESTED: this machine has no user nobody")
	}
	out, err := machine(t).Run(t.Context(), Command{Argv: []string{"sh", "-c", "id -u; id -g; echo $HOME $USER"}, User: "nobody"})
	want := nobody.Uid + "\n" + nobody.Gid + "\n" + nobody.HomeDir + " nobody\n"
	if err != nil || string(out.Stdout) != want {
		t.Errorf("%q, %v; want %q", out.Stdout, err, want)
	}
}

// execution.md 2, rule 4 and design.md 7: what a command started ends with it, also what ignores being asked.
func TestTheWholeGroupEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, script := range map[string]string{
		"asked":    `sleep 600 & echo $! >pid; touch ready; wait`,
		"stubborn": `trap "" TERM; (trap "" TERM; echo $$ >/dev/null; sh -c 'trap "" TERM; echo $$ >pid; touch ready; while :; do sleep 1; done') & wait; while :; do sleep 1; done`,
		"session":  `setsid sh -c 'trap "" TERM; echo $$ >pid; touch ready; while :; do sleep 1; done' & while ! test -e ready; do sleep 0.01; done; sleep 600`,
		"orphan":   `(trap "" TERM; sh -c 'trap "" TERM; echo $$ >pid; touch ready; while :; do sleep 1; done') & while ! test -e ready; do sleep 0.01; done; sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancelCause(t.Context())
			errGone := errors.New("the controller is gone")
			go func() {
				for {
					if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil || ctx.Err() != nil {
						cancel(errGone)
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			_, err := machine(t).Run(ctx, Command{Argv: []string{"sh", "-c", script}, Dir: dir, EndsWithSession: true})
			if !errors.Is(err, errGone) {
				t.Fatalf("error %v, want one that tells that %v", err, errGone)
			}
			text, err := os.ReadFile(filepath.Join(dir, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(5 * time.Second); alive(pid); {
				if time.Now().After(deadline) {
					t.Fatalf("process %d still runs", pid)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	if unix.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestOutputGoesToTheItemAtWork(t *testing.T) {
	s := machine(t)
	s.Log = &Tail{Limit: 10}
	for _, word := range []string{"aaaaaaaa", "bbbbbbbb"} {
		if _, err := s.Run(t.Context(), Command{Argv: []string{"sh", "-c", "echo -n " + word + " >&2"}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Log.String(); got != "aabbbbbbbb" {
		t.Errorf("%q", got)
	}
}
