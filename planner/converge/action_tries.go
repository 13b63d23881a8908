package converge

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// tryCommand is one try.
func tryCommand(r resource.Resource, folder string, argv ...string) system.Command {
	c := system.Command{Argv: argv, Dir: folder, Env: []string{"PATH=" + system.ProgramPath}, Timeout: -1, EndsWithSession: true}
	if r.Parameters.Has("cwd") {
		c.Dir = reach(r, folder, r.Parameters.String("cwd"))
	}
	if n := r.Parameters.IntOr("timeout", 300); n > 0 {
		c.Timeout = time.Duration(n) * time.Second
	}
	return c
}

// tries calls try until it succeeds, it was tried as often as r says, or ctx ends. The error says how often it was
// tried.
func tries(ctx context.Context, r resource.Resource, retries int64, try func() error) error {
	most := 1 + r.Parameters.IntOr("retries", retries)
	interval := time.NewTimer(0)
	defer interval.Stop()
	for n := int64(1); ; n++ {
		select {
		case <-interval.C:
		case <-ctx.Done():
			return fmt.Errorf("given up before try %d of %d: %w", n, most, context.Cause(ctx))
		}
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("given up in try %d of %d: %w", n, most, err)
		case n == most && most == 1:
			return err
		case n == most:
			return fmt.Errorf("failed after %d tries: %w", n, err)
		}
		interval.Reset(time.Duration(r.Parameters.IntOr("interval", 1)) * time.Second)
	}
}
