// Package journal is the controller's record of runs: an embedded SQLite database per site that holds runs and their events, every version
// of every service, and the lease that keeps a second run off the site. It is history and never a second source of desired state: deleting
// the file costs nothing else.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Store is an open journal. It is safe for concurrent use, also by several processes on one machine.
type Store struct {
	file   string
	db     *sql.DB
	now    func() time.Time
	schema int // version of the database when it was opened

	leaseTime time.Duration // see LeaseTime
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
		return nil, errors.Join(s.failed(err), s.Close())
	}
	return s, nil
}

// OpenExisting opens a journal for reading and changes nothing; one that is not there, or empty, is a [fs.ErrNotExist]. That of an older slipway can be read
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
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(s.failed(err), s.Close())
	}
	return s, nil
}

// Close closes the database. Writers must be finished.
func (s *Store) Close() error { return s.db.Close() }

// prepare makes directory and file with the modes they must have, and keeps the directory out of version control.
func prepare(file string) error {
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := makeDirectory(dir); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return f.Close()
}

// makeDirectory makes a directory of journals with its .gitignore, so that a kill leaves either both or no directory.
func makeDirectory(dir string) error {
	above := filepath.Dir(dir)
	if err := os.MkdirAll(above, 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(above, ".slipway-new-")
	if err != nil {
		return err
	}
	if err = os.WriteFile(filepath.Join(made, ".gitignore"), []byte("*\n"), 0o600); err == nil {
		err = os.Rename(made, dir)
	}
	if err == nil {
		return nil
	}
	if _, there := os.Stat(dir); there == nil { // another process was faster
		err = nil
	}
	return errors.Join(err, os.RemoveAll(made))
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
	s := &Store{file: file, db: db, now: time.Now, leaseTime: LeaseTime}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(s.failed(err), db.Close())
	}
	return s, nil
}

// failed names the file in an error of its database, and what it costs to delete it: whoever cannot use a journal wants to know. Errors that
// are not the database's get no such advice.
func (s *Store) failed(err error) error {
	var busy *BusyError
	var conflict *ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &busy), errors.As(err, &conflict), errors.Is(err, ErrFenced), errors.Is(err, errForeign), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("journal %s: %w", s.file, err)
	}
	return fmt.Errorf("journal %s: %w. Deleting it costs the history of runs and services, and nothing else as long as there is Terraform's state: "+
		"what is applied is in the ledgers of the nodes", s.file, err)
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
