package converge

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// home is slipway's own directory on a node, and what is in it besides the helper.
const (
	home          = "/var/lib/slipway"
	ledgerPath    = home + "/ledger.json"
	ledgerLogPath = home + "/ledger.log"
	lockPath      = home + "/lock"
	backupPath    = home + "/backup"
)

// makeHome makes slipway's own directory and those above it that are not there, and returns the latter, outermost
// first.
func (s *System) makeHome() (made []string, err error) {
	for i := 1; i < len(home); i++ {
		if home[i] != '/' {
			continue
		}
		dir := home[:i]
		_, err := s.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if err = s.Mkdir(dir, Attributes{}); err == nil {
				made = append(made, dir)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return made, err
		}
	}
	if err := s.ownDirectory(home); err != nil && !errors.Is(err, fs.ErrExist) {
		return made, err
	}
	return made, nil
}

// ownDirectory makes one of slipway's own directories, 0700, when it is not there, and refuses one that another user
// could change.
func (s *System) ownDirectory(path string) error {
	info, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		private := fs.FileMode(0o700)
		return s.Mkdir(path, Attributes{Mode: &private})
	}
	if err != nil {
		return err
	}
	return s.checkOwnDirectory(path, info)
}

func (s *System) checkOwnDirectory(path string, info Info) error {
	if !info.IsDir() || !trusted(uint32(info.UID)) || info.Mode&0o022 != 0 {
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("must be a directory of the session's user that no " +
			"other may write; remove it or fix its owner and mode")}
	}
	return nil
}

// removeHome removes every trace of slipway: its directory, ledger and lock last, and the directories above that it had
// made and that are empty now.
func (s *System) removeHome(l *ledger) error {
	names, err := s.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if path := home + "/" + name; path != lockPath && path != ledgerPath {
			if err := s.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	for _, path := range []string{ledgerPath, lockPath, home} {
		err := s.Remove(path)
		if path == home && (errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EBUSY)) {
			return nil // a session that waited for the lock works here already, or it is a file system of its own, and stays
		}
		if err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(l.Made) {
		if names, err := s.ReadDir(dir); err != nil || len(names) > 0 {
			return err
		}
		if err := s.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// dropUnnamed drops kept files that no entry names: those of undone resources, and those of a capture that a crash cut
// short.
func (s *System) dropUnnamed(l *ledger) error {
	names, err := s.ReadDir(backupPath)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	named := map[string]bool{} // every text in the entries; the name of a kept file needs no escapes in JSON
	for _, e := range l.Entries {
		for text := range bytes.SplitSeq(e.Before, []byte(`"`)) {
			named[string(text)] = true
		}
	}
	for _, name := range names {
		if named[name] {
			continue
		}
		if err := s.Remove(backupPath + "/" + name); err != nil {
			return err
		}
	}
	return nil
}
