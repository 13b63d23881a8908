// Package journal is the controller's record of runs: an embedded SQLite database per site that holds runs and their events, every version
// of every service, and the lease that keeps a second run off the site. It is history and never a second source of desired state: deleting
// the file costs nothing else.
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

// Store is an open journal. It is safe for concurrent use, also by several processes on one machine.
type Store struct {
	db     *sql.DB
	now    func() time.Time
	lease  time.Duration // see LeaseTime
	schema int           // version of the database when it was opened
}

// Extension is that of the files of journals.
const Extension = ".db"

// File returns the journal of a site in a directory of journals.
func File(directory, site string) string { return filepath.Join(directory, site+Extension) }

// Open opens the journal in a file and creates it, with its directory, where it is missing. Directory and file are for the user alone. The
// journal of an older slipway is brought to this version. A file that is no journal, or one of a newer slipway, is an error and stays as
// it is.
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

// OpenExisting opens a journal for reading and changes nothing; one that is not there is an error. That of an older slipway can be read
// too: what that slipway did not record is empty.
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
	s.schema, err = s.version(ctx)
	if err == nil && (s.schema < 1 || s.schema > len(schemas)) {
		err = fmt.Errorf("has version %d; this slipway reads versions 1 to %d", s.schema, len(schemas))
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
