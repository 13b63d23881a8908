// Package transport reaches nodes: it opens one connection per node and starts commands on it.
//
// SSH is the only transport with a connection ([Dial]); a local node is handled in this process. The rules come from
// execution.md 2: a connection without an answer is given up after at most 8 s; a refused session means that the node
// is busy, not dead; a server that resets a connection before its banner is overloaded, and the connection is retried.
package transport

import (
	"context"
	"io"
)

// Conn is a connection to one node. It is safe for concurrent use.
type Conn interface {
	// Start starts a command through the node's login shell. At most [MaxSessions] commands run at once; Start waits
	// for a free session, within ctx. When ctx ends, the session ends at once and the node is asked to end the command;
	// a command of root that does not read its standard input may run on, because OpenSSH sends it no signal. All
	// errors are [*Error].
	Start(ctx context.Context, command string) (Session, error)
	// Close closes the connection and its sessions, and returns when no goroutine of it is left.
	Close() error
}

// Session is a running command. Output that nobody reads blocks the command. A command that does not read its input
// blocks the writer, at most until the session ends.
type Session interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Wait waits for the command to end, after Stdout and Stderr were read to their ends. A status other than 0 gives
	// an [*ExitError]. A broken connection, or the end of the context, gives an [*Error] of kind [Lost]. Wait may be
	// called more than once.
	Wait() error
}
