package system

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// keptAttribute reports whether an extended attribute goes from a file to the one that replaces it: access lists, the
// label of SELinux, and what users attached. Capabilities belong to the former content, and signatures are of it.
func keptAttribute(name string) bool {
	return name == "system.posix_acl_access" || name == "security.selinux" || strings.HasPrefix(name, "user.")
}

// extendedOf reads them from the regular file at p, if it belongs to owner: the file that replaces it will, and another
// user's access list must not open it.
func (p place) extendedOf(owner int) (Extended, error) {
	return p.extendedIf(owner, keptAttribute)
}

// Extended reads the access lists and the label of the file or directory at a path.
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
	return p.extendedIf(info.UID, func(name string) bool {
		return strings.HasPrefix(name, "system.posix_acl_") || name == "security.selinux"
	})
}

func (p place) extendedIf(owner int, wanted func(name string) bool) (Extended, error) {
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
		if !wanted(string(name)) {
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
