// Package system is a node as slipway reads and changes it: files, processes and accounts below a root directory, and
// the lock that keeps two sessions apart. It knows nothing of resources and of the ledger.
package system

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// System is one node: the file system below a root directory, and, when the root is the machine's own, its commands.
// All paths given to its methods are absolute as seen from the node. A link in a path is followed only when no other
// user could have put it there, and never out of the root. A System serves one session at a time.
type System struct {
	Root     string        // absolute
	LockWait time.Duration // of [System.Lock]

	// Commands stands in for the machine's commands where a test says what they do; nil runs them.
	Commands func(context.Context, Command) (Output, error)

	Log        *Tail     // gets what commands print that are not quiet, when they have ended; nil keeps nothing
	Live       io.Writer // gets the same while they run; must not block or fail; nil: nothing does
	Generation int       // counts Forget

	base       *os.File // the root directory, open for as long as the System is
	lock       *Lock    // commands keep it until they have ended; nil where slipway has no directory on the node
	mu         sync.Mutex
	remembered map[string]any
}

// ErrSandbox says why a command is refused below a sandbox root.
var ErrSandbox = errors.New("the node is a sandbox folder and has no machine to run commands on; " +
	"use a node with a machine of its own")

// Machine reports whether the root is a whole machine, so that commands may be run; false for a sandbox folder.
func (s *System) Machine() bool { return s.Root == "/" || s.Commands != nil }

// Close releases the root directory.
func (s *System) Close() error { return s.base.Close() }

// Attributes of a file. A nil pointer leaves what is there, or takes the default for a new file.
type Attributes struct {
	Mode *fs.FileMode // permission bits with setuid, setgid and sticky, as bits of fs.FileMode or as in chmod (0o4755)
	UID  *int
	GID  *int
	// Extended is given to a file that is written or a directory that is made, in place of what is there.
	Extended *Extended
}

// Extended is extended attributes of a file, by name.
type Extended map[string][]byte

// Capability is the extended attribute with the capabilities of a program. They belong to its content.
const Capability = "security.capability"

// Info is what Lstat returns of a file.
type Info struct {
	Mode   fs.FileMode // type and permission bits
	UID    int
	GID    int
	Size   int64
	Target string // of a link
	Inode  string // identifies a file that has several names (hard links); empty for any other
}

// IsDir and IsLink say the type of the file; IsRegular is a file with content.
func (i Info) IsDir() bool     { return i.Mode.IsDir() }
func (i Info) IsLink() bool    { return i.Mode&fs.ModeSymlink != 0 }
func (i Info) IsRegular() bool { return i.Mode.IsRegular() }

// Forget drops everything that was remembered of the node: after a command that may have changed it.
func (s *System) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remembered = nil
	s.Generation++
}

// Command is a program to run on the machine. It is run without a shell, with a plain environment (PATH, LANG=C, HOME,
// plus Env). After Timeout it is ended with everything that it started, also in sessions of their own (package
// supervisor). What a command that ends by itself leaves running lives on.
type Command struct {
	Argv    []string
	Env     []string
	Dir     string
	Stdin   []byte        // for secrets: argument lists can be read by every user of a machine
	User    string        // run as this user; empty is the session's
	Timeout time.Duration // 0 is 5 minutes, less than 0 none
	// EndsWithSession ends it in the same way when ctx ends or this process dies: it is a command of the user. Without, it
	// is a tool that must not be cut, such as a package manager: it finishes, and the next session waits for it, because
	// the node stays locked until then.
	EndsWithSession bool
	FileLimit       int64 // bytes that a file which it writes may have; 0 is no limit. Beyond, it ends by SIGXFSZ
	Quiet           bool  // it only asks: what it prints is its answer, and not part of the result of the item at work
}

// OutputLimit bounds what is kept of the output of a command, and of all commands of an item, in bytes.
const OutputLimit = 4096

// Output is what a command printed and how it ended.
type Output struct {
	Status   int    // exit status; 128 + n for a signal n
	Stdout   []byte // the first MiB of standard output; with standard error, unless the command is quiet
	Combined string // standard output and error as they came, the last OutputLimit bytes
}

// Run runs a command to its end. A status other than 0 is not an error; a command that cannot be started, was ended by
// ctx or ran into its timeout is. In a sandbox it always is. What it printed is added to the result of the item at
// work, unless it is quiet.
func (s *System) Run(ctx context.Context, c Command) (Output, error) {
	if !s.Machine() {
		return Output{}, ErrSandbox
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return Output{}, errors.New("no command was given")
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	run := s.Execute
	if s.Commands != nil {
		run = s.Commands
	}
	out, err := run(ctx, c)
	if s.Log != nil && !c.Quiet {
		s.Log.WriteString(out.Combined)
	}
	return out, err
}

// Overwritten makes lines of what a command wrote over its own lines.
var Overwritten = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// defaultLockWait is how long a session waits for another one that works on the node, so that the rest of a session
// that lost its controller can end.
const defaultLockWait = 5 * time.Second

// defaultTimeout bounds a command that names no bound of its own (Puppet's default for exec).
const defaultTimeout = 5 * time.Minute

// Tail keeps the last bytes that were written to it.
type Tail struct {
	Limit int
	mu    sync.Mutex
	kept  []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - t.Limit; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

func (t *Tail) WriteString(text string) { _, _ = t.Write([]byte(text)) } // Write cannot fail

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Overwritten.Replace(string(t.kept))
}

// Remember returns the value that find gave for key since the last Forget, calling find when there is none. An error is
// not remembered.
func Remember[T any](s *System, key string, find func() (T, error)) (T, error) {
	s.mu.Lock()
	value, ok := s.remembered[key].(T)
	generation := s.Generation
	s.mu.Unlock()
	if ok {
		return value, nil
	}
	// find runs without the lock, because it may remember other things itself.
	value, err := find()
	if err != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation == s.Generation {
		if s.remembered == nil {
			s.remembered = map[string]any{}
		}
		s.remembered[key] = value
	}
	return value, nil
}

// BootID returns what distinguishes this boot of the machine from others. A sandbox has none.
func (s *System) BootID() (string, error) {
	if !s.Machine() {
		return "", ErrSandbox
	}
	id, err := s.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	if text := strings.TrimSpace(string(id)); text != "" {
		return text, nil
	}
	return "", errors.New("the machine's boot id is empty")
}

// Or completes a with others.
func (a Attributes) Or(others Attributes) Attributes {
	if a.Mode == nil {
		a.Mode = others.Mode
	}
	if a.UID == nil {
		a.UID = others.UID
	}
	if a.GID == nil {
		a.GID = others.GID
	}
	return a
}
