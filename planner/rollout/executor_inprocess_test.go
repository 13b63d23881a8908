package rollout

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// Script returns a shell script in the place of a helper for every platform; directory stands for the one on the node.
func Script(t *testing.T, directory, script string) remote.Helpers {
	t.Helper()
	data, sum := sshtest.Gzip(t, script)
	h := remote.Helper{Compressed: data, Sum: sum}
	return remote.NewHelpers(map[string]remote.Helper{"linux/amd64": h, "linux/arm64": h}).In(directory)
}

// obeying gives the executor a script in the place of the helper, which sums up and does nothing.
func obeying(t *testing.T) *InProcess {
	return WithHelpers(Script(t, t.TempDir(),
		"#!/bin/sh\nread -r catalog\necho '{\"summary\":{\"protocol\":1,\"ledger\":{}}}'\n"))
}

// start starts an SSH server whose commands take themselves for root's, whoever runs the tests.
func start(t *testing.T) *sshtest.Server {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "id"), []byte("#!/bin/sh\necho 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return sshtest.Start(t, sshtest.Options{Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH")}})
}

func sshNode(name string, s *sshtest.Server) site.Node {
	host, _ := s.Host()
	return site.Node{Name: name, Address: host, Connection: s.Connection()}
}

func catalogs(mode converge.Mode) converge.Manifest {
	return converge.Manifest{Protocol: converge.Protocol, Site: "lon1", Run: "r1", Mode: mode}
}

// One connection and session per node takes all its catalogs, one after the other.
func TestOneConnectionPerNode(t *testing.T) {
	servers := map[string]*sshtest.Server{"a": start(t), "b": start(t)}
	e := obeying(t)
	const calls = 4
	var running sync.WaitGroup
	for name, server := range servers {
		for range calls {
			running.Go(func() {
				if _, err := e.Converge(t.Context(), sshNode(name, server), catalogs(converge.Prepare),
					nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	running.Wait()
	for name, server := range servers {
		_, most, started := server.Sessions()
		if server.Accepted() != 1 || started != 1 || most != 1 {
			t.Errorf("node %s: %d connections, %d sessions, %d at once; want 1 each", name, server.Accepted(), started, most)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := e.Converge(t.Context(), sshNode("a", servers["a"]), catalogs(converge.Prepare), nil); !errors.Is(err,
		errClosed) {
		t.Errorf("Converge after Close: %v", err)
	}
}

func TestDialErrorsReachTheCaller(t *testing.T) {
	server := start(t)
	node := sshNode("a", server)
	other := sshtest.NewKey(t).PublicKey()
	node.Connection.KnownHosts = []string{knownhosts.Line([]string{server.Address}, other)}
	e := obeying(t)
	defer func() { _ = e.Close() }()
	_, err := e.Converge(t.Context(), node, catalogs(converge.Prepare), nil)
	var failed *transport.Error
	if !errors.As(err, &failed) || failed.Kind != transport.HostKey {
		t.Errorf("got %v, want a host key error", err)
	}
	if unreachable(err) {
		t.Error("a node with another host key counts as unreachable: it would be forgotten")
	}
}

// pipe is a connection that is only opened and closed.
type pipe struct {
	transport.Conn
	closed *atomic.Int32
}

func (p pipe) Close() error { p.closed.Add(1); return nil }

// A connection that died is opened again by whoever needs the node next; until then nobody waits for it.
func TestLostConnectionIsReplaced(t *testing.T) {
	dialled := 0
	var closed atomic.Int32
	e := WithDial(func(context.Context, site.Connection, string, string) (transport.Conn, error) {
		dialled++
		return pipe{closed: &closed}, nil
	})
	answers := []error{
		nil,
		&transport.Error{Kind: transport.Lost, Node: "a", Message: "no sign of life"},
		&converge.SessionError{Code: converge.CodeLocked, Message: "locked"},
		nil,
	}
	for i, want := range answers {
		e.send = func(context.Context, *remote.Link, site.Connection, remote.Helpers, converge.Manifest,
			func(converge.Result)) (converge.Summary, error) {
			return converge.Summary{}, want
		}
		if _, err := e.Converge(t.Context(), site.Node{Name: "a"}, catalogs(converge.Check), nil); !errors.Is(err,
			want) {
			t.Fatalf("call %d: %v, want %v", i, err, want)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if dialled != 2 || closed.Load() != 2 {
		t.Errorf("dialled %d and closed %d times, want 2 and 2", dialled, closed.Load())
	}
}

// A node never has two sessions at once, and who waits for one gives up with its context or with the executor.
func TestWaitingForANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		active := 0
		var closed atomic.Int32
		e := WithDial(func(context.Context, site.Connection, string, string) (transport.Conn, error) {
			return pipe{closed: &closed}, nil
		})
		e.send = func(context.Context, *remote.Link, site.Connection, remote.Helpers, converge.Manifest,
			func(converge.Result)) (converge.Summary, error) {
			active++
			if active > 1 {
				t.Error("two sessions at once")
			}
			time.Sleep(time.Hour)
			active--
			return converge.Summary{}, nil
		}
		call := func(ctx context.Context) error {
			_, err := e.Converge(ctx, site.Node{Name: "a"}, catalogs(converge.Check), nil)
			return err
		}
		var calls sync.WaitGroup
		calls.Go(func() {
			if err := call(t.Context()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the context", err)
			}
		})
		time.Sleep(2 * time.Minute)
		calls.Go(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if closed.Load() != 0 {
			t.Error("Close did not wait for the running session")
		}
		calls.Wait()
		if err := call(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("got %v, want %v", err, errClosed)
		}
		if closed.Load() != 1 {
			t.Errorf("closed %d times", closed.Load())
		}
	})
}
