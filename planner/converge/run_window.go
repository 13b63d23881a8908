package converge

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// unlockGrace bounds Manifest.Unlock when the session has ended already.
const unlockGrace = 30 * time.Second

// inWindow does the session's work inside the manifest's lock and unlock commands. The lock is in the ledger before its
// command runs, and until the unlock command has succeeded, so that no crash leaves a node locked unnoticed (litp.md
// 84). A window may span several sessions of a run (Manifest.Keep); the last one, which may have no items, closes it. A
// tear-down that cannot unlock the node goes on all the same.
func (x *session) inWindow(ctx context.Context, work func()) (failure *SessionError) {
	c := x.manifest
	// What keeps the window open locks for the work to come.
	hasWork := c.TearDown || c.Restore || len(c.Items) > 0 || c.Keep
	if !x.applying() || hasWork && !c.TearDown && c.Lock == "" && c.Unlock == "" {
		work()
		return nil
	}
	if x.leftLocked() {
		if failure = x.unlock(ctx); failure != nil && !c.TearDown {
			x.skipAll(failure.Message)
			return failure
		}
	}
	if hasWork && (c.Lock != "" || c.Keep) {
		if failure := x.lock(ctx); failure != nil {
			x.skipAll(failure.Message)
			return failure
		}
		failure = nil // what is closed now is this window
	}
	work()
	_, locked := x.held()
	switch {
	case c.Keep || x.restarting || x.guard != nil: // another session goes on inside the window
		return nil
	case failure != nil:
		return failure
	case hasWork && x.unlockCommand() == "", !hasWork && !locked:
		return nil
	}
	return x.unlock(ctx)
}

// held returns what the ledger says of the lock on the node, and whether there is one.
func (x *session) held() (h ledger.Lock, locked bool) {
	h, locked = x.ledger.Locked[x.manifest.Site]
	return h, locked
}

// leftLocked reports whether the node is to be unlocked before anything else: an earlier run left it locked, or it is
// torn down and nobody asks for a lock. A tear-down does not wait for a command that nobody knows.
func (x *session) leftLocked() bool {
	h, locked := x.held()
	if x.manifest.TearDown && x.manifest.Lock == "" {
		return locked && x.unlockCommand() != ""
	}
	return locked && h.Run != x.manifest.Run
}

// unlockCommand returns the command that unlocks the node: the manifest's, or else the one that the run that locked it
// had. Empty when there is none.
func (x *session) unlockCommand() string {
	h, _ := x.held()
	return cmp.Or(x.manifest.Unlock, h.Unlock)
}

// lock opens the window, unless this run has: it runs the lock command, where there is one.
func (x *session) lock(ctx context.Context) *SessionError {
	site := x.manifest.Site
	if h, locked := x.held(); locked && h.Run == x.manifest.Run {
		return nil
	}
	if ctx.Err() != nil {
		return &SessionError{Code: CodeLock, Message: "lock: not begun: the session ended: " + context.Cause(ctx).Error()}
	}
	x.ledger.Change(ledger.Record{Lock: &ledger.SiteLock{Site: site, Run: x.manifest.Run, Unlock: x.manifest.Unlock}})
	if err := x.save(); err != nil {
		return ledgerError(err)
	}
	if x.manifest.Lock == "" {
		return nil
	}
	out, err := x.window(ctx, LiveLock, x.manifest.Lock, 0)
	if err != nil {
		// It may have locked or not; the mark stays, so that the next run unlocks first.
		return &SessionError{Code: CodeLock, Message: "lock: " + err.Error() + "; no resource was touched"}
	}
	if out.Status != 0 {
		x.ledger.Change(ledger.Record{Unlock: site})
		if err := x.save(); err != nil {
			return ledgerError(err)
		}
		return &SessionError{Code: CodeLock, Message: fmt.Sprintf("lock: the command ended with status %d; "+
			"no resource was touched%s", out.Status, printed(out))}
	}
	return nil
}

// unlock runs the unlock command, also when the session has ended: a node must not stay locked because its controller
// is gone.
func (x *session) unlock(ctx context.Context) *SessionError {
	command := x.unlockCommand()
	if command == "" {
		h, _ := x.held()
		return &SessionError{Code: CodeUnlock, Message: fmt.Sprintf("unlock: run %q locked the node, "+
			"and neither this run nor the ledger knows a command that unlocks it; "+
			"give rolling.unlock of the node's group, then apply again", h.Run)}
	}
	ended := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ended))
	defer cancel()
	defer context.AfterFunc(ended, func() {
		grace := time.NewTimer(unlockGrace)
		defer grace.Stop()
		select {
		case <-grace.C:
			cancel()
		case <-ctx.Done():
		}
	})()
	out, err := x.window(ctx, LiveUnlock, command, 0)
	if err == nil && out.Status != 0 {
		err = fmt.Errorf("the command ended with status %d%s", out.Status, printed(out))
	}
	if err != nil {
		return &SessionError{Code: CodeUnlock, Message: "unlock: " + err.Error() + "; the node may still be locked"}
	}
	if _, locked := x.held(); locked {
		x.ledger.Change(ledger.Record{Unlock: x.manifest.Site})
	}
	if err := x.save(); err != nil {
		return ledgerError(err)
	}
	return nil
}

// window runs a command of the session; a timeout of 0 is that of all commands.
func (x *session) window(ctx context.Context, name, command string, timeout time.Duration) (system.Output, error) {
	x.sys.Log = nil
	x.live.Begin(x.printing(Result{Message: name}), nil)
	defer x.live.End()
	out, err := x.sys.Run(ctx, system.Command{Argv: []string{"/bin/sh", "-c", command}, Timeout: timeout,
		EndsWithSession: true})
	x.sys.Forget()
	return out, err
}

// checkHealth runs a health check until it succeeds or was run often enough.
func (x *session) checkHealth(ctx context.Context, h HealthCheck) *SessionError {
	for runs := 1; ; runs++ {
		out, err := x.window(ctx, LiveHealth, h.Command, h.Timeout)
		switch {
		case err == nil && out.Status == 0:
			return nil
		case err == nil:
			err = fmt.Errorf("the command ended with status %d%s", out.Status, printed(out))
		}
		if runs > h.Retries || ctx.Err() != nil {
			return &SessionError{Code: CodeHealth, Message: fmt.Sprintf("health check: %v (run %d of %d)", err, runs,
				h.Retries+1)}
		}
		pause := time.NewTimer(h.Interval)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// printed returns what a command printed, for an error.
func printed(out system.Output) string {
	if out.Combined == "" {
		return ""
	}
	return "; it printed: " + resource.Visible(bounded(out.Combined, differenceLimit))
}

// skipAll reports that no item was begun.
func (x *session) skipAll(why string) {
	for _, j := range x.plan() {
		x.start(j)
		j.skip("not begun: " + why)
		x.report(j)
	}
}
