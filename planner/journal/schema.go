package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// SchemaVersion is the version of the schema that this slipway writes. Both databases count alike; PostgreSQL begins
// with 4. Journals of users have had the migrations to it, so never change one: append another.
const SchemaVersion = 10

// The first versions with services, with the process of a lease, with runs that workflows execute, with contents for
// workers, with checks, with what services refer to, and with looks of workers.
const (
	withServices   = 2
	withProcesses  = 3
	withWorkflows  = 6
	withBlobs      = 7
	withChecks     = 8
	withReferences = 9
	withLooks      = 10
)

// ErrNoJournal means that there is no journal: its database answers and has none, or its file or directory is missing.
var ErrNoJournal = errors.New("there is no journal")

// missingError matches [ErrNoJournal], with its own text.
type missingError struct{ error }

func (missingError) Is(target error) bool { return target == ErrNoJournal }

// errEmpty means that the database has no content, because a run was killed before its first transaction.
var errEmpty = missingError{errors.New("is empty: it has no run yet")}

// check fails when the database is not a journal that this slipway can read. It changes nothing.
func (s *Store) check(ctx context.Context) (err error) {
	s.schema, err = s.version(ctx, s.db)
	switch {
	case err != nil:
		return err
	case s.schema < 1:
		return errEmpty
	}
	return checkVersion(s.schema)
}

// upgrade creates the schema, or migrates that of an older slipway, in one transaction.
func (s *Store) upgrade(ctx context.Context) error {
	s.schema = SchemaVersion
	return s.transact(ctx, func(tx *sql.Tx, _ time.Time) error {
		version, err := s.version(ctx, tx)
		if err == nil {
			err = checkVersion(version)
		}
		if err != nil || version == SchemaVersion {
			return err
		}
		return s.migrate(ctx, tx, version)
	})
}

func checkVersion(version int) error {
	if version < 0 || version > SchemaVersion {
		return fmt.Errorf("has version %d, written by a newer slipway; this slipway reads versions 1 to %d. Use the newer one",
			version, SchemaVersion)
	}
	return nil
}
