package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().(*net.TCPAddr).Port
	l.Close()
	s := sshtest.Start(t, sshtest.Options{})
	c := s.Connection()
	c.Port = nobody
	refusal(t, c, Unreachable, "the node's address and connection.port", "cannot be reached: connection refused")

	_, err = quick.dial(t.Context(), s.Connection(), "web1", "no-such-host.invalid")
	isError(t, err, Unreachable, "no-such-host.invalid")
	_, err = quick.dial(t.Context(), s.Connection(), "web1", "")
	isError(t, err, Config, "address is not set")
}

// execution.md 1: a frozen host lets TCP connect and says nothing.
func TestConnectTimeout(t *testing.T) {
	t.Run("no banner", func(t *testing.T) {
		s := sshtest.Start(t, sshtest.Options{})
		s.Silence()
		c := s.Connection()
		c.ConnectTimeout = 50 * time.Millisecond
		e := refusal(t, c, Unreachable, "no SSH banner", "connection.connect_timeout (50ms)")
		if !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("cause is %v", e.Err)
		}
	})
	t.Run("no key exchange", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "SSH-2.0-Hangs\r\n")
			_, _ = io.Copy(io.Discard, c)
		})
		defer running.Wait()
		defer l.Close()
		c := sshtest.Start(t, sshtest.Options{}).Connection()
		c.Port, c.ConnectTimeout = l.Addr().(*net.TCPAddr).Port, 500*time.Millisecond
		refusal(t, c, Unreachable, "key exchange did not end")
	})
	t.Run("context", func(t *testing.T) {
		s := sshtest.Start(t, sshtest.Options{})
		s.Silence()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			eventually(t, "a connection", func() bool { return s.Accepted() > 0 })
			cancel()
		}()
		_, err := quick.dial(ctx, s.Connection(), "web1", "127.0.0.1")
		if e := isError(t, err, Unreachable, "given up"); !errors.Is(e, context.Canceled) {
			t.Errorf("cause is %v", e.Err)
		}
	})
	t.Run("not SSH", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"+strings.Repeat("x", 300)+"\n")
				running.Go(func() { _, _ = io.Copy(io.Discard, c); c.Close() })
			}
		})
		defer running.Wait()
		defer l.Close()
		c := sshtest.Start(t, sshtest.Options{}).Connection()
		c.Port, c.ConnectTimeout = l.Addr().(*net.TCPAddr).Port, time.Second
		refusal(t, c, Unreachable)
	})
}

// execution.md 2.2: resets before the banner are sshd's MaxStartups.
func TestResetsAreRetried(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	s.Reset(2)
	dialTest(t, s.Connection())
	if s.Accepted() != 3 {
		t.Errorf("%d connections, want 3", s.Accepted())
	}
	s.Reset(1000)
	c := s.Connection()
	c.ConnectTimeout = 400 * time.Millisecond
	refusal(t, c, Unreachable, "hung up on all", "MaxStartups")
	if n := s.Accepted(); n > 20 {
		t.Errorf("%d connections within 400ms: no pause between them", n)
	}

	// whoever gives the attempt up earlier learns the same
	c.ConnectTimeout = time.Minute
	for _, by := range []func() (context.Context, context.CancelFunc){
		func() (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(t.Context(), 400*time.Millisecond, errors.New("prepare_timeout is over"))
		},
		func() (context.Context, context.CancelFunc) {
			ctx, stop := context.WithCancel(t.Context())
			time.AfterFunc(400*time.Millisecond, stop)
			return ctx, stop
		},
	} {
		ctx, cancel := by()
		defer cancel()
		_, err := quick.dial(ctx, c, "web1", "127.0.0.1")
		isError(t, err, Unreachable, "hung up on all", "connections until it was given up")
	}
}

