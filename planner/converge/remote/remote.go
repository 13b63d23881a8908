// Package remote runs converge on the far side of a connection: it is the controller's half of the helper protocol.
//
// One session does everything: a small shell script starts the helper that the node keeps under its digest, or takes it
// from its standard input first; then the manifest goes in, and results come out, a line each, until the summary. The
// script waits for the next manifest then, and starts the helper again for it.
// Nothing but a POSIX shell and gzip is needed on the node. What the session reports is believed, the status with which
// it ends is not: a session without a summary has an unknown outcome (execution.md 2.4).
package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// Link is a connection to a node, with the session on it that waits for another manifest. Close it.
type Link struct {
	transport.Conn
	waiting *far // nil: none
}

// Close ends the session and the connection.
func (l *Link) Close() error {
	if f := l.take(); f != nil {
		f.close()
	}
	return l.Conn.Close()
}

// take returns the session that waits, or nil.
func (l *Link) take() *far {
	f := l.waiting
	l.waiting = nil
	return f
}

// Converge runs a manifest on a node and calls each for every result, as it arrives and never concurrently. connection
// says who the session's user is and how it becomes root.
//
// The error is nil when the session ran to its end and the summary is whole: items may have failed. Otherwise it is a
// [*converge.SessionError], or a [*transport.Error] when the connection failed, and items without a result are in an
// unknown state. When ctx ends, the helper is asked to end, and has a short grace to give up the running item, to note
// what it did and to send its summary; if it does so, the error is nil and the rest of the items was reported as
// skipped.
func Converge(
	ctx context.Context, link *Link, connection site.Connection, helpers Helpers, manifest converge.Manifest,
	each func(converge.Result),
) (converge.Summary, error) {
	return standard.converge(ctx, link, connection, helpers, manifest, each)
}

// limits are the times that a session may take; tests shorten them.
type limits struct {
	start  time.Duration // from the start of the session to the first sign of the helper, without the upload
	upload time.Duration
	grace  time.Duration // from telling the helper to end to ending the session
	beat   time.Duration // between two signs of life
}

var standard = limits{
	start: 30 * time.Second, upload: 5 * time.Minute, grace: 5 * time.Second, beat: converge.SessionTimeout / 4,
}

func (l limits) converge(
	ctx context.Context, link *Link, connection site.Connection, helpers Helpers, manifest converge.Manifest,
	each func(converge.Result),
) (converge.Summary, error) {
	body, err := json.Marshal(manifest)
	if err != nil {
		return converge.Summary{}, failed(converge.CodeProtocol, "the manifest cannot be encoded: %v", err)
	}
	f := link.take()
	if f != nil && f.begin(ctx, f.wake) != nil { // another session says what is wrong
		f.close()
		f = nil
	}
	if f == nil {
		if f, err = l.open(ctx, link.Conn, connection, helpers); err != nil {
			return converge.Summary{}, err
		}
	}
	summary, err := f.work(ctx, body, manifest, each)
	if f.waits {
		link.waiting = f
	} else {
		f.close()
	}
	return summary, err
}

// open starts a session, and the helper in it.
func (l limits) open(ctx context.Context, conn transport.Conn, connection site.Connection, helpers Helpers) (
	*far, error) {
	// The session outlives ctx by the grace, so it has a life of its own; until the helper runs there is nothing to be
	// graceful about.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	user := connection.User
	if user == "" {
		user = transport.DefaultUser
	}
	f := &far{
		limits: l, life: life, end: end, user: user, password: connection.SudoPassword, helpers: helpers, mark: newMark(),
		named: connection.Named,
	}
	f.sudo = connection.Sudo != nil && *connection.Sudo
	if f.sudo && f.password != "" {
		f.prompt = "slipway-" + rand.Text() + ":"
	}
	err := f.begin(ctx, func() (err error) {
		f.session, err = conn.Start(life, helpers.command(f.mark, f.sudo, f.prompt))
		return err
	})
	if f.session == nil {
		end(nil)
	} else if err != nil {
		f.close()
	}
	return f, err
}

// begin starts the session, or wakes it, with start, and returns when the helper waits for a manifest.
func (f *far) begin(ctx context.Context, start func() error) error {
	early := context.AfterFunc(ctx, func() { f.end(context.Cause(ctx)) })
	err := start()
	if err == nil {
		f.listen()
		err = f.bootstrap(ctx)
	}
	switch {
	case !early() && err == nil:
		return f.lost()
	case err != nil:
		return unstarted(err)
	}
	return nil
}

// unstarted marks the error of a connection that broke before the helper had the manifest.
func unstarted(err error) error {
	var broken *transport.Error
	if !errors.As(err, &broken) || broken.Kind != transport.Lost {
		return err
	}
	marked := *broken
	marked.Early = true
	return &marked
}

// failed returns a session that could not do its work. The message may quote what a node said.
func failed(code converge.Code, format string, args ...any) *converge.SessionError {
	return &converge.SessionError{Code: code, Message: resource.Textf(format, args...).String()}
}
