// Package supervisor runs a command below a process of its own that outlives the caller for as long as the command
// needs it.
//
// The supervisor is the caller's own program once more, under the name [Name]. It is the reaper of all that the command
// starts (PR_SET_CHILD_SUBREAPER), also in sessions of their own, so nothing can leave its sight. When the command must
// end, at its timeout, with its caller's context or because the caller was killed, the supervisor ends all of it and
// only then itself. What a command that ended by itself has left running lives on, and so do services. Where the
// supervisor is killed too, [EndCgroup] ends what is left.
//
// The supervisor holds the node's lock for as long as it lives, and the command does not, so that no daemon keeps the
// lock: whoever gets it next knows that nothing of the command is at work any more.
package supervisor

import (
	"errors"
	"fmt"
	"time"
)

// Name is the name under which a program is started as a supervisor. It is not that of the helper, so that whoever
// kills helpers by their name does not kill what cleans up after them.
const Name = "slipway-command"

// Command is a program to run.
type Command struct {
	Path    string // of the program, absolute
	Argv    []string
	Env     []string
	Dir     string
	Stdin   []byte        // nil is /dev/null
	User    *User         // nil: that of the caller
	Timeout time.Duration // from the start to SIGTERM; 0 or less is none
	Merge   bool          // standard error goes where standard output goes, in the order in which the command writes
	// Finish lets the command run to its end, or to its timeout, when the caller is gone or does not want to wait: cutting
	// it would do more harm.
	Finish bool
	// Cgroup is one that [NewCgroup] made for the command; empty is none. What lives on after the command is moved out of
	// it.
	Cgroup string
}

// User is the one as whom a command runs.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// Ended is how a command ended.
type Ended struct {
	Status   int    // exit status; 128 + n for a signal n
	TimedOut bool   // it was ended because its time was over
	Refused  string // why it could not be started; empty when it could
}

// The times that an end takes.
const (
	// termGrace is the time between SIGTERM and SIGKILL for a command that must end, and for how long a caller waits for
	// one that may finish.
	termGrace = 2 * time.Second
	// pipeGrace is how long a command's output is awaited after its end, when a daemon that it started holds the pipe.
	pipeGrace = time.Second
)

// ErrLeft says that a command with Finish was still running when the caller had to go. It runs on, and the supervisor
// with it.
var ErrLeft = errors.New("it runs on to its end, and the node stays locked until then")

// These say that a supervisor ended without a report.
var (
	errKilled = errors.New("the process that supervises the command was killed: what the command has done is unknown")
	errLoose  = fmt.Errorf("%w, and what it started may run on", errKilled) // where it has no cgroup
)
