//go:build !linux

package system

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// errNotLinux says why a machine that only drives others cannot be a node itself.
var errNotLinux = fmt.Errorf("this machine runs %s, and nodes run Linux: give the node an SSH connection instead",
	runtime.GOOS)

// New refuses: only a Linux machine, or a folder on one, can be a local node.
func New(root string) (*System, error) { return nil, errNotLinux }

// Supervise does nothing: commands are run on Linux only.
func Supervise() {}

// What follows is never called, for want of a System.

func trusted(uint32) bool { return false }

func ChmodBits(mode fs.FileMode) uint32 { return uint32(mode & 0o7777) }

func (s *System) Lstat(path string) (Info, error)                              { return Info{}, errNotLinux }
func (s *System) IsMountPoint(path string) (bool, error)                       { return false, errNotLinux }
func (s *System) ReadFile(path string) ([]byte, error)                         { return nil, errNotLinux }
func (s *System) ReadInfo(path string) ([]byte, Info, error)                   { return nil, Info{}, errNotLinux }
func (s *System) Open(path string) (*os.File, Info, error)                     { return nil, Info{}, errNotLinux }
func (s *System) ReadDir(path string) ([]string, error)                        { return nil, errNotLinux }
func (s *System) WriteFile(path string, content []byte, a Attributes) error    { return errNotLinux }
func (s *System) ReplaceFile(path string, content []byte, a Attributes) error  { return errNotLinux }
func (s *System) ReplaceFrom(path string, r io.Reader, a Attributes) error     { return errNotLinux }
func (s *System) ReplaceUnsynced(path string, r io.Reader, a Attributes) error { return errNotLinux }
func (s *System) Sync(dir string) error                                        { return errNotLinux }
func (s *System) SetAttributes(path string, a Attributes) error                { return errNotLinux }
func (s *System) Mkdir(path string, a Attributes) error                        { return errNotLinux }
func (s *System) Symlink(path, target string) error                            { return errNotLinux }
func (s *System) Remove(path string) error                                     { return errNotLinux }
func (s *System) RemoveAll(path string) error                                  { return errNotLinux }
func (s *System) Extended(path string) (Extended, error)                       { return nil, errNotLinux }
func (s *System) CreateLog(path string) (*os.File, error)                      { return nil, errNotLinux }
func (s *System) Execute(context.Context, Command) (Output, error)             { return Output{}, errNotLinux }
func (s *System) ResolveLinks(path string, _ bool) string                      { return path }
func (s *System) RootID() string                                               { return "" }

func (s *System) Lock(ctx context.Context, alone bool, who string) (*Lock, error) {
	return nil, errNotLinux
}

type Lock struct{}

func (l *Lock) Release() {}

type BusyError struct{}

func (BusyError) Error() string { return errNotLinux.Error() }