// execution.md 2.1.
func TestSessionsAreCapped(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	var together sync.WaitGroup
	for range 12 {
		together.Go(func() {
			if out, err := run(t.Context(), c, "cat; sleep 0.02", "x"); out != "x" || err != nil {
				t.Errorf("out %q, error %v", out, err)
			}
		})
	}
	together.Wait()
	if _, most, started := s.Sessions(); most > MaxSessions || started != 12 {
		t.Errorf("%d sessions at once, %d in all", most, started)
	}
	t.Run("waiting for room ends with the context", func(t *testing.T) {
		var held []Session
		for range MaxSessions {
			h, err := c.Start(t.Context(), "cat")
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, h)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := c.Start(ctx, "true")
		if e := isError(t, err, Lost, "given up"); !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("cause is %v", e.Err)
		}
		for _, h := range held {
			h.Stdin().Close()
			if err := h.Wait(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRefusedSessionIsBusyNotDead(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	s.RefuseSessions(3)
	if out, err := run(t.Context(), c, "cat", "x"); out != "x" || err != nil {
		t.Fatalf("out %q, error %v", out, err)
	}
	s.RefuseSessions(1 << 20)
	c.rules.busy = 100 * time.Millisecond
	_, err := run(t.Context(), c, "cat", "x")
	isError(t, err, Busy, "refuses another session", "MaxSessions")
	s.RefuseSessions(0)
	if _, err := run(t.Context(), c, "true", ""); err != nil {
		t.Errorf("the connection died of a refused session: %v", err)
	}
	if s.Accepted() != 1 {
		t.Errorf("%d connections, want 1", s.Accepted())
	}
}

// execution.md 2.3.
func TestHangIsDetected(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	session, err := c.Start(t.Context(), "echo on; cat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(session.Stdout(), make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	s.Mute(true)
	start := time.Now()
	if _, err := io.ReadAll(session.Stdout()); err != nil {
		t.Fatal(err)
	}
	isError(t, session.Wait(), Lost, "stopped answering", "90ms")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	_, err = c.Start(t.Context(), "true")
	isError(t, err, Lost, "stopped answering")
}

func TestStandardRulesKeepTheirPromise(t *testing.T) {
	// The last byte may come right after an interval, so one more passes before the silent ones are counted.
	if worst := time.Duration(standard.silentIntervals+1) * standard.interval; standard.interval != 2*time.Second ||
		worst != 8*time.Second {
		t.Errorf("an interval of %s, and an error after %s; want 2s and 8s (execution.md 2.3)", standard.interval,
			worst)
	}
}

func TestAQuietCommandIsNotAHang(t *testing.T) {
	c := dialTest(t, sshtest.Start(t, sshtest.Options{}).Connection())
	if out, err := run(t.Context(), c, "sleep 0.5; echo done", ""); out != "done\n" || err != nil {
		t.Errorf("out %q, error %v", out, err)
	}
}

func TestDroppedConnection(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	session, err := c.Start(t.Context(), "cat")
	if err != nil {
		t.Fatal(err)
	}
	s.Drop()
	isError(t, session.Wait(), Lost, "closed the connection")
	if _, err = c.Start(t.Context(), "true"); err == nil {
		t.Fatal("a dead connection starts commands")
	}
	isError(t, err, Lost)
}

func TestContextEndsACommand(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	ctx, cancel := context.WithCancel(t.Context())
	session, err := c.Start(ctx, "exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if e := isError(t, session.Wait(), Lost, "given up"); !errors.Is(e, context.Canceled) {
		t.Errorf("cause is %v", e.Err)
	}
	eventually(t, "the command to end", func() bool { now, _, _ := s.Sessions(); return now == 0 })
	if _, err := run(t.Context(), c, "true", ""); err != nil {
		t.Errorf("the connection did not survive: %v", err)
	}
}

func TestContextEndsACommandOnANodeThatHangs(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	ctx, cancel := context.WithCancel(t.Context())
	session, err := c.Start(ctx, "cat")
	if err != nil {
		t.Fatal(err)
	}
	s.Mute(true)
	cancel()
	isError(t, session.Wait(), Lost, "given up")
	if out, err := io.ReadAll(session.Stdout()); len(out) != 0 || err != nil {
		t.Errorf("out %q, error %v", out, err)
	}
}

// OpenSSH neither signals a command of root nor lets go of its session; that is no reason to wait, to lose the
// connection, or to be short of sessions. A node that says nothing for a while is the same to us.
func TestContextEndsACommandThatTheNodeKeeps(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	patient := quick
	patient.interval = time.Hour
	conn, err := patient.dial(t.Context(), s.Connection(), "web1", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var given []Session
	for range MaxSessions {
		session, err := conn.Start(ctx, "echo on; exec sleep 1000")
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, session)
	}
	s.Mute(true)
	cancel()
	for _, session := range given {
		isError(t, session.Wait(), Lost, "given up")
		if _, err := io.ReadAll(session.Stdout()); err != nil {
			t.Error(err)
		}
	}
	if free := MaxSessions - len(conn.(*connection).slots); free != MaxSessions {
		t.Errorf("%d slots are free, want %d", free, MaxSessions)
	}
	s.Mute(false)
	if out, err := run(t.Context(), conn, "cat", "x"); out != "x" || err != nil {
		t.Errorf("out %q, error %v", out, err)
	}
}

// A cut must not take away what came before it.
func TestOutputSurvivesTheConnection(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	session, err := c.Start(t.Context(), `printf 'one\ntwo\n'; cat`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(session.Stdout(), make([]byte, 4)); err != nil { // both lines came in one packet
		t.Fatal(err)
	}
	s.Drop()
	isError(t, session.Wait(), Lost)
	if out, err := io.ReadAll(session.Stdout()); string(out) != "two\n" || err != nil {
		t.Errorf("out %q, error %v", out, err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	session, err := c.Start(t.Context(), "cat")
	if err != nil {
		t.Fatal(err)
	}
	var together sync.WaitGroup
	for range 3 {
		together.Go(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		together.Go(func() {
			if s, err := c.Start(t.Context(), "true"); err == nil {
				_ = s.Wait()
			}
		})
	}
	together.Wait()
	isError(t, session.Wait(), Lost, "closed by slipway")
	_, err = c.Start(t.Context(), "true")
	isError(t, err, Lost, "closed by slipway")
}

func TestBastionChain(t *testing.T) {
	first, second, node := sshtest.Start(t, sshtest.Options{}), sshtest.Start(t, sshtest.Options{}), sshtest.Start(t,
		sshtest.Options{})
	through := func() site.Connection {
		c := node.Connection()
		c.Bastions = []site.Bastion{first.Bastion(), second.Bastion()}
		c.KnownHosts = []string{first.KnownHost(), second.KnownHost(), node.KnownHost()}
		return c
	}
	t.Run("works", func(t *testing.T) {
		if out, err := run(t.Context(), dialTest(t, through()), "cat", "far"); out != "far" || err != nil {
			t.Errorf("out %q, error %v", out, err)
		}
		for i, s := range []*sshtest.Server{first, second, node} {
			if s.Accepted() != 1 {
				t.Errorf("hop %d has %d connections, want 1", i, s.Accepted())
			}
		}
	})
	t.Run("each hop is verified", func(t *testing.T) {
		for i, s := range []*sshtest.Server{first, second, node} {
			c := through()
			c.KnownHosts = append(append([]string{}, c.KnownHosts[:i]...), c.KnownHosts[i+1:]...)
			refusal(t, c, HostKey, "the host key of "+s.Address+" is unknown")
		}
	})
	t.Run("own key refused", func(t *testing.T) {
		c := through()
		_, c.Bastions[1].PrivateKey = sshtest.NewPrivateKey(t, "")
		refusal(t, c, Auth, `bastion "`+second.Address+`": `, "connection.bastions[1].user",
			"connection.bastions[1].private_key")
	})
	t.Run("own key malformed", func(t *testing.T) {
		c := through()
		c.Bastions[0].PrivateKey = "rubbish"
		refusal(t, c, Key, "connection.bastions[0].private_key")
	})
	t.Run("credentials of the connection", func(t *testing.T) {
		c := through()
		c.Bastions[0].PrivateKey, c.Bastions[0].User = "", ""
		refusal(t, c, Auth, `bastion "`+first.Address) // the node's key, which the bastion does not know
	})
	t.Run("no host", func(t *testing.T) {
		c := through()
		c.Bastions[1].Host = ""
		refusal(t, c, Config, "connection.bastions[1].host is not set")
	})
	t.Run("node down", func(t *testing.T) {
		c := through()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.Port = l.Addr().(*net.TCPAddr).Port
		l.Close()
		refusal(t, c, Unreachable, "from the bastion before it", "connection refused")
	})
	t.Run("resets are retried", func(t *testing.T) {
		node.Reset(1)
		dialTest(t, through())
	})
	t.Run("second bastion hangs", func(t *testing.T) {
		conn := dialTest(t, through())
		session, err := conn.Start(t.Context(), "cat")
		if err != nil {
			t.Fatal(err)
		}
		second.Mute(true)
		isError(t, session.Wait(), Lost, "stopped answering")
		c := through()
		c.ConnectTimeout = 2 * time.Second // the first bastion, which answers, must end its part within it on a busy machine
		refusal(t, c, Unreachable, `bastion "`+second.Address)
		second.Mute(false)
	})
}
