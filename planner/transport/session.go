package transport

import (
	"context"
	"errors"
	"github.com/slipway/terraform-provider-slipway/planner/outside"
	"io"
	"sync"

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

// stream carries output from the library to the reader. The library's own end only with the node's consent: OpenSSH keeps a
// session until its command has ended, whatever the client asks for. A stream can be cut.
type stream struct {
	from io.Reader
	*io.PipeReader
	to *io.PipeWriter
}

func newStream(from io.Reader) stream {
	r, w := io.Pipe()
	return stream{from: from, PipeReader: r, to: w}
}

// pump carries until the output ends or the stream is cut.
func (s stream) pump() {
	_, _ = io.Copy(s.to, s.from) // a connection that breaks shows as the end of the output, and in Wait
	s.cut()
}

// cut gives the reader the end of the output.
func (s stream) cut() { s.to.Close() }

// inlet carries input from the writer to the library, whose writes last until the node takes what it gets. An inlet can be cut.
type inlet struct {
	*io.PipeWriter
	from *io.PipeReader
	to   io.WriteCloser
}

func newInlet(to io.WriteCloser) inlet {
	r, w := io.Pipe()
	return inlet{PipeWriter: w, from: r, to: to}
}

// pump carries until the writer closes the inlet, the node takes no more or the inlet is cut.
func (i inlet) pump() {
	_, err := io.Copy(i.to, i.from)
	i.from.CloseWithError(err)
	_ = i.to.Close() // a connection that breaks shows in Wait
}

// cut ends the writer's write.
func (i inlet) cut() { i.from.CloseWithError(io.ErrClosedPipe) }

func (s *session) Stdin() io.WriteCloser { return s.stdin }
func (s *session) Stdout() io.Reader     { return s.stdout }
func (s *session) Stderr() io.Reader     { return s.stderr }

// Wait implements [Session].
func (s *session) Wait() error {
	<-s.ended
	return s.err
}

// finish ends the session as far as its user is concerned; the first call counts.
func (s *session) finish(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.ended)
		<-s.conn.slots
	})
}

// watch gives the session its end: with the command, the connection or ctx, whichever comes first.
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
			s.finish(&Error{Kind: Lost, Node: c.node, Message: outside.Textf("the command was given up: %v", context.Cause(ctx)), Err: context.Cause(ctx)})
		}
		s.stdin.cut()
		s.stdout.cut()
		s.stderr.cut()
		// Ask the node to end the command. Nobody waits for it: OpenSSH does not signal the commands of root, and keeps the session as
		// long as they like; a node that hangs may even block the asking, until the connection dies of it.
		_ = s.raw.Signal(ssh.SIGTERM)
		_ = s.raw.Close()
	})
}

// outcome translates how the library says that a command ended.
func (s *session) outcome(err error) error {
	var exit *ssh.ExitError
	if err == nil {
		return nil
	}
	if errors.As(err, &exit) {
		return &ExitError{Status: exit.ExitStatus(), Signal: outside.Text(exit.Signal())}
	}
	return s.conn.lost(err)
}
