package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// linkLimit bounds the links followed for one path, as the kernel does.
const linkLimit = 40

// New returns the node whose file system is below root: "/" for the machine itself, or a folder that is there, as a
// sandbox.
func New(root string) (*System, error) {
	if !path.IsAbs(root) {
		return nil, fmt.Errorf("root %q is not an absolute path", root)
	}
	root = path.Clean(root)
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w; name a directory that is there", root, err)
	}
	return &System{Root: root, base: os.NewFile(uintptr(fd), root), LockWait: defaultLockWait}, nil
}

// place is the directory that holds a file, open, and the file's name in it. The name of the root itself is ".".
type place struct {
	dir  int
	name string
	path string // as the caller gave it, for errors
}

func (p place) close() { _ = unix.Close(p.dir) } // it was opened for lookup only: nothing can be lost

// fail returns err as an error about the path.
func (p place) fail(op string, err error) error { return pathError(op, p.path, err) }

func pathError(op, name string, err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		err = errUntrustedLink
	case errors.Is(err, unix.EPERM) && os.Geteuid() != 0:
		err = fmt.Errorf("%w; this needs root, and the session is user %d", err, os.Geteuid())
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

var errUntrustedLink = errors.New("is a link that another user could have put there; it is not followed")

// locate opens the directory that holds name. It walks component by component, never follows a link that another user
// could have put there, and takes the targets of links, and `..`, as seen from the root. With follow, a link at the end
// is followed too.
func (s *System) locate(name string, follow bool) (place, error) {
	if !path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return place{}, &fs.PathError{Op: "open", Path: name, Err: errors.New("is not an absolute path")}
	}
	w := walk{asked: name, rest: components(name)}
	defer w.close()
	top, err := unix.FcntlInt(s.base.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return place{}, &fs.PathError{Op: "open", Path: s.Root, Err: err}
	}
	w.dirs = []int{top}
	for len(w.rest) > 0 {
		part := w.rest[0]
		w.rest = w.rest[1:]
		if part == ".." {
			if len(w.dirs) > 1 {
				_ = unix.Close(w.dirs[len(w.dirs)-1])
				w.dirs = w.dirs[:len(w.dirs)-1]
			}
			continue
		}
		if len(w.rest) == 0 {
			if !follow {
				return w.end(part), nil
			}
			isLink, err := w.expand(part)
			if err != nil {
				return place{}, err
			}
			if !isLink {
				return w.end(part), nil
			}
			continue
		}
		fd, err := unix.Openat(w.dir(), part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			w.dirs = append(w.dirs, fd)
		case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
			isLink, err := w.expand(part)
			if err != nil {
				return place{}, err
			}
			if !isLink {
				return place{}, pathError("open", name, unix.ENOTDIR)
			}
		default:
			return place{}, pathError("open", name, err)
		}
	}
	return w.end("."), nil
}

// ResolveLinks returns a path with the links in its directory followed, as seen from the root, and with follow a link
// at its end; it is returned as it is where its directory is not there.
func (s *System) ResolveLinks(name string, follow bool) string {
	p, err := s.locate(name, follow)
	if err != nil {
		return name
	}
	defer p.close()
	dir, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(p.dir))
	root, rootErr := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(s.base.Fd())))
	below, inside := strings.CutPrefix(dir, strings.TrimSuffix(root, "/"))
	if err != nil || rootErr != nil || !inside {
		return name
	}
	return path.Join("/", below, p.name)
}

// walk is a path half way.
type walk struct {
	asked string
	rest  []string // components still to go
	dirs  []int    // the directories from the root to here
	links int
}

func (w *walk) dir() int { return w.dirs[len(w.dirs)-1] }

// end keeps the directory reached, for the caller to close.
func (w *walk) end(name string) place {
	p := place{dir: w.dir(), name: name, path: w.asked}
	w.dirs = w.dirs[:len(w.dirs)-1]
	return p
}

func (w *walk) close() {
	for _, fd := range w.dirs {
		_ = unix.Close(fd)
	}
}

// expand puts the target of a link in place of its name; isLink is false for anything else, and for nothing there.
func (w *walk) expand(name string) (isLink bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(w.dir(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return false, nil
		}
		return false, pathError("open", w.asked, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return false, nil
	}
	if w.links++; w.links > linkLimit {
		return false, &fs.PathError{Op: "open", Path: w.asked, Err: errors.New("too many links, or links in a circle")}
	}
	if !trusted(st.Uid) || !dirTrusted(w.dir()) {
		return false, pathError("open", w.asked, fmt.Errorf("%q %w", name, errUntrustedLink))
	}
	target, err := readlink(w.dir(), name)
	if err != nil {
		return false, pathError("open", w.asked, err)
	}
	if path.IsAbs(target) {
		for _, fd := range w.dirs[1:] {
			_ = unix.Close(fd)
		}
		w.dirs = w.dirs[:1]
	}
	w.rest = append(components(target), w.rest...)
	return true, nil
}

// trusted reports whether a file of this owner can only have been made by root or by the session itself.
func trusted(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// dirTrusted reports whether no other user can put files of root into a directory: nobody else may write to it, or it
// is sticky, which keeps what root put there, and the kernel refuses second names for files of others.
func dirTrusted(dir int) bool {
	var st unix.Stat_t
	if unix.Fstatat(dir, "", &st, unix.AT_EMPTY_PATH) != nil || !trusted(st.Uid) {
		return false
	}
	if st.Mode&unix.S_ISVTX != 0 && hardlinksProtected() {
		return true
	}
	byGroup := st.Mode&unix.S_IWGRP != 0 && (st.Gid != 0 && int(st.Gid) != os.Getegid() || hasAccessList(dir))
	return !byGroup && st.Mode&unix.S_IWOTH == 0
}

// hasAccessList reports whether an open directory has, or may have, an access list. The bits of its group are then the
// mask of all whom the list names.
func hasAccessList(dir int) bool {
	_, err := unix.Getxattr("/proc/self/fd/"+strconv.Itoa(dir), "system.posix_acl_access", nil)
	return !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP)
}

// hardlinksProtected reports whether users can give a second name only to files that they may read and write. It is
// false where the kernel does not say.
func hardlinksProtected() bool {
	value, err := os.ReadFile("/proc/sys/fs/protected_hardlinks")
	return err == nil && strings.TrimSpace(string(value)) == "1"
}

// components splits a path; empty names and "." mean nothing.
func components(name string) []string {
	var out []string
	for part := range strings.SplitSeq(name, "/") {
		if part != "" && part != "." {
			out = append(out, part)
		}
	}
	return out
}

func readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// RootID returns device and inode of the root directory: links lead to the same one. It is empty when they cannot be
// found out.
func (s *System) RootID() string {
	var st unix.Stat_t
	if err := unix.Fstat(int(s.base.Fd()), &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
