package system

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Remove removes a file, a link or an empty directory; nothing there is no error.
func (s *System) Remove(path string) error {
	p, err := s.locate(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	err = unix.Unlinkat(p.dir, p.name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return p.fail("remove", err)
	}
	return p.sync()
}

// RemoveAll removes a file, a link, or a directory with everything in it; nothing there is no error. It follows no
// link, and stops at another file system.
func (s *System) RemoveAll(path string) error {
	p, err := s.locate(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	var st unix.Stat_t
	if err := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		return p.fail("remove", err)
	}
	if err := p.removeTree(st.Dev); err != nil {
		return err
	}
	return p.sync()
}

func (p place) removeTree(device uint64) error {
	err := unix.Unlinkat(p.dir, p.name, 0)
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR):
		return p.fail("remove", err)
	}
	fd, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return p.fail("remove", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return p.fail("remove", err)
	}
	if st.Dev != device {
		return p.fail("remove", errors.New("is a mount point; unmount it first"))
	}
	names, err := place{dir: fd, name: ".", path: p.path}.readDir()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := (place{dir: fd, name: name, path: p.path + "/" + name}).removeTree(device); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return p.fail("remove", err)
	}
	return nil
}

// unlink removes a file that is no directory; nothing there is no error.
func (p place) unlink() error {
	if err := unix.Unlinkat(p.dir, p.name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return p.fail("remove", err)
	}
	return nil
}

// sync makes the names in the directory of p last.
func (p place) sync() error {
	fd, err := unix.Openat(p.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) {
		return nil // a directory that the session may change but not list; root is never here
	}
	if err != nil {
		return p.fail("fsync", err)
	}
	defer unix.Close(fd)
	if err := unix.Fsync(fd); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: the file system has no such thing
		return p.fail("fsync", err)
	}
	return nil
}
