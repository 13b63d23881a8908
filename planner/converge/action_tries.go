package converge

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The bounds of what a task says of its tries.
const (
	mostSeconds = 366 * 24 * 60 * 60
	mostRetries = 1000
)

// tryParameters are those of an action that runs a command, again when it fails.
func tryParameters(retries int) []resource.Parameter {
	return []resource.Parameter{
		{Name: "cwd", Kind: resource.String, Check: checkReachable, Description: "Directory in which it runs, absolute or in files. Default: the folder with the files."},
		{Name: "files", Kind: resource.StringMap, Check: checkFiles,
			Description: "Files by their relative path, contents in base64, 1 MiB together. They are put into a folder of root's own while it runs, mode 0700."},
		{Name: "interval", Kind: resource.Integer, Check: checkSeconds, Description: "Seconds between two tries, up to a year. Default: 1."},
		{Name: "retries", Kind: resource.Integer, Check: checkRetries, Description: fmt.Sprintf("How often it is tried again after it failed, up to %d. Default: %d.", mostRetries, retries)},
		{Name: "timeout", Kind: resource.Integer, Check: checkSeconds,
			Description: "Seconds after which a try, and all that it started, is ended, up to a year; 0 is no limit. Default: 300."},
	}
}

func checkSeconds(value any) error {
	if n, ok := value.(int64); !ok || n < 0 || n > mostSeconds {
		return fmt.Errorf("%d must be 0 to %d seconds", n, mostSeconds)
	}
	return nil
}

func checkRetries(value any) error {
	if n, ok := value.(int64); !ok || n < 0 || n > mostRetries {
		return fmt.Errorf("%d must be 0 to %d", n, mostRetries)
	}
	return nil
}

// tryCommand is one try.
func tryCommand(r resource.Resource, folder string, argv ...string) Command {
	c := Command{Argv: argv, Dir: folder, Env: []string{"PATH=" + actionPath}, Timeout: -1, EndsWithSession: true}
	if r.Parameters.Has("cwd") {
		c.Dir = reach(r, folder, r.Parameters.String("cwd"))
	}
	if n := r.Parameters.IntOr("timeout", 300); n > 0 {
		c.Timeout = time.Duration(n) * time.Second
	}
	return c
}

// tries calls try until it succeeds, it was tried as often as r says, or ctx ends. The error tells how often it was tried.
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
