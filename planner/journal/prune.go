package journal

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// pruneLimit is how many events one transaction of Prune deletes: a run that is active records between two of them.
const pruneLimit = 10_000

// Prune deletes the runs that ended longer ago than age by the journal's clock, with their events and the contents that
// they left for workers, and returns how many runs they were. Active runs and the history of services stay. It may be
// stopped and repeated.
func (s *Store) Prune(ctx context.Context, age time.Duration) (runs int, err error) {
	for {
		found := false
		err := s.transact(ctx, func(tx *sql.Tx, now time.Time) error {
			var run string
			err := tx.QueryRowContext(ctx, "SELECT id FROM runs WHERE ended_at < $1 ORDER BY started_at, id LIMIT 1",
				now.Add(-age).UnixMilli()).Scan(&run)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			found = true
			res, err := tx.ExecContext(ctx, `DELETE FROM events WHERE run = $1 AND seq IN
				(SELECT seq FROM events WHERE run = $1 ORDER BY seq LIMIT $2)`, run, pruneLimit)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == pruneLimit {
				return err
			}
			res, err = tx.ExecContext(ctx, `DELETE FROM blobs WHERE run = $1 AND address IN
				(SELECT address FROM blobs WHERE run = $1 ORDER BY address LIMIT $2)`, run, blobsPrune)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == blobsPrune {
				return err
			}
			runs++
			_, err = tx.ExecContext(ctx, "DELETE FROM runs WHERE id = $1", run)
			return err
		})
		if err != nil || !found {
			return runs, s.failed(err)
		}
	}
}
