//go:build unix

package controller

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// prepareGroup makes the program the leader of a process group of its own, so that what it starts can be ended with it,
// and that an interrupt at the terminal does not reach it before slipway decides.
func prepareGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// waitOrEnd waits for a program, and ends its whole process group when ctx ends first: with SIGTERM, and after the
// grace with SIGKILL.
func waitOrEnd(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error {
	group := -cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// The errors of kill are not looked at: a group that is gone is what is wanted.
	_ = syscall.Kill(group, syscall.SIGTERM)
	over := time.NewTimer(grace)
	defer over.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for waiting := true; waiting; {
		select {
		case <-over.C:
			waiting = false
		case <-poll.C:
			// The program itself may be gone while others of its group are not.
			waiting = syscall.Kill(group, 0) == nil
		}
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-done //nolint:errcheck // it was killed, so its status tells nothing
	return context.Cause(ctx)
}
