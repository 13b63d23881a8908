package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// Check is what a comparison of a site's nodes with what is applied on them found: that of a refresh, or of the
// companion's check. It is no run: it has no lease and changes nothing. It contains no secret.
type Check struct {
	Time        time.Time `json:"time"`  // of its end, by the journal's clock
	Owner       string    `json:"owner"` // host and process
	Nodes       int       `json:"nodes"` // of the site
	Drift       []Drift   `json:"drift"` // at most DriftLimit
	More        int       `json:"more"`  // drift that is left out
	Unreachable []string  `json:"unreachable"`
}

// Drift is a configuration resource that is no longer as slipway left it, or that the last run began and did not
// finish.
type Drift struct {
	Node     string `json:"node"`
	Resource string `json:"resource"`
	Change   string `json:"change"` // what differs, and a diff of a text below it; bounded: 4 KiB
	// the last run began it and did not finish it; false in checks of an older slipway
	Unfinished bool `json:"unfinished"`
}

// DriftLimit bounds the drift that a [Check] lists.
const DriftLimit = 1000

// checksKept is how many checks of a site a journal has; older ones are deleted.
const checksKept = 100

// RecordCheck records a check that has just ended. Time and Owner are filled in. A journal of an older slipway does not
// record it: the next run upgrades the journal.
func (s *Store) RecordCheck(ctx context.Context, c Check) error {
	if s.schema < withChecks {
		return nil
	}
	run, err := Run{}.here()
	if err != nil {
		return err
	}
	if more := len(c.Drift) - DriftLimit; more > 0 {
		c.Drift, c.More = c.Drift[:DriftLimit], more
	}
	found := make([]Drift, len(c.Drift)) // never nil
	for i, d := range c.Drift {
		found[i] = Drift{clean(d.Node), clean(d.Resource), head(d.Change, outputLimit), d.Unfinished}
	}
	drift, failed := jsonText(found)
	unreachable, err := jsonText(cleanAll(c.Unreachable))
	if err := errors.Join(failed, err); err != nil {
		return s.failed(err)
	}
	return s.failed(s.transact(ctx, func(tx *sql.Tx, now time.Time) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO checks (at, owner, nodes, drift, more, unreachable)
			VALUES ($1, $2, $3, $4, $5, $6)`, now.UnixMilli(), run.Owner, c.Nodes, drift, c.More, unreachable)
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM checks WHERE id <=
				(SELECT id FROM checks ORDER BY id DESC LIMIT 1 OFFSET $1)`, checksKept)
		}
		return err
	}))
}

// Checks returns the newest checks of the site, newest first, at most limit of them.
func (s *Store) Checks(ctx context.Context, limit int) (out []Check, err error) {
	out = []Check{}
	if s.schema < withChecks {
		return out, nil
	}
	rows, err := s.db.QueryContext(ctx, `SELECT at, owner, nodes, drift, more, unreachable FROM checks
		ORDER BY id DESC LIMIT $1`, limit)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	for rows.Next() {
		var at int64
		var drift, unreachable string
		var c Check
		err := rows.Scan(&at, &c.Owner, &c.Nodes, &drift, &c.More, &unreachable)
		if err == nil {
			err = errors.Join(json.Unmarshal([]byte(drift), &c.Drift), json.Unmarshal([]byte(unreachable), &c.Unreachable))
		}
		if err != nil {
			return nil, s.failed(err)
		}
		c.Time = time.UnixMilli(at).UTC()
		out = append(out, c)
	}
	return out, s.failed(rows.Err())
}
