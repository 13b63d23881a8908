// Package journal is the controller's record of runs: an embedded SQLite database per site that holds runs and their events, and the
// lease that keeps a second run off the site. It is history and never a second source of desired state: deleting the file
// costs nothing else.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// schemaVersion is what PRAGMA user_version holds in a database of this version.
const schemaVersion = 1

const schema = `
CREATE TABLE runs (
	id         TEXT PRIMARY KEY,
	site       TEXT NOT NULL,
	operation  TEXT NOT NULL,
	owner      TEXT NOT NULL,
	digest     TEXT NOT NULL,
	steps      TEXT NOT NULL, -- JSON list
	started_at INTEGER NOT NULL, -- milliseconds since 1970, as everywhere below
	ended_at   INTEGER,
	status     TEXT NOT NULL,
	report     TEXT NOT NULL
);
CREATE INDEX runs_by_site ON runs (site, started_at);
CREATE TABLE events (
	seq         INTEGER PRIMARY KEY AUTOINCREMENT,
	run         TEXT NOT NULL REFERENCES runs (id),
	at          INTEGER NOT NULL,
	kind        TEXT NOT NULL,
	group_name  TEXT NOT NULL,
	phase       INTEGER NOT NULL,
	node        TEXT NOT NULL,
	resource    TEXT NOT NULL,
	action      TEXT NOT NULL,
	status      TEXT NOT NULL,
	message     TEXT NOT NULL,
	output      TEXT NOT NULL,
	millis      INTEGER NOT NULL
);
CREATE INDEX events_by_run ON events (run, seq);
CREATE TABLE leases (
	site         TEXT PRIMARY KEY,
	fence        INTEGER NOT NULL, -- grows with every lease and is never used twice
	run          TEXT NOT NULL,    -- empty: free
	owner        TEXT NOT NULL,
	heartbeat_at INTEGER NOT NULL,
	expires_at   INTEGER NOT NULL
);
`

// Store is an open journal. It is safe for concurrent use, also by several processes on one machine.
type Store struct {
	db    *sql.DB
	now   func() time.Time
	lease time.Duration // see LeaseTime
}

// Open opens the journal in a file and creates it, with its directory, where it is missing. Directory and file are for the user alone. A
// file that is no journal, or one of a newer slipway, is an error and stays as it is.
func Open(ctx context.Context, file string) (*Store, error) {
	if err := prepare(file); err != nil {
		return nil, err
	}
	s, err := open(ctx, file, "rwc")
	if err != nil {
		return nil, err
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", file, err), s.Close())
	}
	return s, nil
}

// OpenExisting opens a journal for reading and changes nothing; one that is not there is an error.
func OpenExisting(ctx context.Context, file string) (*Store, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	s, err := open(ctx, file, "rw")
	if err != nil {
		var failed *sqlite.Error
		if errors.As(err, &failed) && (failed.Code()&0xff == sqlite3.SQLITE_CANTOPEN || failed.Code()&0xff == sqlite3.SQLITE_READONLY) {
			err = fmt.Errorf("%w; SQLite writes beside a database even to read it, so copy the journal to a folder where it may", err)
		}
		return nil, err
	}
	version, err := s.version(ctx)
	if err == nil && version != schemaVersion {
		err = fmt.Errorf("has version %d; this slipway reads version %d", version, schemaVersion)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", file, err), s.Close())
	}
	return s, nil
}

// Close closes the database. Writers must be finished.
func (s *Store) Close() error { return s.db.Close() }

// prepare makes directory and file with the modes they must have, and keeps the directory out of version control.
func prepare(file string) error {
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return f.Close()
}

func open(ctx context.Context, file, mode string) (*Store, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	dsn := url.URL{Scheme: "file", Path: abs, RawQuery: url.Values{
		"mode":    {mode},
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"},
	}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", file, err)
	}
	db.SetMaxOpenConns(1) // one writer; SQLite has no more than that anyway
	s := &Store{db: db, now: time.Now, lease: LeaseTime}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", file, err), db.Close())
	}
	return s, nil
}

func (s *Store) version(ctx context.Context) (version int, err error) {
	err = s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}

// migrate brings an empty database to this version.
func (s *Store) migrate(ctx context.Context) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		var version, tables int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
			return err
		}
		switch {
		case version == schemaVersion:
			return nil
		case version > schemaVersion:
			return fmt.Errorf("has version %d, written by a newer slipway; this one knows version %d", version, schemaVersion)
		case tables > 0:
			return errors.New("is the database of something else; move it away or choose another journal_directory")
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA user_version = %d;", schema, schemaVersion))
		return err
	})
}

// transact runs f in one transaction, which holds the write lock from its start.
func (s *Store) transact(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
