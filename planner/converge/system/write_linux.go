package system

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// WriteFile replaces or creates a regular file atomically: temporary file beside it, attributes, content, fsync,
// rename, fsync of the directory. It keeps the attributes of a file that is there, extended ones too, where a is silent
// (new file: 0644, owned by the session's user). At a link, it writes the file that the link leads to.
func (s *System) WriteFile(path string, content []byte, a Attributes) error {
	return s.write(path, bytes.NewReader(content), a, true, true)
}

// ReplaceFile is WriteFile, except that a link at path gives way to the file.
func (s *System) ReplaceFile(path string, content []byte, a Attributes) error {
	return s.write(path, bytes.NewReader(content), a, false, true)
}

// ReplaceFrom is ReplaceFile with a content that is read while it is written. When reading fails, nothing is replaced.
func (s *System) ReplaceFrom(path string, content io.Reader, a Attributes) error {
	return s.write(path, content, a, false, true)
}

// ReplaceUnsynced is ReplaceFrom, except that it does not wait for the disk: [System.Sync] does, for many files at
// once.
func (s *System) ReplaceUnsynced(path string, content io.Reader, a Attributes) error {
	return s.write(path, content, a, false, false)
}

// Sync waits until all that was written to the file system with a directory is on the disk.
func (s *System) Sync(dir string) error {
	p, err := s.locate(dir+"/.", true)
	if err != nil {
		return err
	}
	defer p.close()
	fd, err := unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return p.fail("open", err)
	}
	defer unix.Close(fd)
	if err := unix.Syncfs(fd); err != nil {
		return p.fail("sync", err)
	}
	return nil
}

// write writes a file. Where it lasts, it is on the disk afterwards.
func (s *System) write(path string, content io.Reader, a Attributes, follow, lasts bool) error {
	p, err := s.locate(path, follow)
	if err != nil {
		return err
	}
	defer p.close()
	mode, uid, gid := fs.FileMode(0o644), -1, -1
	var more Extended
	switch info, err := p.lstat(); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsRegular():
		mode, uid, gid = info.Mode, info.UID, info.GID
		owner := uid
		if a.UID != nil {
			owner = *a.UID
		}
		if more, err = p.extendedOf(owner); err != nil {
			return err
		}
	case !info.IsLink() || follow:
		return p.fail("write", errors.New("is there and not a regular file"))
	}
	a = a.Or(Attributes{Mode: &mode, UID: &uid, GID: &gid})
	temp, err := p.temporary()
	if err != nil {
		return err
	}
	const fresh = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(temp.dir, temp.name, fresh, 0o600)
	if err != nil {
		return p.fail("write", err)
	}
	f := os.NewFile(uintptr(fd), p.path)
	err = p.fill(f, content, a, more, lasts)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = temp.renameTo(p)
	}
	if err != nil {
		return errors.Join(err, temp.unlink())
	}
	if !lasts {
		return nil
	}
	return p.sync()
}

// fill writes content and attributes, of which all but the extended ones are given, into a new file that is to take the
// name of p. Where no extended ones are given, it gets those of the regular file at p, capabilities with the same
// content only. Where it lasts, the file is on the disk afterwards.
func (p place) fill(f *os.File, content io.Reader, a Attributes, more Extended, lasts bool) error {
	fd := int(f.Fd())
	if err := p.own(fd, *a.UID, *a.GID); err != nil {
		return err
	}
	var to io.Writer = f
	sum := sha256.New()
	capable := a.Extended == nil && more[Capability] != nil
	if capable {
		to = io.MultiWriter(f, sum)
	}
	if _, err := io.Copy(to, content); err != nil {
		return err
	}
	if capable {
		is, err := p.sum()
		if err != nil {
			return err
		}
		if !bytes.Equal(is, sum.Sum(nil)) {
			delete(more, Capability)
		}
	}
	if a.Extended == nil {
		a.Extended = &more
	}
	if err := a.Extended.set(p, fd); err != nil {
		return err
	}
	// The mode comes last: giving a file away takes its setuid bit.
	if err := unix.Fchmod(fd, ChmodBits(*a.Mode)); err != nil {
		return p.fail("chmod", err)
	}
	if !lasts {
		return nil
	}
	return f.Sync()
}

// sum returns the SHA-256 of the file at p.
func (p place) sum() ([]byte, error) {
	f, _, err := p.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, p.fail("read", err)
	}
	return sum.Sum(nil), nil
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

// beside is the place of the temporary file for p. Its name is always the same for one p, so that one left by a crash
// is found and dropped by the next write.
func (p place) beside() place {
	sum := sha256.Sum256([]byte(p.name))
	return place{dir: p.dir, name: ".slipway-" + hex.EncodeToString(sum[:8]), path: p.path}
}

// temporary returns the place of the temporary file for p, with nothing there.
func (p place) temporary() (place, error) {
	temp := p.beside()
	err := unix.Unlinkat(temp.dir, temp.name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = fmt.Errorf("%q in the same directory, the name of slipway's temporary file, is a directory; remove it",
			temp.name)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return temp, p.fail("write", err)
	}
	return temp, nil
}

func (p place) renameTo(to place) error {
	if err := unix.Renameat(p.dir, p.name, to.dir, to.name); err != nil {
		return to.fail("rename", err)
	}
	return nil
}

// CreateLog makes a file of slipway's own, in the place of one that is there, to append to: mode 0600. Its name lasts;
// what is written does when the caller has synced it.
func (s *System) CreateLog(path string) (*os.File, error) {
	p, err := s.locate(path, false)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.unlink(); err != nil {
		return nil, err
	}
	const fresh = unix.O_WRONLY | unix.O_APPEND | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(p.dir, p.name, fresh, 0o600)
	if err != nil {
		return nil, p.fail("write", err)
	}
	f := os.NewFile(uintptr(fd), path)
	if err := p.sync(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
	if a.Extended != nil {
		for name, value := range *a.Extended { // a descriptor for lookup only takes none
			if err := unix.Setxattr("/proc/self/fd/"+strconv.Itoa(fd), name, value, 0); err != nil {
				return p.fail("setxattr "+name, err)
			}
		}
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
	temp, err := p.temporary()
	if err != nil {
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
