package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A file of the controller goes through the journal to the workers of a zone in parts, so that nobody has more than a
// few of them in memory. Each part is a [Named] content of the run, encrypted for the zone and deleted with its run.
// Its name has a keyed digest in place of the SHA-256 of the file, which reveals nothing of it.

// PartSize is the size of a part of a file, in bytes. The last part, which may be empty, is smaller.
const PartSize = 1 << 20

// PutFile records a file of a run for the workers of a zone under its SHA-256, which is not checked. Parts that are
// there already stay, so it may be repeated after it was cut off. It needs no lease.
func (s *Store) PutFile(ctx context.Context, run, zone, sum string, content io.Reader) error {
	buffer := make([]byte, PartSize)
	for part := 0; ; part++ {
		n, err := io.ReadFull(content, buffer)
		ends := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ends {
			return err
		}
		names, err := s.partNames(zone, sum, part)
		if err != nil {
			return err
		}
		_, err = s.Name(ctx, run, Named{Name: names[0], Blob: Blob{Zone: zone, Content: buffer[:n]}})
		if err != nil || ends {
			return err
		}
	}
}

// FilePart returns a part of a file of a run, from 0, that was recorded for a zone. One with fewer than [PartSize]
// bytes is the last one. It fails with [ErrNoBlob] when it is not there, and with an error that names the key when this
// process cannot decrypt it.
func (s *Store) FilePart(ctx context.Context, run, zone, sum string, part int) ([]byte, error) {
	names, err := s.partNames(zone, sum, part)
	if err != nil {
		return nil, err
	}
	found, err := s.Named(ctx, run, zone, names...)
	if err != nil {
		return nil, err
	}
	for _, content := range found {
		return content, nil
	}
	return nil, fmt.Errorf("journal %s: run %s, the file with the SHA-256 %s: %w", s.name, run, sum, ErrNoBlob)
}

// partNames returns the names that a part has with each key of the zone, that with which it is recorded first.
func (s *Store) partNames(zone, sum string, part int) ([]string, error) {
	names, err := s.keys.Addresses(zone, "file "+s.site, []byte(sum))
	for i := range names {
		names[i] = fmt.Sprintf("file %s %d", names[i], part)
	}
	return names, err
}
