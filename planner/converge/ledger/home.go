package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// RemoveHome removes every trace of slipway: its directory, ledger and lock last, and the directories above that it had
// made and that are empty now.
func (l *Ledger) RemoveHome() error {
	names, err := l.sys.ReadDir(system.Home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if path := system.Home + "/" + name; path != system.LockPath && path != Path {
			if err := l.sys.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	for _, path := range []string{Path, system.LockPath, system.Home} {
		err := l.sys.Remove(path)
		if path == system.Home && (errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EBUSY)) {
			return nil // a session that waited for the lock works here already, or it is a file system of its own, and stays
		}
		if err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(l.Made) {
		if names, err := l.sys.ReadDir(dir); err != nil || len(names) > 0 {
			return err
		}
		if err := l.sys.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// RemoveUnnamed drops kept files that neither an entry nor an image names: those of undone resources, and those of a
// capture that a crash cut short.
func (l *Ledger) RemoveUnnamed() error {
	names, err := l.sys.ReadDir(system.BackupPath)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	named := map[string]bool{} // every text in what was there; the name of a kept file needs no escapes in JSON
	name := func(before json.RawMessage) {
		for text := range bytes.SplitSeq(before, []byte(`"`)) {
			named[string(text)] = true
		}
	}
	for _, e := range l.Entries {
		name(e.Before)
	}
	for _, i := range l.Images {
		if name(i.Before); i.Entry != nil {
			name(i.Entry.Before)
		}
	}
	for _, name := range names {
		if named[name] {
			continue
		}
		if err := l.sys.Remove(system.BackupPath + "/" + name); err != nil {
			return err
		}
	}
	return nil
}
