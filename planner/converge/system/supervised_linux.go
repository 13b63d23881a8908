package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// errLeft says that a command with Finish was still running when the session had to go. It runs on, and the supervisor
// with it.
var errLeft = errors.New("it runs on to its end, and the node stays locked until then")

// These say that a supervisor ended without a report.
var (
	errKilled = errors.New("the process that supervises the command was killed: what the command has done is unknown")
	errLoose  = fmt.Errorf("%w, and what it started may run on", errKilled) // where it has no cgroup
)

// runSupervised runs a command and returns when it has ended, with all that it started when it did not end by itself.
//
// What the command prints goes to stdout and stderr, which must be safe for use by several goroutines. lock is kept
// open until the command has ended; nil is no lock.
//
// When ctx ends, the command is asked to end, and killed after two seconds; then the report has its status and the
// error is nil. One with Finish has as long to finish: after that the error is errLeft, and its output still goes to
// stdout and stderr.
func runSupervised(ctx context.Context, c request, stdout, stderr io.Writer, lock *os.File) (report, error) {
	process, ours, err := startSupervisor(lock)
	if err != nil {
		return report{}, err
	}
	type outcome struct {
		ended report
		err   error
	}
	over := make(chan outcome, 1)
	go func() {
		defer closeAll(ours)
		var copied sync.WaitGroup
		copied.Go(func() { _, _ = io.Copy(stdout, ours[1]) })
		copied.Go(func() { _, _ = io.Copy(stderr, ours[2]) })
		_ = json.NewEncoder(ours[0]).Encode(c) // when the supervisor cannot read it, there is no report
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
		return report{}, errLeft
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
	process, err = os.StartProcess("/proc/self/exe", []string{supervisorName}, &os.ProcAttr{
		// What is meant for the caller's group or terminal does not concern it.
		Dir: "/", Env: supervisorEnv, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
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

func convert[To, From string | []byte](list []From) []To {
	out := make([]To, len(list))
	for i, text := range list {
		out[i] = To(text)
	}
	return out
}
