package system

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A command runs below a process of its own, the supervisor, that outlives the session for as long as the command needs
// it. The supervisor is the session's own program once more, under another name. It is the reaper of all that the
// command starts (PR_SET_CHILD_SUBREAPER), also in sessions of their own, so nothing can leave its sight. When the
// command must end, at its timeout, with its session or because that was killed, the supervisor ends all of it and only
// then itself. What a command that ended by itself has left running lives on, and so do services. Where the supervisor
// is killed too, [EndCgroup] ends what is left.
//
// The supervisor holds the node's lock for as long as it lives, and the command does not, so that no daemon keeps the
// lock: whoever gets it next knows that nothing of the command is at work any more.

// supervisorName is the name under which a program is started as a supervisor. It is not that of the helper, so that
// whoever kills helpers by their name does not kill what cleans up after them.
const supervisorName = "slipway-command"

// request is a command on its way to the supervisor. Not all of its texts need be UTF-8, so they are bytes.
type request struct {
	Path, Dir []byte // absolute
	Argv, Env [][]byte
	Stdin     []byte        // nil is /dev/null
	User      *account      // nil: that of the session
	Timeout   time.Duration // from the start to SIGTERM; 0 or less is none
	Merge     bool          // standard error goes where standard output goes, in the order in which the command writes
	// Finish lets the command run to its end, or to its timeout, when the session is gone or does not want to wait:
	// cutting it would do more harm.
	Finish bool
	// Cgroup is one that [NewCgroup] made for the command; empty is none. What lives on after the command is moved out of
	// it.
	Cgroup    string
	FileLimit int64 // see [Command]
}

// account is the one as whom a command runs.
type account struct {
	UID, GID uint32
	Groups   []uint32
}

// report is how a command ended.
type report struct {
	Status   int    // exit status; 128 + n for a signal n
	TimedOut bool   // it was ended because its time was over
	Refused  string // why it could not be started; empty when it could
}

// The times that an end takes.
const (
	// termGrace is the time between SIGTERM and SIGKILL for a command that must end, and for how long a session waits for
	// one that may finish.
	termGrace = 2 * time.Second
	// pipeGrace is how long a command's output is awaited after its end, when a daemon that it started holds the pipe.
	pipeGrace = time.Second
)

// What a supervisor inherits besides standard input, which carries the request and ends with the caller, and standard
// output and error.
const (
	reportFile = 3
	lockFile   = 4 // may be missing
)

// Supervise is the whole life of a process that was started as a supervisor, and does nothing in any other. A program
// that runs commands calls it before anything else.
func Supervise() {
	if len(os.Args) != 1 || os.Args[0] != supervisorName {
		return
	}
	for _, fd := range []int{reportFile, lockFile} {
		unix.CloseOnExec(fd)
	}
	// The caller's end is learned from standard input alone. The signals are caught rather than ignored, because what is
	// ignored stays so in the command.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGPIPE)
	ended, err := supervise()
	if err != nil {
		ended.Refused = err.Error()
	}
	if json.NewEncoder(os.NewFile(reportFile, "report")).Encode(ended) != nil {
		os.Exit(1) // the caller is gone
	}
	os.Exit(0)
}

// supervise reads a request and runs its command. The error says why the command could not be started.
func supervise() (report, error) {
	var c request
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return report{}, fmt.Errorf("the request: %w", err) // of a caller that was killed, so that nobody reads this
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report{}, fmt.Errorf("become the reaper of what it starts: %w", err)
	}
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // nothing follows the request but the end
		if !c.Finish {
			close(gone)
		}
	}()
	if most := uint64(c.FileLimit); most > 0 { // the supervisor writes to pipes only
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return report{}, fmt.Errorf("limit the size of what it writes: %w", err)
		}
	}
	t, err := start(c)
	if err != nil {
		return report{}, err
	}
	var timeout <-chan time.Time
	if c.Timeout > 0 {
		timeout = time.After(c.Timeout)
	}
	var ended report
	select {
	case <-t.over:
	case <-timeout:
		ended.TimedOut = true
		t.end()
	case <-gone:
		t.end()
	}
	t.finish()
	if c.Cgroup != "" { // all that is left lives on
		free(c.Cgroup, func(int) bool { return true })
	}
	ended.Status = t.status.ExitStatus()
	if t.status.Signaled() {
		ended.Status = 128 + int(t.status.Signal())
	}
	return ended, nil
}

