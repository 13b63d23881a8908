package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// chain is a list of SSH clients, each reached through the one before.
type chain struct {
	clients []*ssh.Client
	base    net.Conn // the one TCP connection that carries them all
	last    *wire    // what the last client reads from
}

// close closes all clients. It closes base first: then no client waits for a silent peer.
func (c *chain) close() {
	if c.base != nil {
		c.base.Close()
	}
	for _, client := range c.clients {
		client.Close()
		_ = client.Wait() // the reason is recorded already
	}
}

// extend adds a hop. A server that resets the connection before its banner is overloaded (sshd: MaxStartups;
// execution.md 2.2): extend retries with growing pauses until ctx ends.
func (c *chain) extend(ctx context.Context, h *hop, limit time.Duration) error {
	db, err := h.hosts.read(h.address)
	if err != nil {
		return err
	}
	pause := 100 * time.Millisecond
	var hungUp *Error // the last attempt that the server reset
	for tries := 0; ; tries++ {
		wire, refused := c.open(ctx, h, limit)
		if refused == nil {
			var client *ssh.Client
			if client, refused = h.handshake(ctx, wire, db, c.base.Close, limit); refused == nil {
				c.clients, c.last = append(c.clients, client), wire
				return nil
			}
		}
		switch {
		case hungUp != nil && ctx.Err() != nil:
			return h.overloaded(ctx, hungUp, tries, limit)
		case !overloaded(refused, wire) || ctx.Err() != nil:
			return refused
		}
		hungUp = refused
		select {
		case <-time.After(pause/2 + rand.N(pause)):
			pause = min(2*pause, time.Second)
		case <-ctx.Done():
			return h.overloaded(ctx, hungUp, tries+1, limit)
		}
	}
}

func (h *hop) overloaded(ctx context.Context, hungUp *Error, tries int, limit time.Duration) *Error {
	within := fmt.Sprintf("within %s (%s)", h.named("connect_timeout"), limit)
	if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		within = "until it was given up"
	}
	return h.errorf(Unreachable, hungUp.Err, "%s hung up on all %d connections %s before it said anything: "+
		"its sshd is overrun (MaxStartups), or it refuses this address", h.address, tries, within)
}

// overloaded reports whether a server hung up before its banner; w is nil when it did so before the connection was
// open.
func overloaded(err *Error, w *wire) bool {
	if w == nil {
		return errors.Is(err, syscall.ECONNRESET)
	}
	return !w.greeted() && hungUp(err.Err)
}

// open connects to the port of the hop, through the last client when there is one.
func (c *chain) open(ctx context.Context, h *hop, limit time.Duration) (*wire, *Error) {
	if len(c.clients) == 0 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", h.address)
		if err != nil {
			return nil, h.unreachable(ctx, err, limit, "")
		}
		c.base = conn
		return &wire{Conn: conn}, nil
	}
	conn, err := c.clients[len(c.clients)-1].DialContext(ctx, "tcp", h.address)
	if err != nil {
		return nil, h.unreachable(ctx, err, limit, " from the bastion before it")
	}
	return &wire{Conn: conn}, nil
}

func (h *hop) unreachable(ctx context.Context, err error, limit time.Duration, from string) *Error {
	if ctx.Err() != nil {
		return h.outOfTime(ctx.Err(), limit, "no connection"+from)
	}
	// the dialer may time out just before ctx
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return h.outOfTime(context.DeadlineExceeded, limit, "no connection"+from)
	}
	why := cause(err).Error()
	var refused *ssh.OpenChannelError
	if errors.As(err, &refused) {
		why = refused.Message
		if refused.Reason == ssh.Prohibited {
			why += ": its sshd must allow TCP forwarding (AllowTcpForwarding)"
		}
	}
	failed := h.errorf(Unreachable, err, "%s (%s) cannot be reached%s: %s", h.address, h.written, from, why)
	failed.Early = hungUp(err) || errors.Is(err, syscall.ECONNREFUSED) ||
		refused != nil && refused.Reason == ssh.ConnectionFailed
	return failed
}

// outOfTime explains a connection that was not open when the context ended with err.
func (h *hop) outOfTime(err error, limit time.Duration, what string) *Error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return h.errorf(Unreachable, err, "connecting to %s was given up: %v", h.address, err)
	}
	return h.errorf(Unreachable, err, "%s to %s within %s (%s)", what, h.address, h.named("connect_timeout"), limit)
}

