package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Blob is a content that a run leaves for the workers of a zone, such as the manifest of a session, or for who hosts
// it. The database has it encrypted, with a key that it does not have.
type Blob struct {
	// Zone is that of the nodes whose workers read it, empty for nodes without one; [encryption.Control]: none of these
	// do, but who hosts runs, and who asks for them.
	Zone    string
	Content []byte
}

// Use is what the content at an address is for: it is taken for nothing else.
type Use string

// Uses.
const (
	UseRequest Use = "request" // what the run is asked for
	UseSaved   Use = "saved"   // what another process needs to go on with the run
	UseOutcome Use = "outcome"
)

// ErrNoBlob means that a run has no content at an address.
var ErrNoBlob = errors.New("the run has no such content: it was never there, or `runs prune` deleted it with its run")

const (
	blobLimit  = 256 << 20 // bytes of a content
	blobsLimit = 4 << 20   // bytes of contents in one commit, but one content at least
	blobsPrune = 256       // contents that one transaction of Prune deletes
)

// Put records contents for a use and returns their addresses, which reveal nothing of them (see
// [encryption.Keys.Address]). Equal contents of a zone have one address for a use, and are kept once in a run. They are
// deleted with their run. With [ErrFenced] the lease is lost. It may be repeated.
func (w *Writer) Put(ctx context.Context, use Use, blobs ...Blob) (addresses []string, err error) {
	for len(blobs) > 0 {
		n, size := 0, 0
		for n < len(blobs) && (n == 0 || size+len(blobs[n].Content) <= blobsLimit) {
			size += len(blobs[n].Content)
			n++
		}
		some, err := w.put(ctx, use, blobs[:n])
		if err != nil {
			return nil, w.store.failed(err)
		}
		addresses, blobs = append(addresses, some...), blobs[n:]
	}
	return addresses, nil
}

// put is one commit of Put.
func (w *Writer) put(ctx context.Context, use Use, blobs []Blob) (addresses []string, err error) {
	contents := make([][]byte, len(blobs))
	for i, b := range blobs {
		address, content, err := w.store.encrypt(w.run.ID, use, b)
		if err != nil {
			return nil, err
		}
		addresses, contents[i] = append(addresses, address), content
	}
	return addresses, w.write(ctx, func(tx *sql.Tx, _ time.Time) error {
		for i, content := range contents {
			if err := leave(ctx, tx, w.run.ID, addresses[i], content); err != nil {
				return err
			}
		}
		return nil
	})
}

// encrypt returns the address of a content, and the content as the database has it.
func (s *Store) encrypt(run string, use Use, b Blob) (address string, content []byte, err error) {
	if len(b.Content) > blobLimit {
		return "", nil, fmt.Errorf("a content of %d bytes is too large: the limit is %d", len(b.Content), blobLimit)
	}
	if address, err = s.keys.Address(b.Zone, s.bound(run, string(use)), b.Content); err == nil {
		content, err = s.keys.Encrypt(b.Zone, s.bound(run, string(use), address), b.Content)
	}
	return address, content, err
}

const leaving = "INSERT INTO blobs (run, address, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"

// leave records an encrypted content of a run.
func leave(ctx context.Context, tx *sql.Tx, run, address string, content []byte) error {
	_, err := tx.ExecContext(ctx, leaving, run, address, content)
	return err
}

// Named is a content of a run under a name instead of the address of its content.
type Named struct {
	Name string
	Blob
}

// Name records contents of a run under names that nobody can give another content: of several processes that name one,
// the first counts. It reports which contents count. It needs no lease.
func (s *Store) Name(ctx context.Context, run string, contents ...Named) (count []bool, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, s.failed(err)
	}
	for _, c := range contents {
		var encrypted []byte
		var result sql.Result
		var rows int64
		if encrypted, err = s.keys.Encrypt(c.Zone, s.bound(run, c.Name), c.Content); err == nil {
			result, err = tx.ExecContext(ctx, leaving, run, c.Name, encrypted)
		}
		if err == nil {
			rows, err = result.RowsAffected()
		}
		if err != nil {
			_ = tx.Rollback() // a transaction without commit changes nothing
			return nil, s.failed(err)
		}
		count = append(count, rows > 0)
	}
	return count, s.failed(tx.Commit())
}

// Named returns the contents for a zone (see [Blob]) that a run has under names. A content for another one is an error.
func (s *Store) Named(ctx context.Context, run, zone string, names ...string) (contents map[string][]byte, err error) {
	var list strings.Builder
	args := []any{run}
	for i, name := range names {
		fmt.Fprintf(&list, ", $%d", i+2)
		args = append(args, name)
	}
	rows, err := s.db.QueryContext(ctx, "SELECT address, content FROM blobs WHERE run = $1 AND address IN (''"+
		list.String()+")", args...)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	contents = map[string][]byte{}
	for rows.Next() {
		var name string
		var content []byte
		if err := rows.Scan(&name, &content); err != nil {
			return nil, s.failed(err)
		}
		if contents[name], err = s.keys.Decrypt(zone, s.bound(run, name), content); err != nil {
			return nil, fmt.Errorf("journal %s: run %s, content %s: %w", s.name, run, name, err)
		}
	}
	return contents, s.failed(rows.Err())
}

// bound is what a content is bound to: its site, its run or look, and its name, or its use and address. It cannot be
// put in the place of another.
func (s *Store) bound(to ...string) string { return "blob " + s.site + " " + strings.Join(to, " ") }

// Blob returns the content for a use and a zone (see [Blob]) at an address of a run. It fails with [ErrNoBlob] when
// there is none, and with an error that names the key when it is for another zone, or this process cannot decrypt it.
func (s *Store) Blob(ctx context.Context, run string, use Use, zone, address string) ([]byte, error) {
	if s.schema < withBlobs {
		return nil, fmt.Errorf("journal %s: run %s, content %s: %w", s.name, run, address, ErrNoBlob)
	}
	var content []byte
	err := s.db.QueryRowContext(ctx, "SELECT content FROM blobs WHERE run = $1 AND address = $2", run, address).
		Scan(&content)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("journal %s: run %s, content %s: %w", s.name, run, address, ErrNoBlob)
	case err != nil:
		return nil, s.failed(err)
	}
	if content, err = s.keys.Decrypt(zone, s.bound(run, string(use), address), content); err != nil {
		return nil, fmt.Errorf("journal %s: run %s, content %s: %w", s.name, run, address, err)
	}
	return content, nil
}
