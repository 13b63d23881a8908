package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrNoLook means that a journal has no such look: nobody waits for its answer any more, or it is in another journal.
var ErrNoLook = errors.New("the journal has no such look: nobody waits for it any more, or who asked has another journal")

// looksKept is for how long a look stays whose process was killed, so that it did not forget it.
const looksKept = 24 * time.Hour

// Ask records what a worker is asked to look at outside of a run. id is unique. It needs no lease. Who asks calls
// [Store.Forget] at the end. It may be repeated.
func (s *Store) Ask(ctx context.Context, id string, request Blob) error {
	content, err := s.encryptLook("request", id, request)
	if err != nil {
		return err
	}
	now, err := s.clock(ctx, s.db)
	if err == nil {
		_, err = s.db.ExecContext(ctx, "DELETE FROM looks WHERE at < $1", now.Add(-looksKept).UnixMilli())
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, "INSERT INTO looks (id, at, request) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", id,
			now.UnixMilli(), content)
	}
	return s.failed(err)
}

// Asked returns what a worker of a zone is asked to look at. The error matches [ErrNoLook] when there is no such look.
func (s *Store) Asked(ctx context.Context, id, zone string) ([]byte, error) {
	return s.look(ctx, "request", id, zone)
}

// Answer records what a worker saw. The error matches [ErrNoLook] when there is no such look. It may be repeated.
func (s *Store) Answer(ctx context.Context, id string, answer Blob) error {
	content, err := s.encryptLook("answer", id, answer)
	if err != nil {
		return err
	}
	result, err := s.db.ExecContext(ctx, "UPDATE looks SET answer = $2 WHERE id = $1", id, content)
	var rows int64
	if err == nil {
		rows, err = result.RowsAffected()
	}
	if err == nil && rows == 0 {
		return s.noLook(id)
	}
	return s.failed(err)
}

// Answered returns what a worker of a zone saw. The error matches [ErrNoLook] when there is no such look, or no answer.
func (s *Store) Answered(ctx context.Context, id, zone string) ([]byte, error) {
	return s.look(ctx, "answer", id, zone)
}

// Forget deletes a look, if it is there.
func (s *Store) Forget(ctx context.Context, id string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM looks WHERE id = $1", id)
	return s.failed(err)
}

// look returns a column of a look at nodes of a zone.
func (s *Store) look(ctx context.Context, column, id, zone string) (content []byte, err error) {
	if s.schema < withLooks {
		return nil, s.noLook(id)
	}
	err = s.db.QueryRowContext(ctx, "SELECT "+column+" FROM looks WHERE id = $1 AND "+column+" IS NOT NULL", id).
		Scan(&content)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, s.noLook(id)
	case err != nil:
		return nil, s.failed(err)
	}
	if content, err = s.keys.Decrypt(zone, s.bound(column, id), content); err != nil {
		return nil, fmt.Errorf("journal %s: %s of the look %s: %w", s.name, column, id, err)
	}
	return content, nil
}

func (s *Store) noLook(id string) error {
	return fmt.Errorf("journal %s: look %s: %w", s.name, id, ErrNoLook)
}

// encryptLook returns a column of a look as the database has it.
func (s *Store) encryptLook(column, id string, b Blob) ([]byte, error) {
	if len(b.Content) > blobLimit {
		return nil, fmt.Errorf("journal %s: %s of the look %s: %d bytes are too many: the limit is %d", s.name, column, id,
			len(b.Content), blobLimit)
	}
	return s.keys.Encrypt(b.Zone, s.bound(column, id), b.Content)
}
