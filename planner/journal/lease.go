package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
)

// LeaseTime is how long a lease is valid without a heartbeat, measured by the process that waits for it. Heartbeats are
// sent ten times as often, and with every commit.
const LeaseTime = 30 * time.Second

// ErrFenced means that the run lost its lease: another run took the site over after [LeaseTime] without a heartbeat, or
// a person freed the site. The run must stop at once. The error is a [*FencedError].
var ErrFenced = errors.New("the run lost the lease of its site")

// FencedError is an [ErrFenced] that names the run that has the lease now, or had it last.
type FencedError struct {
	Site, Run, Owner string // Run is empty when no run took the site since
	Since            time.Time
}

func (e *FencedError) Error() string {
	if e.Run == "" {
		return fmt.Sprintf("the site %q was freed with `runs unlock` while this run was at work on it", e.Site)
	}
	return fmt.Sprintf("another run took the site %q over, because this one sent no heartbeat in time or the site was "+
		"freed with `runs unlock`: run %s of %s, running since %s", e.Site, e.Run, e.Owner, e.Since.Format(time.RFC3339))
}

func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// BusyError means that another run has the lease of the site and still sends heartbeats.
type BusyError struct {
	Site, Run, Owner string
	Since            time.Time
	Workflow         string // that executes the run, see [Run]
}

func (e *BusyError) Error() string {
	hangs := "If it hangs, end that process, or"
	if e.Workflow != "" { // another worker would go on with it
		hangs = "If no worker is there any more,"
	}
	return fmt.Sprintf("site %q is held by run %s of %s, running since %s. Wait for its end, or stop it with "+
		"`terraform-provider-slipway runs cancel %[2]s`. %[5]s free the site with `terraform-provider-slipway runs unlock %[1]s "+
		"--force`", e.Site, e.Run, e.Owner, e.Since.Format(time.RFC3339), hangs)
}

// lease is a row of the table of leases. Two readings are equal when the holder sent no heartbeat in between.
type lease struct {
	run, owner string
	fence      int64
	heartbeat  int64 // grows with each heartbeat; never compared with a clock
}

// leaseWatch finds out with this process's own monotonic clock whether the holder of a lease is silent (design.md 11).
type leaseWatch struct {
	first lease
	since time.Time // zero: nothing was read yet
	alive bool      // a heartbeat came
}

// silent takes a reading of the lease and reports whether all readings have been equal for at least limit.
func (w *leaseWatch) silent(l lease, limit time.Duration) bool {
	if w.since.IsZero() {
		w.first, w.since = l, time.Now()
	}
	w.alive = l != w.first
	return !w.alive && time.Since(w.since) >= limit
}

