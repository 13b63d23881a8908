package transport

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick are the standard rules in a hundredth of the time.
var quick = rules{interval: 30 * time.Millisecond, silentIntervals: 3, busy: 2 * time.Second}

// dialTest connects to a server by its connection, and closes the connection with the test.
func dialTest(t *testing.T, c site.Connection) *connection {
	t.Helper()
	conn, err := quick.dial(t.Context(), c, "web1", "127.0.0.1")
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*connection)
}

// refusal returns the error with which a connection does not come about.
func refusal(t *testing.T, c site.Connection, kind Kind, words ...string) *Error {
	t.Helper()
	conn, err := quick.dial(t.Context(), c, "web1", "127.0.0.1")
	if err == nil {
		conn.Close()
		t.Fatalf("dial succeeded, want an error of kind %q", kind)
	}
	return isError(t, err, kind, words...)
}

// isError checks kind and message of an error.
func isError(t *testing.T, err error, kind Kind, words ...string) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind || e.Node != "web1" {
		t.Fatalf("error is %#v (%v), want kind %q of node web1", err, err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "PRIVATE KEY") {
		t.Errorf("error shows a key: %v", err)
	}
	return e
}

// run runs a command to its end.
func run(ctx context.Context, c Conn, command, stdin string) (string, error) {
	s, err := c.Start(ctx, command)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(s.Stdin(), stdin); err != nil {
		return "", err
	}
	s.Stdin().Close()
	out, err := io.ReadAll(s.Stdout())
	return string(out), errors.Join(err, s.Wait())
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(10 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestACommandRuns(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	c := dialTest(t, s.Connection())
	out, err := run(t.Context(), c, "cat; echo err >&2", "hello\n")
	if out != "hello\n" || err != nil {
		t.Errorf("out %q, error %v", out, err)
	}
	_, err = run(t.Context(), c, "exit 3", "")
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Status != 3 || exit.Signal != "" {
		t.Errorf("exit 3 gives %#v", err)
	}
	_, err = run(t.Context(), c, "kill -TERM $$", "")
	if !errors.As(err, &exit) || exit.Status != 143 || exit.Signal != "TERM" {
		t.Errorf("a signal gives %#v", err)
	}
	if s.Accepted() != 1 {
		t.Errorf("%d connections were made, want 1", s.Accepted())
	}
}

func TestBothStreamsAndRepeatedWait(t *testing.T) {
	c := dialTest(t, sshtest.Start(t, sshtest.Options{}).Connection())
	session, err := c.Start(t.Context(), "echo one; echo two >&2; exit 1")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(session.Stdout())
	errs, _ := io.ReadAll(session.Stderr())
	if string(out) != "one\n" || string(errs) != "two\n" {
		t.Errorf("out %q, err %q", out, errs)
	}
	first, second := session.Wait(), session.Wait()
	if first == nil || first != second {
		t.Errorf("Wait gives %v, then %v", first, second)
	}
}

func TestAMegabyteEachWay(t *testing.T) {
	c := dialTest(t, sshtest.Start(t, sshtest.Options{}).Connection())
	session, err := c.Start(t.Context(), "cat")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789abcdef", 1<<16)
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(session.Stdin(), text)
		session.Stdin().Close()
		written <- err
	}()
	out, err := io.ReadAll(session.Stdout())
	if err := errors.Join(err, <-written, session.Wait()); err != nil || string(out) != text {
		t.Errorf("%d bytes came back, error %v", len(out), err)
	}
}
