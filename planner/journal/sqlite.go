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
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// extension is the file name extension of journals.
const extension = ".db"

// File returns the file of a site's journal in a directory of journals.
func File(directory, site string) string { return filepath.Join(directory, site+extension) }

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
	if err := s.upgrade(ctx); err != nil {
		return nil, errors.Join(s.failed(err), s.Close())
	}
	return s, nil
}

// OpenExisting opens a journal for reading and changes nothing. A file that is missing or empty gives [ErrNoJournal].
// In the journal of an older slipway, what that slipway did not record is empty.
func OpenExisting(ctx context.Context, file string) (*Store, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", missing(err))
	}
	if info.IsDir() {
		return nil, sqliteFile(file).failed(errors.New("is a directory; move it away or choose another journal_directory"))
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

// missing makes that a file or directory is missing match [ErrNoJournal].
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return missingError{err}
	}
	return err
}

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
		return sqliteFile(file).failed(err)
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

// open opens a file in a mode of SQLite: rw, or rwc to create it.
func open(ctx context.Context, file, mode string) (*Store, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	dsn := url.URL{Scheme: "file", Path: abs, RawQuery: url.Values{
		"mode":    {mode},
		"_txlock": {"immediate"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTime.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)",
			"foreign_keys(ON)"},
	}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, sqliteFile(file).failed(err)
	}
	db.SetMaxOpenConns(1) // SQLite has one writer at a time
	s := sqliteFile(file)
	s.db = db
	// SQLite lets nobody wait who switches a new file to WAL while others do.
	err = db.PingContext(ctx)
	for begin := time.Now(); isBusy(err) && time.Since(begin) < busyTime && ctx.Err() == nil; err = db.PingContext(ctx) {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return nil, errors.Join(s.failed(err), db.Close())
	}
	return s, nil
}

// busyTime is how long one waits for another one who has the file.
const busyTime = 10 * time.Second

func isBusy(err error) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed) && failed.Code()&0xff == sqlite3.SQLITE_BUSY
}

// sqliteFile returns a store of a file that is not open.
func sqliteFile(file string) *Store {
	clock := func(context.Context, querier) (time.Time, error) { return time.Now(), nil }
	return &Store{database: sqliteDatabase{}, name: file, leaseTime: LeaseTime, clock: clock}
}

// sqliteDatabase is a file. All processes that use it run on one machine and have one clock.
type sqliteDatabase struct{}

// lock does nothing: a transaction has the write lock from its start (_txlock).
func (sqliteDatabase) lock(context.Context, *sql.Tx) error { return nil }

func (sqliteDatabase) lost(error) bool { return false }

func (sqliteDatabase) advice() string {
	return "Deleting it costs the history of runs and services, and nothing else as long as there is Terraform's state: " +
		"what is applied is in the ledgers of the nodes"
}

// version fails when the file is a database of another program.
func (sqliteDatabase) version(ctx context.Context, q querier) (version int, err error) {
	var tables string
	err = q.QueryRowContext(ctx, `SELECT user_version, (SELECT coalesce(group_concat(name), '') FROM (
		SELECT name FROM sqlite_master WHERE type = 'table' AND (user_version < 1 OR
		NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'runs')) ORDER BY name LIMIT 8))
		FROM pragma_user_version`).Scan(&version, &tables)
	if err == nil && tables != "" {
		err = foreignError(strings.Split(tables, ","))
	}
	return version, err
}

func (sqliteDatabase) migrate(ctx context.Context, tx *sql.Tx, version int) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA user_version = %d;", strings.Join(sqliteSchemas[version:], ""),
		SchemaVersion))
	return err
}

// sqliteSchemas are the migrations of SQLite (see [newest]). PRAGMA user_version is the number of those that a file
// has had.
var sqliteSchemas = []string{`
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
`, `
ALTER TABLE events ADD COLUMN service TEXT NOT NULL DEFAULT '';
CREATE TABLE services (
	service          TEXT NOT NULL,
	incarnation      INTEGER NOT NULL,
	version          INTEGER NOT NULL,
	desired_version  INTEGER NOT NULL,
	id               TEXT NOT NULL,
	entity           TEXT NOT NULL,
	entity_version   INTEGER NOT NULL,
	entity_digest    TEXT NOT NULL,
	lifecycle        TEXT NOT NULL,
	identity         TEXT NOT NULL,
	state            TEXT NOT NULL,
	label            TEXT NOT NULL,
	deleted          INTEGER NOT NULL,
	transfer_context TEXT NOT NULL,
	candidate        TEXT, -- JSON object, as the next two; NULL: there is no such set
	active           TEXT,
	rollback         TEXT,
	redacted         TEXT NOT NULL, -- JSON list
	config           TEXT NOT NULL, -- JSON object
	run              TEXT NOT NULL, -- perhaps one of an earlier journal
	owner            TEXT NOT NULL,
	at               INTEGER NOT NULL,
	PRIMARY KEY (service, incarnation, version)
);
CREATE TABLE service_events (
	seq             INTEGER PRIMARY KEY AUTOINCREMENT,
	service         TEXT NOT NULL,
	incarnation     INTEGER NOT NULL,
	version         INTEGER NOT NULL,
	desired_version INTEGER NOT NULL,
	at              INTEGER NOT NULL,
	source          TEXT NOT NULL,
	destination     TEXT NOT NULL,
	type            TEXT NOT NULL,
	message         TEXT NOT NULL,
	ignored         INTEGER NOT NULL,
	correlation     TEXT NOT NULL,
	severity        INTEGER NOT NULL,
	is_error        INTEGER NOT NULL,
	run             TEXT NOT NULL
);
CREATE INDEX service_events_by_version ON service_events (service, incarnation, version);
`, `
ALTER TABLE leases ADD COLUMN process TEXT NOT NULL DEFAULT ''; -- that holds the lease; empty: not known
`, `
ALTER TABLE leases DROP COLUMN expires_at;
`, `
ALTER TABLE leases ADD COLUMN line TEXT NOT NULL DEFAULT ''; -- see Fence; empty: no lease since this migration
`, `
ALTER TABLE runs ADD COLUMN workflow TEXT NOT NULL DEFAULT ''; -- see Run, as for those below
ALTER TABLE runs ADD COLUMN desired TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN request TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
`, `
CREATE TABLE blobs (
	run     TEXT NOT NULL REFERENCES runs (id),
	address TEXT NOT NULL, -- a keyed digest
	content BLOB NOT NULL, -- encrypted
	PRIMARY KEY (run, address)
);
`, `
CREATE TABLE checks (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	at          INTEGER NOT NULL,
	owner       TEXT NOT NULL,
	nodes       INTEGER NOT NULL,
	drift       TEXT NOT NULL, -- JSON list
	more        INTEGER NOT NULL,
	unreachable TEXT NOT NULL -- JSON list
);
`, `
ALTER TABLE services ADD COLUMN refers TEXT NOT NULL DEFAULT 'null'; -- JSON list; null: recorded before
`, `
CREATE TABLE looks (
	id      TEXT PRIMARY KEY,
	at      INTEGER NOT NULL,
	request BLOB NOT NULL, -- encrypted, as the next
	answer  BLOB -- NULL: none yet
);
`}

// foreignError means that a database is not a journal. It names its first tables.
type foreignError []string

func (e foreignError) Error() string {
	return "is a SQLite database of another program, with the tables " + strings.Join(e, ", ") +
		". Deleting it costs what that program has in it: move it away, or choose another journal_directory"
}
