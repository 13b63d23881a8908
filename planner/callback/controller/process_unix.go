//go:build unix

package controller

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// prepareGroup gives the program a process group of its own. The program and its children can then be ended together,
// and an interrupt at the terminal does not reach them directly.
func prepareGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// waitOrEnd waits for a program. When ctx ends first, it ends the process group with SIGTERM, and with SIGKILL after
// the grace period.
func waitOrEnd(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error {
	group := -cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// Errors of kill are ignored: the group may have ended already.
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
			// The program may have ended while others of its group have not.
			waiting = syscall.Kill(group, 0) == nil
		}
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-done //nolint:errcheck // it was killed, so its status means nothing
	return context.Cause(ctx)
}
