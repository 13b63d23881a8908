package converge

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Some tests need a process of their own: to be killed, or to be another user. Such a test calls itself in a copy of
// the test binary, and the copy finds in the environment what part it has to play.
const childRole = "SLIPWAY_TEST_CHILD"

// role returns the part that this process plays, empty when it is the test itself.
func role() string { return os.Getenv(childRole) }

// child runs the test at work in another process, as the user uid, and returns how it ended and what it printed.
func child(t *testing.T, uid int, role string, env ...string) (*os.ProcessState, string) {
	t.Helper()
	return childOf(t, t.Name(), uid, role, env...)
}

// childCommand is the test at work in another process of this user, which the caller starts.
func childCommand(t *testing.T, role string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(append(os.Environ(), childRole+"="+role, "TMPDIR="+t.TempDir()), env...)
	return cmd
}

// childOf runs the test of that name.
func childOf(t *testing.T, name string, uid int, role string, env ...string) (*os.ProcessState, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := self
	if uid != os.Geteuid() {
		needRoot(t)
		dir, err := os.MkdirTemp("", "slipway-test") //nolint:usetesting // the other user must get to it
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		content, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		program = filepath.Join(dir, "test")
		for _, err := range []error{os.Chmod(dir, 0o755), os.WriteFile(program, content, 0o755), os.Chmod(program, 0o755)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+name+"$")
	cmd.Env = append(append(os.Environ(), childRole+"="+role), env...)
	if uid == os.Geteuid() {
		cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir()) // one that is killed cannot tidy up
	}
	cmd.Dir = "/"
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState, out.String()
}
