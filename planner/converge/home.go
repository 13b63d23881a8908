package converge

import (
	"errors"
	"fmt"
	"io/fs"
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

// readOwnFile reads a file that only slipway can have written.
func (s *System) readOwnFile(path string) (content []byte, there bool, err error) {
	info, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if !info.IsRegular() || !trusted(uint32(info.UID)) {
		return nil, true, fmt.Errorf("%s: is not a regular file of the session's user", path)
	}
	content, err = s.ReadFile(path)
	return content, true, err
}