// tree is a command with all that it started.
type tree struct {
	pid    int
	status unix.WaitStatus // of the command, once over is closed
	over   chan struct{}   // closed when the command has ended
	alone  chan struct{}   // closed when nothing is left of the tree
	output []*os.File
	copied sync.WaitGroup
}

// start starts a command.
func start(c request) (*tree, error) {
	t := &tree{over: make(chan struct{}), alone: make(chan struct{})}
	var theirs []*os.File // what the command gets
	defer func() { closeAll(theirs) }()
	stdin, feed, err := input(c.Stdin)
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, stdin)
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		theirs, t.output = append(theirs, w), append(t.output, r)
	}
	files := slices.Clone(theirs)
	if c.Merge {
		files[2] = files[1]
	}
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if u := c.User; u != nil {
		attributes.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	}
	if !c.Finish {
		// Where the supervisor is killed too, at least the command itself ends. The signal comes with the end of this thread.
		runtime.LockOSThread()
		attributes.Pdeathsig = unix.SIGKILL
	}
	begin := func() (*os.Process, error) {
		return os.StartProcess(string(c.Path), convert[string](c.Argv), &os.ProcAttr{
			Dir: string(c.Dir), Env: convert[string](c.Env), Files: files, Sys: attributes,
		})
	}
	var process *os.Process
	if cgroup, cgroupErr := os.Open(c.Cgroup); cgroupErr == nil {
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(cgroup.Fd())
		process, err = begin()
		_ = cgroup.Close() // it was only read
		attributes.UseCgroupFD = false
	}
	if process == nil { // there is no cgroup, or the kernel does not start processes in one
		process, err = begin()
	}
	if err != nil {
		return nil, err
	}
	t.pid = process.Pid
	go t.reap()
	go feed()
	for i, to := range []*os.File{os.Stdout, os.Stderr} {
		t.copied.Go(func() {
			_, _ = io.Copy(to, t.output[i])
			_, _ = io.Copy(io.Discard, t.output[i]) // the caller is gone, and the command must not be stopped by that
		})
	}
	return t, nil
}

// input returns the command's standard input, and what fills it.
func input(content []byte) (stdin *os.File, feed func(), err error) {
	if content == nil {
		stdin, err = os.Open(os.DevNull)
		return stdin, func() {}, err
	}
	r, w, err := os.Pipe()
	return r, func() {
		_, _ = w.Write(content) // the command may end without having read all of it
		_ = w.Close()
	}, err
}

// reap takes note of the end of every process of the tree until none is left.
func (t *tree) reap() {
	defer close(t.alone)
	for {
		var status unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &status, 0, nil); {
		case err == unix.EINTR:
		case err != nil:
			return // ECHILD
		case pid == t.pid:
			t.status = status
			close(t.over)
		}
	}
}

// end ends the tree, and returns when nothing of it is left but services.
func (t *tree) end() {
	t.signal(unix.SIGTERM)
	for wait := termGrace; ; wait = 50 * time.Millisecond {
		select {
		case <-t.alone:
			return
		case <-time.After(wait):
		}
		// What is stopped starts nothing more, so that the second signal finds all.
		for known := -1; ; {
			n := t.signal(unix.SIGSTOP)
			if n == known {
				break
			}
			known = n
		}
		if t.signal(unix.SIGKILL) == 0 {
			<-t.over
			return
		}
	}
}

// finish waits for the output of a command that has ended.
func (t *tree) finish() {
	for _, f := range t.output {
		_ = f.SetReadDeadline(time.Now().Add(pipeGrace)) // a pipe has deadlines
	}
	t.copied.Wait()
}
