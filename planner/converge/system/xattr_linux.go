package system

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// keptAttribute reports whether an extended attribute is one of a file or directory, whatever makes it anew: access
// lists, the label of SELinux, what users attached, and capabilities. Signatures are for those who sign.
func keptAttribute(name string) bool {
	return strings.HasPrefix(name, "system.posix_acl_") || strings.HasPrefix(name, "user.") ||
		name == "security.selinux" || name == Capability
}

// Extended reads the access lists, the label, the capabilities and what users attached of the file or directory at a
// path.
func (s *System) Extended(path string) (Extended, error) {
	p, err := s.locate(path, false)
	if err != nil {
		return nil, err
	}
	defer p.close()
	info, err := p.lstat()
	if err != nil {
		return nil, err
	}
	return p.extendedOf(info.UID)
}

// extendedOf reads those of the file or directory at p, if it belongs to owner: a new file in its place will, and
// another user's access list must not open it.
func (p place) extendedOf(owner int) (Extended, error) {
	fd, err := unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) {
		return nil, nil // a session that is not root; it cannot read the content either
	}
	if err != nil {
		return nil, p.fail("open", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, p.fail("stat", err)
	}
	if int(st.Uid) != owner {
		return nil, nil
	}
	names := make([]byte, 64<<10) // the kernel's own limit, as below
	n, err := unix.Flistxattr(fd, names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, p.fail("listxattr", err)
	}
	var out Extended
	for name := range bytes.SplitSeq(names[:n], []byte{0}) {
		if !keptAttribute(string(name)) {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Fgetxattr(fd, string(name), value)
		if err != nil {
			return nil, p.fail("getxattr", err)
		}
		if out == nil {
			out = Extended{}
		}
		out[string(name)] = value[:n]
	}
	return out, nil
}

// set gives them to an open file.
func (x Extended) set(p place, fd int) error {
	for name, value := range x {
		if err := unix.Fsetxattr(fd, name, value, 0); err != nil {
			return p.fail("setxattr "+name, err)
		}
	}
	return nil
}
