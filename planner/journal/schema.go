package journal

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"
)

// schemas are the migrations of the database: each leads from one version to the next, the first from an empty
// database. PRAGMA user_version is the number of migrations that a database has had. Databases of users have them, so
// never change one: append another.
var schemas = []string{`
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
`}

// The first schema versions with services, and with the process of a lease.
const (
	withServices  = 2
	withProcesses = 3
)

// foreignError means that a database is not a journal. It names its first tables.
type foreignError []string

func (e foreignError) Error() string {
	return "is a SQLite database of another program, with the tables " + strings.Join(e, ", ") +
		". Deleting it costs what that program has in it: move it away, or choose another journal_directory"
}

// foreign returns the names of the first tables of a database that is not a journal; none of one that is, or is empty.
func foreign(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (foreignError, error) {
	var names string
	err := db.QueryRowContext(ctx, `SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM sqlite_master
WHERE type = 'table' AND ((SELECT user_version FROM pragma_user_version) < 1 OR
NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'runs')) ORDER BY name LIMIT 8)`).Scan(&names)
	if err != nil || names == "" {
		return nil, err
	}
	return strings.Split(names, ","), nil
}

// emptyError means that the database has no content, because a run was killed before its first transaction. It counts
// as fs.ErrNotExist.
type emptyError struct{}

func (emptyError) Error() string { return "is empty: it has no run yet" }

func (emptyError) Is(target error) bool { return target == fs.ErrNotExist }

// version returns the schema version of the database.
func (s *Store) version(ctx context.Context) (version int, err error) {
	err = s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}

// check fails when the database is not a journal that this slipway can read. It changes nothing.
func (s *Store) check(ctx context.Context) (err error) {
	if s.schema, err = s.version(ctx); err != nil {
		return err
	}
	tables, err := foreign(ctx, s.db)
	switch {
	case err != nil:
		return err
	case len(tables) > 0:
		return tables
	case s.schema < 1:
		return emptyError{}
	case s.schema > len(schemas):
		return fmt.Errorf("has version %d, written by a newer slipway; this slipway reads versions 1 to %d. Use the newer one", s.schema, len(schemas))
	}
	return nil
}

// migrate creates the schema, or upgrades that of an older slipway, in one transaction.
func (s *Store) migrate(ctx context.Context) error {
	err := s.transact(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		tables, err := foreign(ctx, tx)
		switch {
		case err != nil:
			return err
		case len(tables) > 0:
			return tables
		case version == len(schemas):
			return nil
		case version > len(schemas), version < 0:
			return fmt.Errorf("has version %d, written by a newer slipway; this one knows version %d. Use the newer one",
				version, len(schemas))
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA user_version = %d;", strings.Join(schemas[version:], ""),
			len(schemas)))
		return err
	})
	if err == nil {
		s.schema = len(schemas)
	}
	return err
}
