package converge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxFile bounds what ReadFile takes into memory.
const maxFile = 256 << 20

// Lstat describes a file without following it, as a link, if it is one; an error that is fs.ErrNotExist when there is none.
func (s *System) Lstat(path string) (Info, error) {
	p, err := s.locate(path, false)
	if err != nil {
		return Info{}, err
	}
	defer p.close()
	return p.lstat()
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
	return Info{Mode: modeOf(st.Mode), UID: int(st.Uid), GID: int(st.Gid), Size: st.Size}
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

// chmodBits turns Go's permission bits into those of chmod; bits that are written as in chmod already stay.
func chmodBits(mode fs.FileMode) uint32 {
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
	content, _, err := s.read(path)
	return content, err
}

func (s *System) read(path string) ([]byte, Info, error) {
	p, err := s.locate(path, true)
	if err != nil {
		return nil, Info{}, err
	}
	defer p.close()
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

// WriteFile replaces or creates a regular file atomically: temporary file beside it, attributes, content, fsync, rename, fsync of
// the directory. It keeps the attributes of a file that is there where a is silent (new file: 0644, owned by the session's user).
// At a link, it writes the file that the link leads to.
func (s *System) WriteFile(path string, content []byte, a Attributes) error {
	return s.write(path, content, a, true)
}

// ReplaceFile is WriteFile, except that a link at path gives way to the file.
func (s *System) ReplaceFile(path string, content []byte, a Attributes) error {
	return s.write(path, content, a, false)
}

func (s *System) write(path string, content []byte, a Attributes, follow bool) error {
	p, err := s.locate(path, follow)
	if err != nil {
		return err
	}
	defer p.close()
	mode, uid, gid := fs.FileMode(0o644), -1, -1
	switch info, err := p.lstat(); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsRegular():
		mode, uid, gid = info.Mode, info.UID, info.GID
	case !info.IsLink() || follow:
		return p.fail("write", errors.New("is there and not a regular file"))
	}
	if a.Mode != nil {
		mode = *a.Mode
	}
	if a.UID != nil {
		uid = *a.UID
	}
	if a.GID != nil {
		gid = *a.GID
	}
	temp := p.beside()
	if err := temp.unlink(); err != nil {
		return err
	}
	fd, err := unix.Openat(temp.dir, temp.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return p.fail("write", err)
	}
	f := os.NewFile(uintptr(fd), p.path)
	err = func() error {
		if err := p.own(fd, uid, gid); err != nil {
			return err
		}
		if _, err := io.Copy(f, bytes.NewReader(content)); err != nil {
			return err
		}
		// The mode comes last: giving a file away takes its setuid bit.
		if err := unix.Fchmod(fd, chmodBits(mode)); err != nil {
			return p.fail("chmod", err)
		}
		if err := f.Sync(); err != nil {
			return err
		}
		return nil
	}()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = temp.renameTo(p)
	}
	if err != nil {
		return errors.Join(err, temp.unlink())
	}
	return p.sync()
}

// own gives an open file to a user and group; -1, and what is so already, stays.
func (p place) own(fd, uid, gid int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return p.fail("stat", err)
	}
	if int(st.Uid) == uid {
		uid = -1
	}
	if int(st.Gid) == gid {
		gid = -1
	}
	if uid == -1 && gid == -1 {
		return nil
	}
	if err := unix.Fchown(fd, uid, gid); err != nil {
		return p.fail("chown", err)
	}
	return nil
}

// beside is the place of the temporary file for p. Its name is always the same for one p, so that one left by a crash is
// found and dropped by the next write.
func (p place) beside() place {
	sum := sha256.Sum256([]byte(p.name))
	return place{dir: p.dir, name: ".slipway-" + hex.EncodeToString(sum[:8]), path: p.path}
}

// unlink removes a file that is no directory; nothing there is no error.
func (p place) unlink() error {
	if err := unix.Unlinkat(p.dir, p.name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return p.fail("remove", err)
	}
	return nil
}

func (p place) renameTo(to place) error {
	if err := unix.Renameat(p.dir, p.name, to.dir, to.name); err != nil {
		return to.fail("rename", err)
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

// SetAttributes changes the attributes of a file or directory that is there.
func (s *System) SetAttributes(path string, a Attributes) error {
	p, err := s.locate(path, true)
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
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFREG:
		// A second name in a directory of another user may be a second name of a file that is none of that user's.
		if st.Nlink > 1 && !dirTrusted(p.dir) {
			return p.fail("chmod", errors.New("has several names, and its directory belongs to another user; copy it to make it a file of its own"))
		}
	default:
		return p.fail("chmod", errors.New("is neither a regular file nor a directory"))
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
		mode = chmodBits(*a.Mode)
	}
	given := uid != -1 || gid != -1
	if given {
		if err := unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH); err != nil {
			return p.fail("chown", err)
		}
	}
	if mode != st.Mode&0o7777 || given {
		if err := unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode); err != nil {
			return p.fail("chmod", err)
		}
	}
	return nil
}

// Mkdir makes one directory, 0755 and owned by the session's user where a is silent; its parent must be there.
func (s *System) Mkdir(path string, a Attributes) error {
	p, err := s.locate(path, true)
	if err != nil {
		return err
	}
	defer p.close()
	if err := unix.Mkdirat(p.dir, p.name, 0o700); err != nil {
		return p.fail("mkdir", err)
	}
	if a.Mode == nil {
		mode := fs.FileMode(0o755)
		a.Mode = &mode
	}
	fd, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return p.fail("open", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return p.fail("stat", err)
	}
	if err := p.setAttributes(fd, &st, a); err != nil {
		return err
	}
	return p.sync()
}

// Symlink makes a link, replacing a link or file that is there atomically.
func (s *System) Symlink(path, target string) error {
	p, err := s.locate(path, false)
	if err != nil {
		return err
	}
	defer p.close()
	temp := p.beside()
	if err := temp.unlink(); err != nil {
		return err
	}
	if err := unix.Symlinkat(target, temp.dir, temp.name); err != nil {
		return p.fail("symlink", err)
	}
	if err := temp.renameTo(p); err != nil {
		return errors.Join(err, temp.unlink())
	}
	return p.sync()
}

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

// RemoveAll removes a file, a link, or a directory with everything in it; nothing there is no error. It follows no link, and
// stops at another file system.
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
