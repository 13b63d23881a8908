package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrNoRun means that the journal has no such run.
var ErrNoRun = errors.New("no such run")

// Recorded is an event with its sequence number in the journal.
type Recorded struct {
	Seq int64 `json:"seq"` // grows with time, over all runs
	Event
}

// runRows returns the SELECT of runs. While a run has a lease, its row includes the last heartbeat and the process.
func (s *Store) runRows() string {
	process := "l.process"
	if s.schema < withProcesses {
		process = "''"
	}
	return "SELECT r.id, r.site, r.operation, r.owner, r.digest, r.steps, r.started_at, r.ended_at, r.status, " +
		"r.report, l.heartbeat_at, " + process +
		" FROM runs r LEFT JOIN leases l ON l.run = r.id "
}

// Runs returns at most limit runs, newest first. A run without an end has the status [Abandoned] when its process is
// processEnded or its last heartbeat is [LeaseTime] old, even if no later run has recorded that yet. This status is for
// people only: what decides about a lease is leaseWatch, which compares no clocks.
func (s *Store) Runs(ctx context.Context, limit int) ([]Run, error) {
	rows, err := s.db.QueryContext(ctx, s.runRows()+"ORDER BY r.started_at DESC, r.id DESC LIMIT ?", limit)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	var out []Run
	for rows.Next() {
		r, err := s.scanRun(rows)
		if err != nil {
			return nil, s.failed(err)
		}
		out = append(out, r)
	}
	return out, s.failed(rows.Err())
}

// Run returns the run with this id, or the only run whose id starts with it. An empty id means the newest run. The
// status is that of [Store.Runs].
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	rows, err := s.db.QueryContext(ctx, s.runRows()+
		"WHERE substr(r.id, 1, length(?)) = ? ORDER BY r.started_at DESC, r.id DESC LIMIT 2", id, id)
	if err != nil {
		return Run{}, s.failed(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	var found []Run
	for rows.Next() {
		r, err := s.scanRun(rows)
		if err != nil {
			return Run{}, s.failed(err)
		}
		found = append(found, r)
	}
	switch err := rows.Err(); {
	case err != nil:
		return Run{}, s.failed(err)
	case len(found) == 0 && id == "":
		return Run{}, fmt.Errorf("journal: %w: it holds none yet", ErrNoRun)
	case len(found) == 0:
		return Run{}, fmt.Errorf("journal: run %q: %w", id, ErrNoRun)
	case len(found) > 1 && id != "" && found[0].ID != id:
		return Run{}, fmt.Errorf("journal: run %q: more than one run begins like this; give more of the id", id)
	}
	return found[0], nil
}

// Events returns the events of a run after a sequence number, oldest first, at most limit of them.
func (s *Store) Events(ctx context.Context, run string, after int64, limit int) ([]Recorded, error) {
	service := "service"
	if s.schema < withServices {
		service = "''"
	}
	rows, err := s.db.QueryContext(ctx, `SELECT seq, at, kind, group_name, phase, node, resource, `+service+`, action,
		status, message, output, millis
		FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`, run, after, limit)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	var out []Recorded
	for rows.Next() {
		var e Recorded
		var at int64
		if err := rows.Scan(&e.Seq, &at, &e.Kind, &e.Group, &e.Phase, &e.Node, &e.Resource, &e.Service, &e.Action,
			&e.Status, &e.Message, &e.Output, &e.Millis); err != nil {
			return nil, s.failed(err)
		}
		e.Time = time.UnixMilli(at).UTC()
		out = append(out, e)
	}
	return out, s.failed(rows.Err())
}

func (s *Store) scanRun(rows *sql.Rows) (r Run, err error) {
	var steps string
	var started int64
	var ended, heartbeat sql.NullInt64
	var process sql.NullString
	if err := rows.Scan(&r.ID, &r.Site, &r.Operation, &r.Owner, &r.Digest, &steps, &started, &ended, &r.Status,
		&r.Report, &heartbeat, &process); err != nil {
		return r, err
	}
	r.Started = time.UnixMilli(started).UTC()
	if ended.Valid {
		r.Ended = time.UnixMilli(ended.Int64).UTC()
	} else if !heartbeat.Valid || processEnded(process.String) ||
		s.now().Sub(time.UnixMilli(heartbeat.Int64)).Abs() >= s.leaseTime {
		r.Status = Abandoned
	}
	if err := json.Unmarshal([]byte(steps), &r.Steps); err != nil {
		return r, err
	}
	r.Steps = append([]string{}, r.Steps...) // never nil
	return r, nil
}
