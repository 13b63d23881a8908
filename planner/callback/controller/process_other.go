//go:build !unix

package controller

import (
	"context"
	"os/exec"
	"time"
)

// prepareGroup does nothing: slipway cannot end process groups on this system.
func prepareGroup(*exec.Cmd) {}

// waitOrEnd waits for a program and kills it when ctx ends first. There is no grace period on this system.
func waitOrEnd(ctx context.Context, cmd *exec.Cmd, _ time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill() // fails if the program has ended, which is fine
	<-done
	return context.Cause(ctx)
}
