package types

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// gone is the error of an Undo that has finished what it can, because something that it needed was taken away by
// others, or stays because others use it. The engine counts the resource as undone and reports the text.
type gone struct{ text string }

func (g gone) Error() string { return g.text }

// AlreadyGone is the message of an undo whose object others have taken away.
const AlreadyGone = "it was already gone"

// AsGone separates the text of a gone from other errors.
func AsGone(err error) (text string, other error) {
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

// leaveDirectory handles a directory that slipway made and that has names in it. While something of slipway's is in it,
// it is noted and goes later; else it stays, because others keep something in it, which the error says.
func (s *Session) leaveDirectory(dir string, names []string) error {
	if s.leaveUsed(dir) {
		return nil
	}
	slices.Sort(names)
	more := ""
	if rest := len(names) - namesShown; rest > 0 {
		names, more = names[:namesShown], fmt.Sprintf(" and %d more", rest)
	}
	return gone{fmt.Sprintf("%s is not empty, so it stays: others have %s%s in it", dir, strings.Join(names, ", "), more)}
}

// namesShown bounds the names in the message about a directory that stays.
const namesShown = 5

// leaveUsed notes a directory that goes later, because something of slipway's is in it or mounted on it. It reports
// whether there is such a thing.
func (s *Session) leaveUsed(dir string) bool {
	l := s.Ledger
	if l == nil || !l.Uses(dir, ledger.Key{Site: s.Site, ID: s.ID}) {
		return false
	}
	s.leave(dir)
	return true
}

// leave notes a directory that slipway made and that goes when nothing of slipway's is in it any more.
func (s *Session) leave(dir string) {
	if s.Ledger != nil {
		s.Ledger.Change(ledger.Record{Left: dir})
	}
}
