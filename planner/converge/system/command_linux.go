package system

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// stdoutLimit bounds Output.Stdout, in bytes.
const stdoutLimit = 1 << 20

// ErrTimeout says that a command was ended because its time was over.
var ErrTimeout = errors.New("ran into its timeout")

// Execute runs a command on the machine.
func (s *System) Execute(ctx context.Context, c Command) (Output, error) {
	env, user, err := s.environment(c)
	if err != nil {
		return Output{}, err
	}
	program, err := findProgram(c.Argv[0], env)
	if err != nil {
		return Output{}, err
	}
	if err := ctx.Err(); err != nil {
		return Output{}, fmt.Errorf("%s: not started: %w", c.Argv[0], context.Cause(ctx))
	}
	cgroup := ""
	if c.EndsWithSession {
		cgroup = s.lock.cgroup()
		defer s.lock.drop(cgroup)
	}
	stdout, combined := &head{limit: stdoutLimit}, &Tail{Limit: OutputLimit}
	printed := []io.Writer{stdout, combined}
	if s.Live != nil && !c.Quiet {
		printed = append(printed, s.Live)
	}
	ended, err := runSupervised(ctx, request{
		Path: []byte(program), Argv: convert[[]byte](c.Argv), Env: convert[[]byte](env),
		Dir: []byte(cmp.Or(c.Dir, "/")), Stdin: c.Stdin, User: user,
		Timeout: c.Timeout, Merge: !c.Quiet, Finish: !c.EndsWithSession, Cgroup: cgroup, FileLimit: c.FileLimit,
	}, io.MultiWriter(printed...), combined, s.lock.file())
	out := Output{Status: ended.Status, Stdout: stdout.bytes(), Combined: combined.String()}
	switch {
	case errors.Is(err, errLeft):
		s.lock.leave(c.Argv[0])
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case err != nil:
	case ended.Refused != "":
		err = errors.New("cannot be started: " + ended.Refused)
	case ended.TimedOut:
		err = fmt.Errorf("ended: %w of %s", ErrTimeout, c.Timeout)
	case ctx.Err() != nil && c.EndsWithSession:
		err = fmt.Errorf("ended: %w", context.Cause(ctx))
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", c.Argv[0], err)
	}
	return out, nil
}

// environment returns the environment of a command and, when it is to run as another user, that user.
func (s *System) environment(c Command) ([]string, *account, error) {
	env := []string{"PATH=" + schema.PlainPath, "LANG=C"}
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
	return env, &account{UID: uint32(id.user.UID), GID: uint32(id.user.GID), Groups: id.groups}, nil
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

func (h *head) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.kept)
}
