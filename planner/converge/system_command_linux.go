package converge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stdoutLimit bounds Output.Stdout, in bytes.
	stdoutLimit = 1 << 20
	// groupGrace is the time between SIGTERM and SIGKILL for a command whose time is over.
	groupGrace = 2 * time.Second
	// pipeGrace is how long a command's output is awaited after its end, when a daemon that it started holds the pipe.
	pipeGrace = time.Second
)

// errTimeout says that a command was ended because its time was over.
var errTimeout = errors.New("ran into its timeout")

// execute runs a command on the machine.
func (s *System) execute(ctx context.Context, c Command) (Output, error) {
	env, credential, err := s.environment(c)
	if err != nil {
		return Output{}, err
	}
	program, err := findProgram(c.Argv[0], env)
	if err != nil {
		return Output{}, err
	}
	stdout, combined := &head{limit: stdoutLimit}, &tail{limit: OutputLimit}
	cmd := &exec.Cmd{
		Path:        program,
		Args:        c.Argv,
		Env:         env,
		Dir:         c.Dir,
		Stdout:      io.MultiWriter(stdout, combined),
		Stderr:      combined,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Credential: credential},
		WaitDelay:   pipeGrace,
	}
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	if c.Stdin != nil {
		cmd.Stdin = strings.NewReader(string(c.Stdin))
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("%w of %s", errTimeout, c.Timeout))
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return Output{}, fmt.Errorf("%s: not started: %w", c.Argv[0], context.Cause(ctx))
	}
	if err := cmd.Start(); err != nil {
		return Output{}, fmt.Errorf("%s: cannot be started: %w", c.Argv[0], err)
	}
	err = waitOrEnd(ctx, cmd)
	out := Output{Stdout: stdout.kept, Combined: combined.String()}
	if state := cmd.ProcessState; state != nil {
		out.Status = state.ExitCode()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			out.Status = 128 + int(status.Signal())
		}
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", c.Argv[0], err)
	}
	return out, nil
}

// waitOrEnd waits for a command, and ends its whole process group when ctx ends first.
func waitOrEnd(ctx context.Context, cmd *exec.Cmd) error {
	group := -cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		return err
	case <-ctx.Done():
	}
	_ = unix.Kill(group, unix.SIGTERM) // fails when the group is gone already, which is what is wanted
	grace := time.NewTimer(groupGrace)
	defer grace.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for waiting := true; waiting; {
		select {
		case <-grace.C:
			waiting = false
		case <-poll.C:
			// The program itself may be gone while others of its group are not.
			waiting = unix.Kill(group, 0) == nil
		}
	}
	_ = unix.Kill(group, unix.SIGKILL)
	<-done //nolint:errcheck // it was killed, so its status tells nothing
	return fmt.Errorf("ended: %w", context.Cause(ctx))
}

// environment returns the environment of a command and, when it is to run as another user, that user's credentials.
func (s *System) environment(c Command) ([]string, *syscall.Credential, error) {
	env := []string{"PATH=" + plainPath, "LANG=C"}
	if c.User == "" {
		home := "/root"
		if os.Geteuid() != 0 {
			home = "/"
		}
		return append(append(env, "HOME="+home), c.Env...), nil, nil
	}
	id, err := s.identify(c.User)
	if err != nil {
		return nil, nil, err
	}
	env = append(env, "HOME="+id.user.Home, "USER="+id.user.Name, "LOGNAME="+id.user.Name)
	env = append(env, c.Env...)
	if id.user.UID == os.Geteuid() {
		return env, nil, nil
	}
	if os.Geteuid() != 0 {
		return nil, nil, fmt.Errorf("user %q: only root may run commands as another user", c.User)
	}
	return env, &syscall.Credential{Uid: uint32(id.user.UID), Gid: uint32(id.user.GID), Groups: id.groups}, nil
}

// findProgram finds a program by the PATH of the command, not that of the session.
func findProgram(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	search := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			search = v // the last one counts, as in exec
		}
	}
	for dir := range strings.SplitSeq(search, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		file := path.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: no such command in PATH (%s): %w", name, search, fs.ErrNotExist)
}

// head keeps the first bytes that were written to it.
type head struct {
	limit int
	mu    sync.Mutex
	kept  []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, p[:min(len(p), h.limit-len(h.kept))]...)
	return len(p), nil
}
