package system

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// maxFile bounds what ReadFile takes into memory.
const maxFile = 256 << 20

// Lstat describes a file without following it, as a link, if it is one; an error that is fs.ErrNotExist when there is
// none.
func (s *System) Lstat(path string) (Info, error) {
	p, err := s.locate(path, false)
	if err != nil {
		return Info{}, err
	}
	defer p.close()
	return p.lstat()
}

// IsMountPoint reports whether something is mounted on a path, which is not followed.
func (s *System) IsMountPoint(path string) (bool, error) {
	p, err := s.locate(path, false)
	if err != nil {
		return false, err
	}
	defer p.close()
	var x unix.Statx_t
	err = unix.Statx(p.dir, p.name, unix.AT_SYMLINK_NOFOLLOW, 0, &x)
	if err == nil && x.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return x.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
	}
	// Linux before 5.8, which does not say it of what the same file system has elsewhere.
	var of, in unix.Stat_t
	if err := unix.Fstat(p.dir, &in); err != nil {
		return false, p.fail("stat", err)
	}
	if err := unix.Fstatat(p.dir, p.name, &of, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, p.fail("lstat", err)
	}
	return of.Dev != in.Dev, nil
}

func (p place) lstat() (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, p.fail("lstat", err)
	}
	info := infoOf(&st)
	if info.IsLink() {
		target, err := readlink(p.dir, p.name)
		if err != nil {
			return Info{}, p.fail("readlink", err)
		}
		info.Target = target
	}
	return info, nil
}

func infoOf(st *unix.Stat_t) Info {
	info := Info{Mode: modeOf(st.Mode), UID: int(st.Uid), GID: int(st.Gid), Size: st.Size}
	if info.IsRegular() && st.Nlink > 1 {
		info.Inode = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return info
}

// modeOf turns the kernel's mode into Go's.
func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFREG:
	default:
		mode |= fs.ModeIrregular
	}
	for bit, flag := range specialBits {
		if m&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// ChmodBits turns Go's permission bits into those of chmod; bits that are written as in chmod already stay.
func ChmodBits(mode fs.FileMode) uint32 {
	m := uint32(mode & 0o7777)
	for bit, flag := range specialBits {
		if mode&flag != 0 {
			m |= bit
		}
	}
	return m
}

var specialBits = map[uint32]fs.FileMode{
	unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky,
}

// ReadFile returns the content of a regular file of at most 256 MiB.
func (s *System) ReadFile(path string) ([]byte, error) {
	content, _, err := s.ReadInfo(path)
	return content, err
}

func (s *System) ReadInfo(path string) ([]byte, Info, error) {
	p, err := s.locate(path, true)
	if err != nil {
		return nil, Info{}, err
	}
	defer p.close()
	return p.read()
}

// Open opens a regular file of any size for reading.
func (s *System) Open(path string) (*os.File, Info, error) {
	p, err := s.locate(path, true)
	if err != nil {
		return nil, Info{}, err
	}
	defer p.close()
	f, info, err := p.open()
	if err == nil && !info.IsRegular() {
		_ = f.Close() // nothing was written
		f, err = nil, p.fail("open", errors.New("is not a regular file"))
	}
	return f, info, err
}

func (p place) read() ([]byte, Info, error) {
	f, info, err := p.open()
	if err != nil {
		return nil, Info{}, err
	}
	defer f.Close()
	if !info.IsRegular() {
		return nil, Info{}, p.fail("read", errors.New("is not a regular file"))
	}
	if info.Size > maxFile {
		return nil, Info{}, p.fail("read", fmt.Errorf("has %d bytes, more than the limit of %d", info.Size, maxFile))
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, Info{}, p.fail("read", err)
	}
	if len(content) > maxFile {
		return nil, Info{}, p.fail("read", fmt.Errorf("has more than the limit of %d bytes", maxFile))
	}
	return content, info, nil
}

// open opens a regular file or directory for reading. Nothing else is opened: opening a device or a pipe has effects.
func (p place) open() (*os.File, Info, error) {
	info, err := p.lstat()
	if err != nil {
		return nil, Info{}, err
	}
	if !info.IsRegular() && !info.IsDir() {
		return nil, Info{}, p.fail("open", errors.New("is neither a regular file nor a directory"))
	}
	fd, err := unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, Info{}, p.fail("open", err)
	}
	f := os.NewFile(uintptr(fd), p.path)
	var st unix.Stat_t // again, because it may be another file by now
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, Info{}, p.fail("stat", err)
	}
	return f, infoOf(&st), nil
}

// ReadDir lists the names in a directory, sorted.
func (s *System) ReadDir(path string) ([]string, error) {
	p, err := s.locate(path, true)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.readDir()
}

func (p place) readDir() ([]string, error) {
	f, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !info.IsDir() {
		return nil, p.fail("readdir", unix.ENOTDIR)
	}
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, p.fail("readdir", err)
	}
	slices.Sort(names)
	return names, nil
}
