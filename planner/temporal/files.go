package temporal

import (
	"context"
	"io"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// files brings the files of the controller that a session asks for, from the journal. It is a [types.Contents].
func (s *serving) files(ctx context.Context, sums []string, use func(sum string, content io.Reader) error) error {
	for _, sum := range sums {
		if err := use(sum, &file{ctx: ctx, of: s, sum: sum}); err != nil {
			return err
		}
	}
	return nil
}

// file reads a file of the controller in parts, also when the database is away for a while.
type file struct {
	ctx  context.Context
	of   *serving
	sum  string
	next int    // part
	rest []byte // of the part before
	last bool   // that was the last one
}

func (f *file) Read(p []byte) (int, error) {
	if len(f.rest) == 0 && !f.last {
		err := patiently(f.ctx, func() (err error) {
			f.rest, err = f.of.store.FilePart(f.ctx, f.of.in.Run, f.of.in.Zone, f.sum, f.next)
			return err
		})
		if err != nil {
			return 0, err
		}
		f.next++
		f.last = len(f.rest) < journal.PartSize
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	if n == 0 && f.last {
		return 0, io.EOF
	}
	return n, nil
}
