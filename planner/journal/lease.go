package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// LeaseTime is how long a lease counts without a heartbeat, by the clock of whoever waits for it. Heartbeats come ten times as often, and with
// every commit.
const LeaseTime = 30 * time.Second

// ErrFenced means that the lease was lost: the run was silent for longer than [LeaseTime] and another one took the site over, or a person
// freed the site. The run must stop at once.
var ErrFenced = errors.New("another run took the site over because this one gave no sign of life in time, or the site was freed with `runs unlock`")

// BusyError means that another run holds the site and lives.
type BusyError struct {
	Site, Run, Owner string
	Since            time.Time
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("site %q is held by run %s of %s, at work since %s. If it hangs, end that process, or free the site with "+
		"`terraform-provider-slipway runs unlock %s`", e.Site, e.Run, e.Owner, e.Since.Format(time.RFC3339), e.Site)
}

// lease is a lease as the journal has it. Two readings are equal when the holder gave no sign of life in between.
type lease struct {
	run, owner string
	fence      int64
	heartbeat  int64 // grows with each sign of life; its distance from any clock means nothing
}

// watch judges over one's own clock whether the holder of a lease is silent (design.md 11, rule 1).
type watch struct {
	first lease
	since time.Time // zero: nothing was read yet
	alive bool      // a sign of life came
}

// silent takes a reading of the lease and reports whether all readings of a time limit were equal.
func (w *watch) silent(l lease, limit time.Duration) bool {
	if w.since.IsZero() {
		w.first, w.since = l, time.Now()
	}
	w.alive = l != w.first
	return !w.alive && time.Since(w.since) >= limit
}

// whenFree runs f in a transaction in which no living run holds the site; held is who held it, and zero when it was free. It waits until the
// holder gives a sign of life, which is a [*BusyError], or has been silent for the time of a lease. With force it does not wait.
func (s *Store) whenFree(ctx context.Context, site string, force bool, f func(tx *sql.Tx, held BusyError) error) error {
	var w watch
	for {
		var busy *BusyError
		err := s.transact(ctx, func(tx *sql.Tx) error {
			l, process, err := s.lease(ctx, tx, site)
			if err != nil {
				return err
			}
			if l.run == "" {
				return f(tx, BusyError{})
			}
			held := BusyError{Site: site, Run: l.run, Owner: l.owner}
			var since int64
			if err := tx.QueryRowContext(ctx, "SELECT started_at FROM runs WHERE id = ?", l.run).Scan(&since); err != nil {
				return err
			}
			held.Since = time.UnixMilli(since)
			if force || gone(process) || w.silent(l, s.leaseTime) {
				return f(tx, held)
			}
			busy = &held
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

// lease reads the lease of a site, and the [identity] of its holder. One that was never held is empty.
func (s *Store) lease(ctx context.Context, tx *sql.Tx, site string) (l lease, process string, err error) {
	err = tx.QueryRowContext(ctx, "SELECT run, owner, fence, heartbeat_at, process FROM leases WHERE site = ?", site).
		Scan(&l.run, &l.owner, &l.fence, &l.heartbeat, &process)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return l, process, err
}

// acquire gives the lease of a site to a run and returns its fence: a number that no other lease of the site has. expires_at is of older journals.
func (s *Store) acquire(ctx context.Context, tx *sql.Tx, site, run, owner string) (fence int64, err error) {
	err = tx.QueryRowContext(ctx, `INSERT INTO leases (site, fence, run, owner, heartbeat_at, expires_at, process) VALUES (?, 1, ?, ?, ?, 0, ?)
		ON CONFLICT (site) DO UPDATE SET fence = fence + 1, run = excluded.run, owner = excluded.owner, heartbeat_at = excluded.heartbeat_at,
		expires_at = 0, process = excluded.process RETURNING fence`, site, run, owner, s.now().UnixMilli(), identity()).Scan(&fence)
	return fence, err
}

// renew gives a sign of life, or fails with ErrFenced when the lease is another's by now.
func (s *Store) renew(ctx context.Context, tx *sql.Tx, site, run string, fence int64) error {
	res, err := tx.ExecContext(ctx, "UPDATE leases SET heartbeat_at = max(heartbeat_at + 1, ?) WHERE site = ? AND run = ? AND fence = ?",
		s.now().UnixMilli(), site, run, fence)
	return mustTouch(res, err)
}

// release frees the site; the fence stays, so that it is never given twice.
func (s *Store) release(ctx context.Context, tx *sql.Tx, site, run string, fence int64) error {
	res, err := tx.ExecContext(ctx, "UPDATE leases SET run = '', owner = '', process = '' WHERE site = ? AND run = ? AND fence = ?", site, run, fence)
	return mustTouch(res, err)
}

// Unlock frees a site and returns who held it; nil when the site was free. A run whose process lives is not robbed of its site, which is a
// [*BusyError], unless with force: it notices and stops at its next sign of life.
func (s *Store) Unlock(ctx context.Context, site string, force bool) (held *BusyError, err error) {
	err = s.whenFree(ctx, site, force, func(tx *sql.Tx, by BusyError) error {
		if by.Run == "" {
			return nil
		}
		held = &by
		if err := s.abandon(ctx, tx, site); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE leases SET run = '', owner = '', process = '' WHERE site = ?", site)
		return err
	})
	return held, s.failed(err)
}

// abandon marks the runs of a site that never ended.
func (s *Store) abandon(ctx context.Context, tx *sql.Tx, site string) error {
	_, err := tx.ExecContext(ctx, "UPDATE runs SET status = ?, ended_at = ? WHERE site = ? AND ended_at IS NULL", Abandoned, s.now().UnixMilli(), site)
	return err
}

func mustTouch(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return ErrFenced
}
