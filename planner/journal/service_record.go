package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// RecordServices records versions and events of services durably: all of them or, with an error, none. It fails with
// [ErrFenced] when the lease is lost. It checks ctx only at its start.
//
// It may be repeated. A version with equal content keeps its run, owner and time. Other content replaces what the same
// run recorded. It replaces what another run recorded only in fields that may change without a new version: the
// candidate, config and descriptive fields; any other difference is a [*ConflictError]. An event equal to a recorded
// one, including its time, is not recorded again.
func (w *Writer) RecordServices(ctx context.Context, versions []services.Revision, events []ServiceEvent) error {
	if len(versions) == 0 && len(events) == 0 {
		return nil
	}
	var errs []error
	for i := range versions {
		errs = append(errs, validateRevision(&versions[i]))
	}
	for i := range events {
		errs = append(errs, events[i].validate())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.ended() {
		return errFinished
	}
	ctx = context.WithoutCancel(ctx)
	err := w.write(ctx, func(tx *sql.Tx, now time.Time) error {
		for _, v := range versions {
			if err := w.putVersion(ctx, tx, now, v); err != nil {
				return err
			}
		}
		for _, e := range events {
			if err := w.putEvent(ctx, tx, now, e); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrFenced) && w.ended(): // Finish was called meanwhile
		return errFinished
	case err != nil:
		return w.store.failed(err)
	}
	return nil
}

// ended reports whether Finish was called.
func (w *Writer) ended() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// putVersion records a version under the rules of RecordServices.
func (w *Writer) putVersion(ctx context.Context, tx *sql.Tx, now time.Time, v services.Revision) error {
	if v.Run == "" {
		v.Run = w.run.ID
	}
	if v.Owner == "" {
		v.Owner = w.run.Owner
	}
	if v.Time.IsZero() {
		v.Time = now
	}
	storeAll(&v.Service, &v.ID, &v.Entity, &v.EntityDigest, &v.Lifecycle, &v.Identity, &v.State, &v.Label,
		&v.TransferContext)
	row, err := rowOf(&v)
	if err != nil {
		return fmt.Errorf("service %q: version %d: %w", v.Service, v.Version, err)
	}
	old, err := oneVersion(ctx, tx, w.store.versionRows()+"WHERE service = $1 AND incarnation = $2 AND version = $3", v.Service,
		v.Incarnation, v.Version)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		was, err := rowOf(&old)
		if err != nil {
			return err
		}
		if sameContent(was, row) {
			return nil
		}
		old.References = v.References // where an older slipway recorded it, only these are new
		if was, err = rowOf(&old); err != nil {
			return err
		}
		if sameContent(was, row) {
			row = was
			break
		}
		field, err := conflict(&v, &old)
		if err != nil {
			return err
		}
		if field != "" && old.Run != v.Run {
			return &ConflictError{v.Service, v.Incarnation, v.Version, field, old.Run}
		}
	}
	if _, err = tx.ExecContext(ctx, "DELETE FROM services WHERE service = $1 AND incarnation = $2 AND version = $3",
		v.Service, v.Incarnation, v.Version); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO services (service, incarnation, version, desired_version, id,
		entity, entity_version, entity_digest, lifecycle, identity, state, label, deleted, transfer_context, candidate,
		active, rollback, redacted, config, refers, run, owner, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`,
		row...)
	return err
}

// recordedBy is the number of columns at the end of a row that say who recorded a version and when. Those before are
// its content.
const recordedBy = 3

// rowOf returns a version as its columns, in the order of versionRows. A text that may be NULL is nil or a string.
func rowOf(v *services.Revision) ([]any, error) {
	row := []any{v.Service, v.Incarnation, v.Version, v.DesiredVersion, v.ID, v.Entity, v.EntityVersion, v.EntityDigest,
		v.Lifecycle, v.Identity, v.State, v.Label, v.Deleted, v.TransferContext}
	for _, set := range []struct {
		name   string
		values map[string]any
	}{{"candidate", v.Candidate}, {"active", v.Active}, {"rollback", v.Rollback}} {
		text, err := setText(set.values)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s attributes: %w", set.name, err)
		case text == nil:
			row = append(row, nil)
		default:
			row = append(row, *text)
		}
	}
	redacted, config := v.Redacted, v.Config
	if redacted == nil {
		redacted = []string{}
	}
	if config == nil {
		config = map[string]bool{}
	}
	for _, x := range []any{redacted, config, v.References} {
		text, err := jsonText(x)
		if err != nil {
			return nil, err
		}
		row = append(row, text)
	}
	return append(row, v.Run, v.Owner, v.Time.UnixMilli()), nil
}

// sameContent reports whether two rows are equal except for who recorded them and when.
func sameContent(a, b []any) bool {
	for i := range a[:len(a)-recordedBy] {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// putEvent records an event unless the journal has it already.
func (w *Writer) putEvent(ctx context.Context, tx *sql.Tx, now time.Time, e ServiceEvent) error {
	if e.Run == "" {
		e.Run = w.run.ID
	}
	if e.Time.IsZero() {
		e.Time = now
	}
	storeAll(&e.Service, &e.Source, &e.Destination, &e.Type, &e.Correlation)
	_, err := tx.ExecContext(ctx, `INSERT INTO service_events
		(service, incarnation, version, desired_version, at, source, destination, type, message, ignored, correlation,
		severity, is_error, run)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 WHERE NOT EXISTS (
			SELECT 1 FROM service_events WHERE service = $1 AND incarnation = $2 AND version = $3 AND desired_version = $4
			AND at = $5 AND source = $6 AND destination = $7 AND type = $8 AND message = $9 AND ignored = $10
			AND correlation = $11 AND severity = $12 AND is_error = $13 AND run = $14)`,
		e.Service, e.Incarnation, e.Version, e.DesiredVersion, e.Time.UnixMilli(), e.Source, e.Destination, e.Type,
		head(e.Message, messageLimit),
		e.Ignored, e.Correlation, e.Severity, e.IsError, e.Run)
	return err
}
