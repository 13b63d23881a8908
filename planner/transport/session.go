package transport

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner/resource"

	"golang.org/x/crypto/ssh"
)

// session is a running command.
type session struct {
	raw  *ssh.Session
	conn *connection

	stdin          inlet
	stdout, stderr stream

	once  sync.Once
	ended chan struct{} // closed when err is set
	err   error
}

// stream copies output from the library to the reader, and can be cut. The library's own reader ends only when the node
// ends the session, and OpenSSH keeps a session until its command has ended.
type stream struct {
	from io.Reader
	*io.PipeReader
	to *io.PipeWriter
}

func newStream(from io.Reader) stream {
	r, w := io.Pipe()
	return stream{from: from, PipeReader: r, to: w}
}

// pump copies until the output ends or the stream is cut.
func (s stream) pump() {
	_, _ = io.Copy(s.to, s.from) // a broken connection ends the output, and Wait reports it
	s.cut()
}

// cut ends the output of the reader.
func (s stream) cut() { s.to.Close() }

// inlet copies input from the writer to the library, and can be cut. A write to the library lasts until the node
// accepts the data.
type inlet struct {
	*io.PipeWriter
	from *io.PipeReader
	to   io.WriteCloser
}

func newInlet(to io.WriteCloser) inlet {
	r, w := io.Pipe()
	return inlet{PipeWriter: w, from: r, to: to}
}

// pump copies until the writer closes the inlet, the node accepts no more input or the inlet is cut.
func (i inlet) pump() {
	_, err := io.Copy(i.to, i.from)
	i.from.CloseWithError(err)
	_ = i.to.Close() // Wait reports a broken connection
}

// cut makes the writer's Write fail.
func (i inlet) cut() { i.from.CloseWithError(io.ErrClosedPipe) }

func (s *session) Stdin() io.WriteCloser { return s.stdin }
func (s *session) Stdout() io.Reader     { return s.stdout }
func (s *session) Stderr() io.Reader     { return s.stderr }

// Wait implements [Session].
func (s *session) Wait() error {
	<-s.ended
	return s.err
}

// finish sets the result of Wait and frees the slot; only the first call counts.
func (s *session) finish(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.ended)
		<-s.conn.slots
	})
}

// watch ends the session with the command, the connection or ctx, whichever ends first.
func (s *session) watch(ctx context.Context) {
	c := s.conn
	c.tasks.Go(func() { s.finish(s.outcome(s.raw.Wait())) })
	c.tasks.Go(s.stdin.pump)
	read := make(chan struct{})
	c.tasks.Go(func() {
		var pumps sync.WaitGroup
		pumps.Go(s.stdout.pump)
		pumps.Go(s.stderr.pump)
		pumps.Wait()
		close(read)
	})
	c.tasks.Go(func() {
		select {
		case <-s.ended:
			select { // the last output may still be wanted
			case <-read:
			case <-ctx.Done():
			case <-c.closed:
			}
		case <-c.closed:
		case <-ctx.Done():
			s.finish(&Error{Kind: Lost, Node: c.node,
				Message: resource.Textf("the command was given up: %v", context.Cause(ctx)), Err: context.Cause(ctx)})
		}
		s.stdin.cut()
		s.stdout.cut()
		s.stderr.cut()
		// Ask the node to end the command, without waiting for it: OpenSSH does not signal commands of root and keeps
		// their session open. A node that hangs may block Signal until the connection is closed.
		_ = s.raw.Signal(ssh.SIGTERM)
		_ = s.raw.Close()
	})
}

// outcome translates the library's result of a command.
func (s *session) outcome(err error) error {
	var exit *ssh.ExitError
	if err == nil {
		return nil
	}
	if errors.As(err, &exit) {
		return &ExitError{Status: exit.ExitStatus(), Signal: resource.Text(exit.Signal())}
	}
	return s.conn.lost(err)
}
