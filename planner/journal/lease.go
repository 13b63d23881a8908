package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// LeaseTime is how long a lease counts without a heartbeat. Heartbeats come three times as often, and with every commit.
const LeaseTime = 30 * time.Second

// ErrFenced means that the lease was lost: the run was silent for longer than [LeaseTime] and another one took the site over. The run must
// stop at once.
var ErrFenced = errors.New("another run took the site over because this one gave no sign of life in time")

// BusyError means that another run holds the site.
type BusyError struct {
	Site, Run, Owner string
	Since, Expires   time.Time
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("site %q is held by run %s of %s, at work since %s. If that process is gone, the site is free again at %s.",
		e.Site, e.Run, e.Owner, e.Since.Format(time.RFC3339), e.Expires.Format(time.RFC3339))
}

// acquire takes the lease of a site for a run and returns its fence: a number that no other lease of the site has.
func (s *Store) acquire(ctx context.Context, tx *sql.Tx, site, run, owner string) (fence int64, err error) {
	now := s.now()
	var holder, holderOwner string
	var expires int64
	err = tx.QueryRowContext(ctx, "SELECT fence, run, owner, expires_at FROM leases WHERE site = ?", site).
		Scan(&fence, &holder, &holderOwner, &expires)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if holder != "" && now.UnixMilli() < expires {
		busy := &BusyError{Site: site, Run: holder, Owner: holderOwner, Expires: time.UnixMilli(expires)}
		var since int64
		if err := tx.QueryRowContext(ctx, "SELECT started_at FROM runs WHERE id = ?", holder).Scan(&since); err != nil {
			return 0, err
		}
		busy.Since = time.UnixMilli(since)
		return 0, busy
	}
	fence++
	_, err = tx.ExecContext(ctx, `INSERT INTO leases (site, fence, run, owner, heartbeat_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (site) DO UPDATE SET fence = excluded.fence, run = excluded.run, owner = excluded.owner,
		heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at`,
		site, fence, run, owner, now.UnixMilli(), now.Add(s.lease).UnixMilli())
	return fence, err
}

// renew extends the lease, or fails with ErrFenced when it is another's by now.
func (s *Store) renew(ctx context.Context, tx *sql.Tx, site, run string, fence int64) error {
	now := s.now()
	res, err := tx.ExecContext(ctx, "UPDATE leases SET heartbeat_at = ?, expires_at = ? WHERE site = ? AND run = ? AND fence = ?",
		now.UnixMilli(), now.Add(s.lease).UnixMilli(), site, run, fence)
	return mustTouch(res, err)
}

// release frees the site; the fence stays, so that it is never given twice.
func (s *Store) release(ctx context.Context, tx *sql.Tx, site, run string, fence int64) error {
	res, err := tx.ExecContext(ctx, "UPDATE leases SET run = '', owner = '' WHERE site = ? AND run = ? AND fence = ?", site, run, fence)
	return mustTouch(res, err)
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
