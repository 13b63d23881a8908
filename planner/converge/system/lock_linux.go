package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is the time between two tries to get the lock.
const lockPoll = 20 * time.Millisecond

// Lock keeps two sessions apart that would change a node. It is a flock, so it ends with its holder, however that
// ends. A command that is at work has it too.
type Lock struct {
	of   *System
	f    *os.File
	text string // who holds it, as the first line of the file says; empty when that may be shared
	left bool   // a command has it for longer than the session
}

func (l *Lock) Release() {
	if l == nil {
		return
	}
	if !l.left {
		_ = l.f.Truncate(0) // who holds it is only shown to those who wait
	}
	if l.of.lock == l {
		l.of.lock = nil
	}
	_ = l.f.Close() // the lock goes with the file
}

// file returns what a command must keep open.
func (l *Lock) file() *os.File {
	if l == nil {
		return nil
	}
	return l.f
}

// leave says in the lock that a program has it for longer than the session.
func (l *Lock) leave(program string) {
	if l == nil || l.text == "" {
		return
	}
	l.left = true
	_ = l.write(l.text+", which has ended while "+program+" was at work", "") // only shown to those who wait
}

// cgroup makes a cgroup for a command, named in the lock, so that the next session ends what is left of the command
// should all that knows of it be killed. It is empty where there can be none, and where the lock may be shared.
func (l *Lock) cgroup() string {
	if l == nil || l.text == "" {
		return ""
	}
	dir := NewCgroup()
	if dir != "" && l.write(l.text, dir) != nil {
		l.drop(dir)
		return "" // the command may be the one that clears the full disk
	}
	return dir
}

// drop removes the cgroup of a command that has ended.
func (l *Lock) drop(cgroup string) {
	if cgroup != "" {
		_ = os.Remove(cgroup)   // what the command left in cgroups of its own below this one lives on
		_ = l.write(l.text, "") // the name is gone in any case, and who holds the lock is only shown to those who wait
	}
}

// write empties the lock, then says in it who holds it and, in a second line, the cgroup of the command at work.
func (l *Lock) write(who, cgroup string) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(who+"\n"+cgroup), 0)
	return err
}

// read returns what write wrote.
func (l *Lock) read() (who, cgroup string, err error) {
	text, err := io.ReadAll(io.NewSectionReader(l.f, 0, 1<<16))
	who, cgroup, _ = strings.Cut(string(text), "\n")
	return who, cgroup, err
}

// BusyError says that another session holds the lock.
type BusyError struct{ Holder string }

func (e BusyError) Error() string {
	by := "another session"
	if e.Holder != "" {
		by += " (" + e.Holder + ")"
	}
	return by + " works on this node; wait until it has ended, then try again"
}

// Lock takes the node's lock. A session that changes the node holds it alone and says in it who it is; others share it,
// and go without when slipway has no directory on the node yet, because they must not make one: lock then returns nil.
func (s *System) Lock(ctx context.Context, alone bool, who string) (*Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, s.LockWait)
	defer cancel()
	for {
		l, err := s.tryLock(alone, who)
		if !errors.As(err, new(BusyError)) {
			s.lock = l
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockPoll):
		}
	}
}

func (s *System) tryLock(alone bool, who string) (*Lock, error) {
	p, err := s.locate(LockPath, false)
	if !alone && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer p.close()
	flags, how := unix.O_RDONLY, unix.LOCK_SH
	if alone {
		flags, how = unix.O_RDWR|unix.O_CREAT, unix.LOCK_EX
	}
	fd, err := unix.Openat(p.dir, p.name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if !alone && errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, p.fail("lock", err)
	}
	f := os.NewFile(uintptr(fd), LockPath)
	if err := unix.Flock(fd, how|unix.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			holder, _, _ := (&Lock{f: f}).read() // only to say more in the error
			return nil, BusyError{holder}
		}
		return nil, p.fail("lock", err)
	}
	// The holder before may have torn the node down, and removed the very file that was waited for.
	var held, there unix.Stat_t
	if err := unix.Fstat(fd, &held); err != nil {
		return nil, errors.Join(p.fail("lock", err), f.Close())
	}
	if err := unix.Fstatat(p.dir, p.name, &there, unix.AT_SYMLINK_NOFOLLOW); err != nil || there.Ino != held.Ino {
		return nil, errors.Join(BusyError{}, f.Close())
	}
	l := &Lock{of: s, f: f}
	if alone {
		l.text = fmt.Sprintf("%s, process %d", who, os.Getpid())
		_, cgroup, err := l.read()
		if err == nil && cgroup != "" {
			err = EndCgroup(cgroup)
		}
		if err == nil {
			err = l.write(l.text, "")
		}
		if err != nil {
			return nil, errors.Join(p.fail("lock", err), f.Close())
		}
	}
	return l, nil
}
