// Package temporaltest starts a development server of Temporal for a test, with its database in a file of the test.
package temporaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// Namespace is the one that each server has.
const Namespace = "default"

// startLimit bounds a start. An idle machine needs two seconds.
const startLimit = 2 * time.Minute

// ErrMissing means that the server was not built.
var ErrMissing = errors.New("its development server is not built: make temporal")

// Server is a development server. Its processes end with the test, and also with the process of the test.
type Server struct {
	// Address is HOST:PORT of the server. It stays the same after [Server.Kill] and [Server.Up].
	Address string
	// File is the SQLite database of the server. Without [Server.Stop] a part of it is in the file beside it, -wal.
	File string

	program  string
	settings []string
	process  *process // nil: it is not running
}

// process is a running server.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

// Start starts a server that ends with the test. Settings are its dynamic configuration, KEY=JSON. Where it cannot run,
// the test is skipped.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := New(t.TempDir(), settings...)
	if err != nil {
		Skip(t, err)
	}
	t.Cleanup(func() { s.Kill(t) })
	return s
}

// Skip skips a test because of an error of [New] and says what is not tested. Every other error than ErrMissing fails.
func Skip(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	t.Skipf("NOT TESTED: Temporal, because %v", err)
}

// New starts a server with its database in a directory.
func New(dir string, settings ...string) (*Server, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	s := &Server{File: filepath.Join(dir, "temporal.db"), program: program, settings: settings}
	for range 5 { // another program may take an address before the server does
		if s.Address, err = freeAddress(); err != nil {
			return nil, err
		}
		if err = s.Restart(); err == nil || !strings.Contains(err.Error(), "address already in use") {
			break
		}
	}
	return s, err
}

// find returns the program that `make temporal` builds, in the folder .bin of the module.
func find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ErrMissing
		}
		dir = parent
	}
	found, err := filepath.Glob(filepath.Join(dir, ".bin", "temporal@*", "temporal"))
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, ErrMissing)
	}
	return found[len(found)-1], nil
}

// freeAddress returns an address of the loopback interface where nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Up starts the server after [Server.Kill] or [Server.Stop], with the same address and database, and waits until it
// answers.
func (s *Server) Up(t testing.TB) {
	t.Helper()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
}

// Restart is [Server.Up] where a test cannot be ended, such as in a goroutine of its own.
func (s *Server) Restart() error {
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return err
	}
	args := []string{"server", "start-dev", "--headless", "--log-level", "error", "--ip", host, "--port", port,
		"--db-filename", s.File, "--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=off"}
	for _, v := range s.settings {
		args = append(args, "--dynamic-config-value", v)
	}
	out := filepath.Join(filepath.Dir(s.File), "log-"+strconv.FormatInt(time.Now().UnixNano(), 10))
	if s.process, err = start(out, s.program, args...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit) // also in a cleanup, where that of a test is over
	defer cancel()
	if err := s.answers(ctx); err != nil {
		text, _ := os.ReadFile(out)
		return fmt.Errorf("temporal server start-dev: %w: %s", err, bytes.TrimSpace(text))
	}
	return nil
}

// start starts a program whose output goes to a file. The kernel ends it with the thread that started it, so that
// thread is kept.
func start(out, program string, args ...string) (*process, error) {
	file, err := os.Create(out)
	if err != nil {
		return nil, err
	}
	p := &process{exec.Command(program, args...), make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		defer file.Close() //nolint:errcheck // the output of a program
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // it was killed
		}
	}()
	return p, <-started
}

// answers waits until the server has its namespace.
func (s *Server) answers(ctx context.Context) error {
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for {
		c, err := client.DialContext(ctx, s.options(client.Options{}))
		if err == nil {
			_, err = c.WorkflowService().DescribeNamespace(ctx,
				&workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
			c.Close()
		}
		if err == nil {
			return nil
		}
		select {
		case <-retry.C:
		case <-s.process.ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return fmt.Errorf("no answer in %s: %w", startLimit, err)
		}
	}
}

// options completes the options of a client.
func (s *Server) options(o client.Options) client.Options {
	o.HostPort = s.Address
	if o.Logger == nil {
		o.Logger = quiet{}
	}
	return o
}

// Client returns a client that is closed with the test. It logs nothing unless the options say so.
func (s *Server) Client(t testing.TB, o client.Options) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), s.options(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Kill ends the server with SIGKILL.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.End(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// Stop ends the server as an administrator does. All of its database is in its file then.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// End ends the server with a signal, unless it has ended.
func (s *Server) End(signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	p := s.process
	s.process = nil
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(startLimit):
		return fmt.Errorf("the server did not end in %s", startLimit)
	}
}

// quiet is a logger that logs nothing.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

var _ log.Logger = quiet{}
