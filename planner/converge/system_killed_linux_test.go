package converge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// A session that is killed takes the command of the user that it runs with it, with everything that the command started, also in sessions of their
// own. The next session has the node's lock only when all of that is over.
func TestKilledSessionEndsItsCommand(t *testing.T) {
	if role() != "" {
		s := machineIn(t, os.Getenv("DIR"))
		script := fmt.Sprintf(`cd %s
setsid sh -c 'trap "" TERM; echo $$ >session; while :; do sleep 1; done' &
sh -c 'echo $$ >child; exec sleep 600' &
until test -s session && test -s child; do sleep 0.01; done
kill -9 %d
sh -c 'echo $$ >shell; exec sleep 600'`, os.Getenv("DIR"), os.Getpid())
		Run(t.Context(), s, Manifest{Protocol: Protocol, Site: "one", Run: "r1", Mode: Apply, Items: []Item{item("exec[x]", "command", script)}}, func(Result) {})
		t.Fatal("not killed")
	}
	dir := t.TempDir()
	if state, out := child(t, os.Geteuid(), "killed", "DIR="+dir); state.ExitCode() != -1 {
		t.Fatalf("the session was not killed: %v\n%s", state, out)
	}
	next := machineIn(t, dir)
	next.LockWait = 30 * time.Second
	lock, err := next.Lock(t.Context(), true, "next")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	for _, name := range []string{"session", "child", "shell"} {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) && name == "shell" {
			continue // it ended before it came to that
		}
		if pid := pidIn(t, dir, name); alive(pid) {
			t.Errorf("the next session has the lock, and process %d (%s) of the killed one's command still runs", pid, name)
			_ = unix.Kill(pid, unix.SIGKILL) // it must not outlive the test
		}
	}
}

// Where the process that supervises the command is killed with its session, what the command started is ended by the next session, before it works. What an
// earlier command of the killed session left running lives on.
func TestTheNextSessionEndsWhatAKilledOneLeft(t *testing.T) {
	if role() != "" {
		s := machineIn(t, os.Getenv("DIR"))
		daemon := fmt.Sprintf(`cd %s; setsid sh -c 'echo $$ >daemon; exec sleep 600' >/dev/null 2>&1 & until test -s %[1]s/daemon; do sleep 0.01; done`, os.Getenv("DIR"))
		script := fmt.Sprintf(`cd %s
setsid sh -c 'trap "" TERM; echo $$ >session; while :; do sleep 1; done' >/dev/null 2>&1 &
until test -s session; do sleep 0.01; done
kill -9 %d $PPID
exec sleep 600`, os.Getenv("DIR"), os.Getpid())
		Run(t.Context(), s, Manifest{Protocol: Protocol, Site: "one", Run: "r1", Mode: Apply, Items: []Item{item("exec[daemon]", "command", daemon), item("exec[x]", "command", script)}}, func(Result) {})
		t.Fatal("not killed")
	}
	needCgroups(t)
	dir := t.TempDir()
	if state, out := child(t, os.Geteuid(), "killed", "DIR="+dir); state.ExitCode() != -1 {
		t.Fatalf("the session was not killed: %v\n%s", state, out)
	}
	defer func() {
		for _, name := range []string{"daemon", "session"} {
			_ = unix.Kill(pidIn(t, dir, name), unix.SIGKILL) // it must not outlive the test
		}
	}()
	next := machineIn(t, dir)
	next.LockWait = 30 * time.Second
	lock, err := next.Lock(t.Context(), true, "next")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if alive(pidIn(t, dir, "session")) {
		t.Error("the next session has the lock, and what the killed one's command started still runs")
	}
	if !alive(pidIn(t, dir, "daemon")) {
		t.Error("what an earlier command of the killed session left running was ended")
	}
}

// Where only the process that supervises the command is killed, the session itself ends what the command started.
func TestTheSessionEndsWhatAKilledSupervisorLeft(t *testing.T) {
	needCgroups(t)
	dir := t.TempDir()
	s := machineIn(t, dir)
	script := fmt.Sprintf(`cd %s; setsid sh -c 'echo $$ >session; exec sleep 600' >/dev/null 2>&1 & until test -s %[1]s/session; do sleep 0.01; done; kill -9 $PPID; exec sleep 600`, dir)
	var messages []string
	Run(t.Context(), s, Manifest{Protocol: Protocol, Site: "one", Run: "r1", Mode: Apply, Items: []Item{item("exec[x]", "command", script)}}, func(r Result) { messages = append(messages, r.Message) })
	if pid := pidIn(t, dir, "session"); alive(pid) {
		_ = unix.Kill(pid, unix.SIGKILL)
		t.Error("what the command started still runs")
	}
	if len(messages) != 1 || !strings.Contains(messages[0], "the process that supervises the command was killed: what the command has done is unknown; it printed") {
		t.Errorf("%q", messages)
	}
}

