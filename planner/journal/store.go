// Package journal records runs: an embedded SQLite database per site with runs and their events, every version of every
// service, and the lease that keeps a second run off the site. It is history, never a second source of desired state:
// deleting the file costs nothing else.
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

	leaseTime time.Duration // LeaseTime, shorter in tests
}

// Extension is the file name extension of journals.
const Extension = ".db"

// File returns the file of a site's journal in a directory of journals.
func File(directory, site string) string { return filepath.Join(directory, site+Extension) }

// Open opens a journal and creates file and directory when they are missing, readable by the user alone. It upgrades
// the journal of an older slipway. A file that is not a journal, or that a newer slipway wrote, is an error and stays
// unchanged.
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

// OpenExisting opens a journal for reading and changes nothing. A file that is missing or empty gives [fs.ErrNotExist].
// In the journal of an older slipway, what that slipway did not record is empty.
func OpenExisting(ctx context.Context, file string) (*Store, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if info.IsDir() {
		return nil, (&Store{file: file}).failed(errors.New("is a directory; move it away or choose another journal_directory"))
	}
	s, err := open(ctx, file, "rw")
	if err != nil {
		var failed *sqlite.Error
		if errors.As(err, &failed) && (failed.Code()&0xff == sqlite3.SQLITE_CANTOPEN ||
			failed.Code()&0xff == sqlite3.SQLITE_READONLY) {
			err = fmt.Errorf("%w; SQLite writes beside a database even to read it, so copy the journal to a folder where it may",
				err)
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

// prepare creates directory and file with their modes. The directory gets a .gitignore.
func prepare(file string) error {
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := createDirectory(dir); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return (&Store{file: file}).failed(err)
	}
	return f.Close()
}

// createDirectory creates a directory of journals with its .gitignore. When killed it leaves either both or no
// directory.
func createDirectory(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	created, err := os.MkdirTemp(parent, ".slipway-new-")
	if err != nil {
		return err
	}
	if err = os.WriteFile(filepath.Join(created, ".gitignore"), []byte("*\n"), 0o600); err == nil {
		err = os.Rename(created, dir)
	}
	if err == nil {
		return nil
	}
	if _, there := os.Stat(dir); there == nil { // another process was faster
		err = nil
	}
	return errors.Join(err, os.RemoveAll(created))
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
	db.SetMaxOpenConns(1) // SQLite has one writer at a time
	s := &Store{file: file, db: db, now: time.Now, leaseTime: LeaseTime}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(s.failed(err), db.Close())
	}
	return s, nil
}

// failed adds the file to an error, and for errors of the database also what deleting the journal costs, because that
// is what a user with a broken journal considers.
func (s *Store) failed(err error) error {
	var busy *BusyError
	var conflict *ConflictError
	var tables foreignError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &busy), errors.As(err, &conflict), errors.Is(err, ErrFenced), errors.As(err, &tables),
		errors.Is(err, fs.ErrNotExist),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("journal %s: %w", s.file, err)
	}
	return fmt.Errorf("journal %s: %w. Deleting it costs the history of runs and services, and nothing else as long as there is Terraform's state: "+
		"what is applied is in the ledgers of the nodes", s.file, err)
}

// transact runs f in one transaction, which has the write lock from its start.
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

// Directory has the journals of sites, a file for each.
type Directory struct {
	Path    string
	Setting string // what says where it is, for errors
}

// Open opens the journal of a site, and creates it where there is none.
func (d Directory) Open(ctx context.Context, site string) (*Store, error) {
	file := File(d.Path, site)
	store, err := Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%w\n\nThe journal is the database %s; %s says where it is", err, file, d.Setting)
	}
	return store, nil
}

// OpenExisting opens the journal of a site. The error matches [fs.ErrNotExist] when there is none.
func (d Directory) OpenExisting(ctx context.Context, site string) (*Store, error) {
	return OpenExisting(ctx, File(d.Path, site))
}
