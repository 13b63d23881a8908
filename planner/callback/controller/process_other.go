//go:build !unix

package controller

import (
	"context"
	"os/exec"
	"time"
)

// prepareGroup does nothing: this system has no process groups that can be ended.
func prepareGroup(*exec.Cmd) {}

// waitOrEnd waits for a program, and ends it when ctx ends first. Here a program cannot be asked to end, so there is no
// grace.
func waitOrEnd(ctx context.Context, cmd *exec.Cmd, _ time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill() // fails when it is gone already, which is what is wanted
	<-done
	return context.Cause(ctx)
}
