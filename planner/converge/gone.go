package converge

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// gone is the error of an Undo that has finished what it can, because something that it needed was taken away by
// others, or stays because others use it. The engine counts the resource as undone and reports the text.
type gone struct{ text string }

func (g gone) Error() string { return g.text }

// alreadyGone is the message of an undo whose object others have taken away.
const alreadyGone = "it was already gone"

// asGone separates the text of a gone from other errors.
func asGone(err error) (text string, other error) {
	if g := (gone{}); errors.As(err, &g) {
		return g.text, nil
	}
	return "", err
}

// directoryGone returns a gone when the directory of a path is not there any more, or is none, so that what cannot come
// back.
func (s *Session) directoryGone(name, what string) error {
	dir := path.Dir(name)
	_, err := s.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return gone{fmt.Sprintf("%s is gone, so %s does not come back", dir, what)}
	}
	return err
}

// copyGone returns a gone for the error of reading a kept file that is not there any more, and other errors as they
// are.
func copyGone(err error, of string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return gone{fmt.Sprintf("the copy of what was in %s before is gone from %s, so that does not come back",
			of, system.BackupPath)}
	}
	return fmt.Errorf("the copy of what was in %s before: %w", of, err)
}
