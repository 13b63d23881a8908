package system

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// SetAttributes changes the attributes of what is at a path. A link is not followed: it can be given away, and has no
// mode.
func (s *System) SetAttributes(path string, a Attributes) error {
	p, err := s.locate(path, false)
	if err != nil {
		return err
	}
	defer p.close()
	fd, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return p.fail("open", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return p.fail("stat", err)
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR:
	case kind == unix.S_IFLNK && a.Mode != nil:
		return p.fail("chmod", errors.New("is a link, which has no mode"))
	case st.Nlink > 1 && !dirTrusted(p.dir):
		// A second name in a directory of another user may be a second name of a file that is none of that user's.
		return p.fail("chmod", errors.New("has several names, and its directory belongs to another user; "+
			"copy it to make it a file of its own"))
	}
	return p.setAttributes(fd, &st, a)
}

func (p place) setAttributes(fd int, st *unix.Stat_t, a Attributes) error {
	uid, gid := -1, -1
	if a.UID != nil && *a.UID != int(st.Uid) {
		uid = *a.UID
	}
	if a.GID != nil && *a.GID != int(st.Gid) {
		gid = *a.GID
	}
	mode := st.Mode & 0o7777
	if a.Mode != nil {
		mode = ChmodBits(*a.Mode)
	}
	given := uid != -1 || gid != -1
	if given {
		// It takes the capabilities of a file, and its setuid bit.
		file := "/proc/self/fd/" + strconv.Itoa(fd)
		capability := make([]byte, 64)
		n := 0
		if st.Mode&unix.S_IFMT == unix.S_IFREG {
			n, _ = unix.Getxattr(file, Capability, capability) // an error: it has none
		}
		if err := unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH); err != nil {
			return p.fail("chown", err)
		}
		if n > 0 {
			if err := unix.Setxattr(file, Capability, capability[:n], 0); err != nil {
				return p.fail("setxattr "+Capability, err)
			}
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK && (mode != st.Mode&0o7777 || given) {
		err := unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH)
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) { // Linux before 6.6
			err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
		}
		if err != nil {
			return p.fail("chmod", err)
		}
	}
	return nil
}