// needCgroups skips a test where commands get no cgroup.
func needCgroups(t *testing.T) {
	t.Helper()
	dir := system.NewCgroup()
	if dir == "" {
		t.Skip("NOT TESTED: what is left of a command whose supervisor was killed, because this machine has no cgroups of version 2 to write to")
	}
	if err := system.EndCgroup(dir); err != nil {
		t.Fatal(err)
	}
}

// pidIn reads the id of a process from a file.
func pidIn(t *testing.T, dir, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// A tool that a resource type calls, as dpkg, must not be cut: it finishes after its session was killed, and the next session waits for it.
func TestKilledSessionLeavesItsToolToFinish(t *testing.T) {
	if role() != "" {
		b := &bench{sandbox: &sandbox{&types.Session{System: machineIn(t, os.Getenv("DIR"))}, os.Getenv("DIR"), t}, run: "r1"}
		b.useTypes()
		b.hook = func(stage, _ string) error {
			if stage != "apply" {
				return nil
			}
			script := fmt.Sprintf(`cd %s; kill -9 %d; until test -e go; do echo still here; sleep 0.01; done; touch done`, b.dir, os.Getpid())
			_, err := b.Run(t.Context(), system.Command{Argv: []string{"/bin/sh", "-c", script}})
			return err
		}
		b.converge(Apply, item("plain[a]", "value", "1"))
		t.Fatal("not killed")
	}
	dir := t.TempDir()
	if state, out := child(t, os.Geteuid(), "killed", "DIR="+dir); state.ExitCode() != -1 {
		t.Fatalf("the session was not killed: %v\n%s", state, out)
	}
	next := machineIn(t, dir)
	var busy system.BusyError
	next.LockWait = 0
	if lock, err := next.Lock(t.Context(), true, "next"); !errors.As(err, &busy) || !strings.Contains(busy.Holder, `run "r1"`) {
		lock.Release()
		t.Errorf("the tool of the killed session works, and the lock gives %v; it must be held by that session", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next.LockWait = 30 * time.Second
	lock, err := next.Lock(t.Context(), true, "next")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
		t.Errorf("the next session has the lock before the tool has finished: %v", err)
	}
}

// machineIn returns a node in a folder that runs this machine's commands.
func machineIn(t *testing.T, dir string) *system.System {
	t.Helper()
	s, err := system.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.Commands = s.Execute
	return s
}

// A session that is given up while a tool is at work ends in time, and the tool finishes with the node's lock.
func TestGivenUpSessionLeavesItsToolToFinish(t *testing.T) {
	dir := t.TempDir()
	b := &bench{sandbox: &sandbox{&types.Session{System: machineIn(t, dir)}, dir, t}, run: "r1"}
	b.useTypes()
	ctx, cancel := context.WithCancelCause(t.Context())
	b.hook = func(stage, _ string) error {
		if stage != "apply" {
			return nil
		}
		go func() {
			for !b.there("/began") && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel(errors.New("it is late"))
		}()
		_, err := b.Run(ctx, system.Command{Argv: []string{"/bin/sh", "-c", "cd " + dir + "; touch began; until test -e go; do sleep 0.01; done; touch done"}})
		return err
	}
	results, _ := b.converge(Apply, item("plain[a]", "value", "1"))
	if r := results[0]; r.Status != Failed || !strings.Contains(r.Message, "/bin/sh: it is late: it runs on to its end, and the node stays locked until then") {
		t.Errorf("%+v", r)
	}
	var busy system.BusyError
	b.LockWait = 0
	if _, err := b.Lock(t.Context(), true, "next"); !errors.As(err, &busy) || !strings.Contains(busy.Holder, `run "r1", process `+strconv.Itoa(os.Getpid())+", which has ended while /bin/sh was at work") {
		t.Errorf("while the tool works, the lock gives %v", err)
	}
	b.put("/go", "")
	b.LockWait = 30 * time.Second
	lock, err := b.Lock(t.Context(), true, "next")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if !b.there("/done") {
		t.Error("the next session has the lock before the tool has finished")
	}
}

// What a command that ended by itself left running lives on, whatever becomes of the commands after it and of the session.
func TestWhatASuccessfulCommandLeavesLivesOn(t *testing.T) {
	s, dir := machine(t), t.TempDir()
	daemon := system.Command{Argv: []string{"sh", "-c", `setsid sh -c 'echo $$ >pid; exec sleep 600' >/dev/null 2>&1 & until test -s pid; do sleep 0.01; done`}, Dir: dir, EndsWithSession: true}
	if out, err := s.Run(t.Context(), daemon); err != nil || out.Status != 0 {
		t.Fatal(out, err)
	}
	pid := pidIn(t, dir, "pid")
	defer func() {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Errorf("the daemon %d: %v", pid, err)
		}
	}()
	if _, err := s.Run(t.Context(), system.Command{Argv: []string{"sleep", "600"}, Timeout: 20 * time.Millisecond, EndsWithSession: true}); !errors.Is(err, system.ErrTimeout) {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Error("the daemon of a successful command was ended by the next one")
	}
}
