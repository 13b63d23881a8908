package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Run runs a command and returns when it has ended, with all that it started when it did not end by itself. The program
// that calls it must call [Main] first of all.
//
// What the command prints goes to stdout and stderr, which must be safe for use by several goroutines. lock is kept
// open until the command has ended; nil is no lock.
//
// When ctx ends, the command is asked to end, and killed after two seconds; then Ended holds its status and the error
// is nil. One with Finish has as long to finish: after that the error is [ErrLeft], and its output still goes to stdout
// and stderr.
func Run(ctx context.Context, c Command, stdout, stderr io.Writer, lock *os.File) (Ended, error) {
	process, ours, err := startSupervisor(lock)
	if err != nil {
		return Ended{}, err
	}
	type outcome struct {
		ended Ended
		err   error
	}
	over := make(chan outcome, 1)
	go func() {
		defer closeAll(ours)
		var copied sync.WaitGroup
		copied.Go(func() { _, _ = io.Copy(stdout, ours[1]) })
		copied.Go(func() { _, _ = io.Copy(stderr, ours[2]) })
		_ = json.NewEncoder(ours[0]).Encode(c.request()) // when the supervisor cannot read it, there is no report
		var o outcome
		killed := json.NewDecoder(ours[reportFile]).Decode(&o.ended) != nil
		copied.Wait()
		_, _ = process.Wait() // the report says more than the status
		switch {
		case killed && c.Cgroup == "":
			o.err = errLoose
		case killed:
			o.err = errors.Join(errKilled, EndCgroup(c.Cgroup))
		}
		over <- o
	}()
	select {
	case o := <-over:
		return o.ended, o.err
	case <-ctx.Done():
	}
	_ = ours[0].Close() // this is how the supervisor learns of it
	if !c.Finish {
		o := <-over
		return o.ended, o.err
	}
	grace := time.NewTimer(termGrace)
	defer grace.Stop()
	select {
	case o := <-over:
		return o.ended, o.err
	case <-grace.C:
		return Ended{}, ErrLeft
	}
}

// startSupervisor starts a supervisor. ours are this side's ends of its standard input, output and error, and of the
// report.
func startSupervisor(lock *os.File) (process *os.Process, ours []*os.File, err error) {
	var theirs []*os.File
	for len(ours) <= reportFile {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...))
			return nil, nil, err
		}
		if len(ours) == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	files := theirs
	if lock != nil {
		files = append(slices.Clip(theirs), lock)
	}
	process, err = os.StartProcess("/proc/self/exe", []string{Name}, &os.ProcAttr{
		// What is meant for the caller's group or terminal does not concern it.
		Dir: "/", Env: []string{}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	closeAll(theirs) // the supervisor has its own
	if err != nil {
		closeAll(ours)
		return nil, nil, err
	}
	return process, ours, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing is lost with an end of a pipe
	}
}

// request is a command on its way to the supervisor. Not all of its texts need be UTF-8, so they are bytes.
type request struct {
	Path, Dir []byte
	Argv, Env [][]byte
	Stdin     []byte
	User      *User
	Timeout   time.Duration
	Merge     bool
	Finish    bool
	Cgroup    []byte
}

func (c Command) request() request {
	return request{[]byte(c.Path), []byte(c.Dir), convert[[]byte](c.Argv), convert[[]byte](c.Env), c.Stdin, c.User,
		c.Timeout, c.Merge, c.Finish, []byte(c.Cgroup)}
}

func (r request) command() Command {
	return Command{string(r.Path), convert[string](r.Argv), convert[string](r.Env), string(r.Dir), r.Stdin, r.User,
		r.Timeout, r.Merge, r.Finish, string(r.Cgroup)}
}

func convert[To, From string | []byte](list []From) []To {
	out := make([]To, len(list))
	for i, text := range list {
		out[i] = To(text)
	}
	return out
}