// handshake verifies the server and authenticates. When that fails it closes w. When ctx ends it calls abort: the
// library has no time limit for a handshake, and a connection through a bastion has no deadline.
func (h *hop) handshake(ctx context.Context, w *wire, db *database, abort func() error,
	limit time.Duration) (*ssh.Client, *Error) {
	known, err := db.lookup(h.address)
	if err != nil {
		w.Close()
		return nil, h.errorf(HostKey, err, "known hosts: %v", err)
	}
	v := &verifier{hop: h, db: db, known: known}
	v.learn = func(key ssh.PublicKey) error { return v.remember(ctx, key) }
	var login login
	config := &ssh.ClientConfig{
		// the library's default includes SHA-1
		Config:            ssh.Config{KeyExchanges: ssh.SupportedAlgorithms().KeyExchanges},
		User:              h.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(h.keys.signers...)},
		HostKeyCallback:   v.check,
		HostKeyAlgorithms: known.algorithms(),
		AuthCallback: func(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
			login.accepts = append([]string{}, c.AllowedMethods...)
			return nil, nil
		},
		BannerCallback: login.recordBanner,
	}
	stop := context.AfterFunc(ctx, func() { _ = abort() }) // makes the handshake fail
	conn, channels, requests, err := ssh.NewClientConn(w, h.address, config)
	if !stop() && err == nil {
		conn.Close()
		err = ctx.Err()
	}
	if err == nil {
		return ssh.NewClient(conn, channels, requests), nil
	}
	w.Close()
	return nil, h.refusal(ctx, err, w, v, login, limit)
}

// login is what a server sends while the user authenticates.
type login struct {
	accepts []string // authentication methods; nil until the server listed them
	banner  string   // the last banner, from PAM where it refuses the account
}

// bannerLimit bounds a banner in messages, in bytes.
const bannerLimit = 300

// recordBanner is the BannerCallback.
func (l *login) recordBanner(text string) error {
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		l.banner = strings.ToValidUTF8(text[:min(len(text), bannerLimit)], "")
	}
	return nil
}

// quotedBanner returns the banner as the end of a message.
func (l login) quotedBanner() string {
	if l.banner == "" {
		return ""
	}
	return ". It says: " + l.banner
}

// refusal explains why a handshake failed.
func (h *hop) refusal(ctx context.Context, err error, w *wire, v *verifier, l login, limit time.Duration) *Error {
	var algorithms *ssh.AlgorithmNegotiationError
	switch {
	case v.failure != nil:
		return v.failure
	case ctx.Err() != nil && !w.greeted():
		return h.outOfTime(ctx.Err(), limit, "TCP connects, but no SSH banner came; no connection")
	case ctx.Err() != nil && l.accepts == nil:
		return h.outOfTime(ctx.Err(), limit, "the key exchange did not end; no connection")
	case ctx.Err() != nil:
		return h.outOfTime(ctx.Err(), limit, "authentication did not end; no connection")
	case errors.As(err, &algorithms) && strings.Contains(algorithms.What, "host key") && len(v.known.keys) > 0:
		return v.changed("it has only keys of the types " + strings.Join(algorithms.RequestedAlgorithms, ", "))
	case errors.As(err, &algorithms) && strings.Contains(algorithms.What, "host key") && v.known.authority:
		return h.errorf(HostKey, err, "%s shows no host certificate, but known_hosts has only a certificate authority for it",
			h.address)
	case errors.As(err, &algorithms):
		return h.errorf(Config, err, "%s speaks no algorithm that is still safe: %v", h.address, algorithms)
	case l.accepts != nil && !hungUp(err):
		return h.refusedKeys(err, l)
	case l.accepts != nil && l.banner != "":
		return h.errorf(Auth, err, "%s hung up on the user %q (%s) during the login: the account may have expired or be locked (chage -l, passwd -S)%s",
			h.address, h.user, h.userAt, l.quotedBanner())
	case !w.greeted() && w.text() != "":
		return h.errorf(Unreachable, err, "%s does not speak SSH; it said %q", h.address, w.text())
	case hungUp(err) && !w.greeted():
		return h.errorf(Unreachable, err, "%s closed the connection before it said anything", h.address)
	case hungUp(err):
		failed := h.errorf(Unreachable, err, "%s closed the connection during the handshake", h.address)
		failed.Early = true
		return failed
	}
	return h.errorf(Unreachable, err, "%s: %v", h.address, err)
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func (h *hop) refusedKeys(err error, l login) *Error {
	tried := "publickey with " + strings.Join(h.keys.names, ", ")
	if !slices.Contains(l.accepts, "publickey") {
		return h.errorf(Auth, err, "%s lets the user %q authenticate with %s only: slipway needs publickey (PubkeyAuthentication)%s",
			h.address, h.user, strings.Join(l.accepts, ", "), l.quotedBanner())
	}
	var reason string // the server's own message, if any
	if inner := errors.Unwrap(err); inner != nil && !strings.Contains(inner.Error(), "unable to authenticate") {
		reason = fmt.Sprintf(" (%v)", inner)
	}
	return h.errorf(Auth, err, "%s does not let the user %q in (%s); tried %s%s. One of these keys must be in the user's authorized_keys there%s",
		h.address, h.user, h.userAt, tried, reason, l.quotedBanner())
}
