package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
)

// A run that a workflow executes keeps its lease as long as the workflow runs, whichever process is at work for it and
// however long none is (design.md 11): its lease never counts as silent, and only the run itself takes it over, with a
// higher fence, when another process goes on.

// workflowHolder begins the holder of a lease that a workflow has. It is no processIdentity.
const workflowHolder = "workflow "

// holder identifies who has the lease of a run.
func (r Run) holder() string {
	if r.Workflow != "" {
		return workflowHolder + r.Workflow
	}
	return processIdentity()
}

func ofWorkflow(holder string) bool { return strings.HasPrefix(holder, workflowHolder) }

// Hand records a run that a workflow executes with what it is asked for, and gives it the lease of its site.
// Run.Workflow is required. It fails with a [*BusyError] while another run has the site.
func (s *Store) Hand(ctx context.Context, run Run, request []byte) error {
	if run.Workflow == "" {
		return errors.New("journal: a run that is handed over needs the id of its workflow")
	}
	run, err := run.here()
	var encrypted []byte
	if err == nil {
		run.Request, encrypted, err = s.encrypt(run.ID, UseRequest, Blob{encryption.Control, request})
	}
	if err != nil {
		return err
	}
	return s.failed(s.whenFree(ctx, run.Site, false, func(tx *sql.Tx, now time.Time, _ BusyError) error {
		run.Started = now
		if _, err := s.enter(ctx, tx, run); err != nil {
			return err
		}
		return leave(ctx, tx, run.ID, run.Request, encrypted)
	}))
}

// ErrEnded means that a run has ended.
var ErrEnded = errors.New("the run has ended")

// Resume lets this process go on with a run that was handed over. What another process still does for the run is fenced
// off. The error matches [ErrEnded] when the run has ended, and [ErrFenced] when it has lost its site.
func (s *Store) Resume(ctx context.Context, id string) (*Writer, error) {
	run, err := s.Run(ctx, id)
	if err == nil && run.Workflow == "" {
		err = fmt.Errorf("journal: run %s: was not handed over to a workflow", id)
	}
	if err == nil {
		run, err = run.here()
	}
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, run: run}
	err = s.transact(ctx, func(tx *sql.Tx, now time.Time) error {
		var ended sql.NullInt64
		if err := tx.QueryRowContext(ctx, "SELECT ended_at FROM runs WHERE id = $1", id).Scan(&ended); err != nil {
			return err
		}
		if ended.Valid {
			return fmt.Errorf("run %s: %w", id, ErrEnded)
		}
		l, _, err := s.lease(ctx, tx, run.Site)
		if err != nil {
			return err
		}
		if l.run != id {
			return s.fenced(ctx, tx, run)
		}
		if w.fence, err = s.acquire(ctx, tx, now, run); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE runs SET owner = $1 WHERE id = $2", run.Owner, id)
		return err
	})
	if err != nil {
		return nil, s.failed(err)
	}
	return w.start(ctx), nil
}
