package journal

import (
	"context"
	"fmt"
)

// Directory has the journals of sites, a file for each.
type Directory struct {
	Path    string
	Setting string // what says where it is, for errors
}

// Open opens the journal of a site, and creates it where there is none.
func (d Directory) Open(ctx context.Context, site string) (*Store, error) {
	file := File(d.Path, site)
	store, err := Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%w\n\nThe journal is the database %s; %s says where it is", err, file, d.Setting)
	}
	return store, nil
}

// OpenExisting opens the journal of a site. The error matches [fs.ErrNotExist] when there is none.
func (d Directory) OpenExisting(ctx context.Context, site string) (*Store, error) {
	return OpenExisting(ctx, File(d.Path, site))
}
