package transport

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"

	"golang.org/x/crypto/ssh"
)

// MaxSessions is how many sessions one connection has at once. By default sshd refuses the eleventh (execution.md 2.1);
// the rest is for other users of the connection's limit.
const MaxSessions = 4

// connection is an open connection to a node.
type connection struct {
	node   string
	rules  rules
	chain  *chain
	ssh    *ssh.Client   // the node's end of the chain
	slots  chan struct{} // one element for each open session
	dead   chan struct{} // closed when the connection has ended
	closed chan struct{} // closed by Close
	once   sync.Once
	tasks  sync.WaitGroup

	mu     sync.Mutex
	reason *Error // why the connection ended
}

func newConnection(node string, chain *chain, r rules) *connection {
	c := &connection{
		node: node, rules: r, chain: chain, ssh: chain.clients[len(chain.clients)-1],
		slots: make(chan struct{}, MaxSessions), dead: make(chan struct{}), closed: make(chan struct{}),
	}
	c.tasks.Go(func() {
		err := c.ssh.Wait()
		c.end(&Error{Kind: Lost, Node: node, Message: "the node, or a bastion before it, closed the connection",
			Err: err})
	})
	c.tasks.Go(c.sendKeepalives)
	c.tasks.Go(c.detectSilence)
	return c
}

// end closes the connection; only the first reason is kept.
func (c *connection) end(reason *Error) {
	c.mu.Lock()
	first := c.reason == nil
	if first {
		c.reason = reason
		close(c.dead)
	}
	c.mu.Unlock()
	if first {
		c.chain.close()
	}
}

// enter makes Close wait for the caller, until tasks.Done. It fails when the connection has ended.
func (c *connection) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil {
		return c.reason
	}
	c.tasks.Add(1)
	return nil
}

// cause returns why the connection ended, nil while it is open.
func (c *connection) cause() *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Close implements [Conn].
func (c *connection) Close() error {
	c.end(&Error{Kind: Lost, Node: c.node, Message: "the connection was closed by slipway"})
	c.once.Do(func() { close(c.closed) })
	c.tasks.Wait()
	return nil
}

// sendKeepalives sends a keepalive request in every interval. A request without an answer blocks it, so detectSilence
// runs apart.
func (c *connection) sendKeepalives() {
	tick := time.NewTicker(c.rules.interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, _, err := c.ssh.SendRequest("keepalive@openssh.com", true, nil); err != nil {
				return // the connection is closed
			}
		case <-c.dead:
			return
		}
	}
}

// detectSilence ends the connection when nothing came from the node for several intervals. It counts intervals and not
// time: a controller that was suspended must not blame the node.
func (c *connection) detectSilence() {
	tick := time.NewTicker(c.rules.interval)
	defer tick.Stop()
	var heard uint64
	for silent := 0; ; {
		select {
		case <-tick.C:
		case <-c.dead:
			return
		}
		if now := c.chain.last.received.Load(); now != heard {
			heard, silent = now, 0
			continue
		}
		if silent++; silent >= c.rules.silentIntervals {
			c.end(&Error{Kind: Lost, Node: c.node,
				Message: resource.Textf("the node stopped answering: nothing came for %s",
					time.Duration(silent)*c.rules.interval)})
			return
		}
	}
}

// Start implements [Conn].
func (c *connection) Start(ctx context.Context, command string) (Session, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.tasks.Done()
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, c.givenUp(ctx)
	case <-c.dead:
		return nil, c.cause()
	}
	// The library waits for an answer without a limit. So its calls run in a goroutine, which cleans up when nobody
	// waits any more. It ends with the connection at the latest.
	opened := make(chan opening, 1)
	c.tasks.Go(func() { opened <- c.open(ctx, command) })
	select {
	case o := <-opened:
		if o.err != nil {
			<-c.slots
			return nil, o.err
		}
		o.session.watch(ctx)
		return o.session, nil
	case <-ctx.Done():
		c.tasks.Go(func() {
			if o := <-opened; o.err == nil {
				o.session.raw.Close()
			}
			<-c.slots
		})
		return nil, c.givenUp(ctx)
	}
}

func (c *connection) givenUp(ctx context.Context) *Error {
	return &Error{Kind: Lost, Node: c.node, Message: resource.Textf("starting a command was given up: %v",
		context.Cause(ctx)), Err: context.Cause(ctx)}
}

type opening struct {
	session *session
	err     error
}

// open opens a session and starts the command. A refused session means that the node's sshd is busy with other sessions
// (MaxSessions; execution.md 2.1), not that the connection is dead: open retries for rules.busy.
func (c *connection) open(ctx context.Context, command string) opening {
	ctx, cancel := context.WithTimeout(ctx, c.rules.busy)
	defer cancel()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		raw, err := c.ssh.NewSession()
		if err == nil {
			return c.start(raw, command)
		}
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) {
			return opening{err: c.lost(err)}
		}
		select {
		case <-time.After(pause):
		case <-c.dead:
			return opening{err: c.cause()}
		case <-ctx.Done():
			return opening{err: &Error{Kind: Busy, Node: c.node, Err: err, Message: resource.Textf(
				"the node refuses another session (%s); its sshd must allow at least %d for each connection (MaxSessions)",
				refused.Message, MaxSessions)}}
		}
	}
}

func (c *connection) start(raw *ssh.Session, command string) opening {
	s := &session{raw: raw, conn: c, ended: make(chan struct{})}
	stdin, err1 := raw.StdinPipe()
	stdout, err2 := raw.StdoutPipe()
	stderr, err3 := raw.StderrPipe()
	s.stdin, s.stdout, s.stderr = newInlet(stdin), newStream(stdout), newStream(stderr)
	err := errors.Join(err1, err2, err3)
	if err == nil {
		err = raw.Start(command)
	}
	if err == nil {
		return opening{session: s}
	}
	raw.Close()
	if c.cause() == nil && !hungUp(err) {
		return opening{err: &Error{Kind: Busy, Node: c.node,
			Message: "the node's sshd does not run commands for this user (a command was refused)", Err: err}}
	}
	return opening{err: c.lost(err)}
}

// lost returns why the connection ended, for an error of the library. The library reports an end to its sessions
// slightly before Wait returns.
func (c *connection) lost(err error) *Error {
	select {
	case <-c.dead:
		return c.cause()
	case <-time.After(time.Second):
		return &Error{Kind: Lost, Node: c.node, Message: resource.Textf("the session broke off: %v", err), Err: err}
	}
}