// whenFree runs f in a transaction in which no living run has the lease of the site. holder is the run that had it,
// zero when the site was free. It waits until the holder sends a heartbeat, which is a [*BusyError], or has been silent
// for leaseTime. With force it does not wait.
func (s *Store) whenFree(ctx context.Context, site string, force bool,
	f func(tx *sql.Tx, now time.Time, holder BusyError) error) error {
	var w leaseWatch
	for {
		var busy *BusyError
		err := s.transact(ctx, func(tx *sql.Tx, now time.Time) error {
			l, process, err := s.lease(ctx, tx, site)
			if err != nil {
				return err
			}
			if l.run == "" {
				return f(tx, now, BusyError{})
			}
			holder := BusyError{Site: site, Run: l.run, Owner: l.owner}
			var since int64
			if err := tx.QueryRowContext(ctx, "SELECT started_at, workflow FROM runs WHERE id = $1",
				l.run).Scan(&since, &holder.Workflow); err != nil {
				return err
			}
			holder.Since = time.UnixMilli(since)
			if force || processEnded(process) || !ofWorkflow(process) && w.silent(l, s.leaseTime) {
				return f(tx, now, holder)
			}
			busy, w.alive = &holder, w.alive || ofWorkflow(process)
			return nil
		})
		switch {
		case err != nil:
			return err
		case busy == nil:
			return nil
		case w.alive:
			return busy
		}
		select {
		case <-time.After(s.leaseTime / 30):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lease returns the lease of a site and the [processIdentity] of its holder. Both are zero when nobody ever had it.
func (s *Store) lease(ctx context.Context, tx *sql.Tx, site string) (l lease, process string, err error) {
	err = tx.QueryRowContext(ctx, "SELECT run, owner, fence, heartbeat_at, process FROM leases WHERE site = $1", site).
		Scan(&l.run, &l.owner, &l.fence, &l.heartbeat, &process)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return l, process, err
}

// acquire gives the lease of a site to a run and returns its fence.
func (s *Store) acquire(ctx context.Context, tx *sql.Tx, now time.Time, run Run) (fence ledger.Fence, err error) {
	fence.Holder = fmt.Sprintf("run %s of %s, since %s", run.ID, run.Owner, now.UTC().Format(time.RFC3339))
	err = tx.QueryRowContext(ctx, `INSERT INTO leases (site, fence, run, owner, heartbeat_at, process, line)
		VALUES ($1, $4, $2, $3, $4, $5, $6) ON CONFLICT (site) DO UPDATE SET
		fence = CASE WHEN leases.fence < excluded.fence THEN excluded.fence ELSE leases.fence + 1 END, run = excluded.run,
		owner = excluded.owner, heartbeat_at = excluded.heartbeat_at, process = excluded.process,
		line = CASE WHEN leases.line = '' THEN excluded.line ELSE leases.line END
		RETURNING line, fence`, run.Site, run.ID, run.Owner, now.UnixMilli(), run.holder(), rand.Text()).
		Scan(&fence.Line, &fence.Number)
	return fence, err
}

// fenced returns why a run has lost its lease.
func (s *Store) fenced(ctx context.Context, tx *sql.Tx, lost Run) error {
	e := &FencedError{Site: lost.Site}
	var since int64
	err := tx.QueryRowContext(ctx, `SELECT id, owner, started_at FROM runs WHERE site = $1 AND id <> $2 AND started_at >= $3
		ORDER BY started_at DESC, id DESC LIMIT 1`, lost.Site, lost.ID, lost.Started.UnixMilli()).
		Scan(&e.Run, &e.Owner, &since)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	e.Since = time.UnixMilli(since)
	return e
}

// release frees the site. The fence stays in the row, so that no other lease gets it.
func (s *Store) release(ctx context.Context, tx *sql.Tx, site string) error {
	_, err := tx.ExecContext(ctx, "UPDATE leases SET run = '', owner = '', process = '' WHERE site = $1", site)
	return err
}

// Unlock frees a site and returns the run that had its lease, nil when the site was free. When that run still sends
// heartbeats it fails with a [*BusyError], unless force is set: then the run notices at its next heartbeat and stops.
// The next lease gets a higher number than fence.
func (s *Store) Unlock(ctx context.Context, site string, force bool, fence int64) (holder *BusyError, err error) {
	err = s.whenFree(ctx, site, force, func(tx *sql.Tx, now time.Time, by BusyError) error {
		if _, err := tx.ExecContext(ctx, "UPDATE leases SET fence = $1 WHERE site = $2 AND fence < $1", fence,
			site); err != nil {
			return err
		}
		if by.Run == "" {
			return nil
		}
		holder = &by
		if err := s.abandon(ctx, tx, now, site); err != nil {
			return err
		}
		return s.release(ctx, tx, site)
	})
	return holder, s.failed(err)
}

// abandon marks the runs of a site that have no end.
func (s *Store) abandon(ctx context.Context, tx *sql.Tx, now time.Time, site string) error {
	_, err := tx.ExecContext(ctx, "UPDATE runs SET status = $1, ended_at = $2 WHERE site = $3 AND ended_at IS NULL",
		Abandoned, now.UnixMilli(), site)
	return err
}
