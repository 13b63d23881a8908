// Package transport reaches nodes: it opens one connection per node and starts commands on it.
//
// SSH is the one transport that needs a connection ([Dial]); work on a local node happens in this process. The rules for
// real nodes come from execution.md 2: a connection without an answer is given up after at most 8 s, a refused session
// means busy and not dead, a server that resets a connection before it says anything is overrun and is asked again.
package transport

import (
	"context"
	"io"
)

// Conn is a connection to one node. It is safe for concurrent use.
type Conn interface {
	// Start starts a command through the node's login shell. The session ends when ctx does, at once; the node is asked to end the
	// command, but a command of root that does not look at its standard input may run on (OpenSSH sends it no signal). At most [MaxSessions]
	// commands run at once; Start waits until there is room, within ctx. All errors are [*Error].
	Start(ctx context.Context, command string) (Session, error)
	// Close ends the connection and all its sessions and waits until nothing of it is left in this process.
	Close() error
}

// Session is a running command. What is not read of its output stops the command, sooner or later. A command that does not read its input holds up who writes to
// it, for no longer than the session lives.
type Session interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Wait waits for the command to end, after Stdout and Stderr were read to their ends. A command that ended with a
	// status other than 0 gives an [*ExitError]; one whose connection broke, or that was ended by its context, an [*Error] of
	// kind [Lost]. Wait may be called more than once.
	Wait() error
}
