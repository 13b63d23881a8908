package system

import (
	"errors"
	"fmt"
	"io/fs"
)

// Home is slipway's own directory on a node. Besides the helper and the ledger it has the node's lock, kept copies of
// files, and the folder of an action at work.
const (
	Home       = "/var/lib/slipway"
	LockPath   = Home + "/lock"
	BackupPath = Home + "/backup"
	WorkPath   = Home + "/work"
)

// MakeHome makes slipway's own directory and those above it that are not there, and returns the latter, outermost
// first.
func (s *System) MakeHome() (made []string, err error) {
	for i := 1; i < len(Home); i++ {
		if Home[i] != '/' {
			continue
		}
		dir := Home[:i]
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
	if err := s.MakeOwnDirectory(Home); err != nil && !errors.Is(err, fs.ErrExist) {
		return made, err
	}
	return made, nil
}

// MakeOwnDirectory makes one of slipway's own directories, 0700, when it is not there, and refuses one that another
// user could change.
func (s *System) MakeOwnDirectory(path string) error {
	info, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		private := fs.FileMode(0o700)
		return s.Mkdir(path, Attributes{Mode: &private})
	}
	if err != nil {
		return err
	}
	return s.CheckOwnDirectory(path, info)
}

func (s *System) CheckOwnDirectory(path string, info Info) error {
	if !info.IsDir() || !trusted(uint32(info.UID)) || info.Mode&0o022 != 0 {
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("must be a directory of the session's user that no " +
			"other may write; remove it or fix its owner and mode")}
	}
	return nil
}

// ReadOwnFile reads a file that only slipway can have written.
func (s *System) ReadOwnFile(path string) (content []byte, there bool, err error) {
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
