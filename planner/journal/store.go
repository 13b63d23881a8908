// Package journal records runs with their events, every version of every service, and the lease that keeps a second run
// off a site. It is history, never a second source of desired state: deleting it costs nothing else.
//
// A site has a journal of its own: a SQLite file, or a schema in a PostgreSQL database. [Store] has the rules and the
// statements for both; [database] is where they differ.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
)

// Store is an open journal. It is safe for concurrent use, also by several processes.
type Store struct {
	database
	name   string // of the journal in errors; contains no secret
	db     *sql.DB
	schema int // version of the database when it was opened
	site   string
	keys   *encryption.Keys // of contents

	// clock is the one clock of all processes that use the journal
	clock     func(ctx context.Context, q querier) (time.Time, error)
	leaseTime time.Duration // LeaseTime, shorter in tests
	// attemptTime bounds a transaction of a run: the answer of a lost connection never comes. 0: no limit
	attemptTime time.Duration
}

// database is what differs between SQLite and PostgreSQL.
type database interface {
	// lock makes a transaction the only one that writes to the journal, until it ends. Sequence numbers of events so
	// grow in the order of commits: who reads on after the last number misses no event.
	lock(ctx context.Context, tx *sql.Tx) error
	// lost reports whether an error is one of the connection, so that the transaction may be repeated.
	lost(err error) bool
	// advice is the last sentence of errors of the database.
	advice() string
	// version returns the version of the schema, 0 when there is none. It fails for a database of another program.
	version(ctx context.Context, q querier) (int, error)
	// migrate leads from a version to [newest].
	migrate(ctx context.Context, tx *sql.Tx, version int) error
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Close closes the database. Writers must be finished.
func (s *Store) Close() error { return s.db.Close() }

// failed adds the journal to an error, and advice to errors of the database.
func (s *Store) failed(err error) error {
	var busy *BusyError
	var conflict *ConflictError
	var tables foreignError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &busy), errors.As(err, &conflict), errors.Is(err, ErrFenced), errors.Is(err, ErrEnded),
		errors.As(err, &tables), errors.Is(err, ErrNoJournal),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("journal %s: %w", s.name, err)
	}
	return fmt.Errorf("journal %s: %w. %s", s.name, err, s.advice())
}

// transact runs f in one transaction, which has the write lock from its start. now is the time of the journal's clock.
func (s *Store) transact(ctx context.Context, f func(tx *sql.Tx, now time.Time) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var now time.Time
	if err = s.lock(ctx, tx); err == nil {
		now, err = s.clock(ctx, tx)
	}
	if err == nil {
		err = f(tx, now)
	}
	if err != nil {
		_ = tx.Rollback() // a transaction without commit changes nothing
		return err
	}
	return tx.Commit()
}

// Location is where the journals of sites are: in a directory, a SQLite file each, or in a PostgreSQL database, a
// schema each.
type Location struct {
	Path    string // the directory
	URL     string // of the database, which counts before the directory; it may have a password
	Setting string // what says where it is, for errors
	// Keys encrypt and decrypt the contents for workers. Nil: they are not needed, or not known.
	Keys *encryption.Keys
}

// DefaultDirectory is the directory of journals where nothing says where they are.
const DefaultDirectory = ".slipway"

// String returns what messages say of l, without a secret.
func (l Location) String() string {
	if l.URL != "" {
		return "database " + shown(l.URL)
	}
	return fmt.Sprintf("directory %q", l.Path)
}

// Open opens the journal of a site and creates it when it is missing. It upgrades the journal of an older slipway. A
// journal that a newer slipway wrote is an error and stays unchanged.
func (l Location) Open(ctx context.Context, site string) (*Store, error) {
	if l.URL != "" {
		return openPostgres(ctx, l, site, (*Store).upgrade)
	}
	file := File(l.Path, site)
	store, err := Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%w\n\nThe journal is the database %s; %s says where it is", err, file, l.Setting)
	}
	store.site, store.keys = site, l.Keys
	return store, nil
}

// OpenExisting opens the journal of a site for reading and changes nothing. The error matches [ErrNoJournal] when
// there is no journal, or an empty one. In the journal of an older slipway, what that slipway did not record is empty.
func (l Location) OpenExisting(ctx context.Context, site string) (*Store, error) {
	if l.URL != "" {
		return openPostgres(ctx, l, site, (*Store).check)
	}
	store, err := OpenExisting(ctx, File(l.Path, site))
	if err != nil {
		return nil, err
	}
	store.site, store.keys = site, l.Keys
	return store, nil
}

// Sites returns the sites that have a journal, sorted. The error matches [ErrNoJournal] when there is no directory.
func (l Location) Sites(ctx context.Context) (sites []string, err error) {
	if l.URL != "" {
		return postgresSites(ctx, l)
	}
	entries, err := os.ReadDir(l.Path)
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok {
			sites = append(sites, name)
		}
	}
	slices.Sort(sites)
	return sites, missing(err)
}
